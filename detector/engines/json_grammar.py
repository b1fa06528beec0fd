"""Holds generation to a JSON schema, token by token, with llguidance.

Answers have no blanks between their parts, as those that are taught, and no control token stands in them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher
from llguidance.hf import from_tokenizer

from dialint.detector.errors import ConfigError, native_errors
from dialint.detector.judge.engine import VOTE_TEMPERATURE

FREE = '%llguidance {"no_forcing": true}'
"""What the schema leaves no choice about may be cut into any tokens, as by vLLM's grammar: so the same model
writes the same answers in both."""
COMPACT: dict[str, Any] = {"whitespace_flexible": False}
ESCAPES: dict[str, Any] = {"json_allow_general_unicode_escapes": True}
"""Any character may be escaped, as `JsonEscaper` does; llguidance before 1.8, which vLLM pins, escapes
control characters alone."""
MAX_CHARS = 1000
"""Of a text in an answer."""


class JsonGrammar:
    """Compiles schemas, each once, for one tokenizer. `n_logits` is the width of the model's logits; an
    answer ends with one of `stops`."""

    def __init__(self, tokenizer: Any, n_logits: int, stops: Sequence[int]) -> None:
        """
        Raises:
            ConfigError: E_BASE, a tokenizer of a kind that llguidance does not read.
        """
        with native_errors(
            lambda name: ConfigError("E_BASE", f"the base's tokenizer cannot be held to a schema ({name})")
        ):
            n_vocab = max(n_logits, len(tokenizer))
            self._tokenizer = from_tokenizer(tokenizer, n_vocab=n_vocab, eos_token=list(stops))
        self._compiled: dict[str, LLMatcher] = {}

    def matcher(self, schema: Mapping[str, Any], seed: str = "") -> JsonMatcher:
        """The state of an answer under `schema` before its first token: the most probable answer or, with a
        seed, a sample.

        Raises:
            ConfigError: E_JUDGE, a schema that llguidance does not enforce.
        """
        key = json.dumps(schema)
        if key not in self._compiled:
            self._compiled[key] = self._compile(_bounded(schema))
        return JsonMatcher(self._compiled[key].deep_copy(), Random(seed) if seed else None)

    def _compile(self, schema: Mapping[str, Any]) -> LLMatcher:
        error = ""
        for options in (COMPACT | ESCAPES, COMPACT):
            grammar = f"{FREE}\nstart: %json {json.dumps({**schema, 'x-guidance': options})}"
            matcher = LLMatcher(self._tokenizer, grammar, log_level=0)
            if not matcher.is_error():
                return matcher
            error = matcher.get_error()
        raise ConfigError("E_JUDGE", f"a schema that cannot be enforced: {error.splitlines()[0][:200]}")


def _bounded(schema: Any) -> Any:
    """The schema with ends for what a weak model writes again and again: decimals and texts."""
    if isinstance(schema, list):
        return [_bounded(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    bounds: dict[Any, dict[str, Any]] = {"number": {"multipleOf": 0.01}, "string": {"maxLength": MAX_CHARS}}
    kind = schema.get("type")
    bound = bounds.get(kind, {}) if isinstance(kind, str) else {}
    return {**bound, **{name: _bounded(value) for name, value in schema.items()}}


class JsonMatcher:
    """What may follow in one answer."""

    def __init__(self, matcher: LLMatcher, chance: Random | None = None) -> None:
        self._matcher, self._chance = matcher, chance

    @property
    def is_complete(self) -> bool:
        return self._matcher.is_stopped() and not self._matcher.is_error()

    def accepts(self, ids: Sequence[int]) -> bool:
        """Whether tokens may follow, all of them; they are taken."""
        return self._matcher.try_consume_tokens(list(ids)) == len(ids)

    def take(self, logits: torch.Tensor) -> int | None:
        """Take the likeliest of the tokens that may follow, or a sample of them, by `logits` of shape
        (vocabulary,); None where nothing may."""
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        allowed = torch.from_numpy(np.unpackbits(bits, count=len(logits), bitorder="little")).bool()
        logits = logits.masked_fill(~allowed.to(logits.device), -torch.inf)
        if self._chance is None:
            token = int(logits.argmax())
        else:
            shares = torch.softmax(logits.double() / VOTE_TEMPERATURE, -1).cumsum(-1)
            drawn = torch.tensor([self._chance.random()], dtype=shares.dtype, device=shares.device)
            token = min(int(torch.searchsorted(shares, drawn, right=True)), len(logits) - 1)
        if not allowed[token] or not self._matcher.consume_token(token):
            return None
        return token
