"""Generates answers under a JSON schema, token by token with llguidance, in batches of many prompts.

Answers have no blanks between their parts, as in training, and contain no control token.

The tokens that a prompt shares with the one before it are not computed again: their keys and values stay in
transformers' cache, the rest is cropped. Prompts go in the order of their tokens, so that each one's longest
common beginning with any earlier one is that with its neighbour: the system message that all dialogues share
is computed once. Answers are written from copies of the prompts' keys and values, as many as `batch_bytes`
holds. A model whose cache cannot be cropped computes every prompt as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher
from llguidance.hf import from_tokenizer
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from dialint.detector.errors import ConfigError, native_errors
from dialint.detector.judge.engine import VOTE_TEMPERATURE

FREE = '%llguidance {"no_forcing": true}'
"""Text that the schema fixes may be cut into any tokens, as by vLLM's grammar: so the same model writes the
same answers in both."""
COMPACT: dict[str, Any] = {"whitespace_flexible": False}
ESCAPES: dict[str, Any] = {"json_allow_general_unicode_escapes": True}
"""Any character may be escaped, as `JsonEscaper` does; llguidance before 1.8, which vLLM pins, escapes
control characters alone."""
MAX_CHARS = 1000
"""Most characters of a text in an answer."""


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
    """Bounds what a weak model repeats without end: decimals and texts."""
    if isinstance(schema, list):
        return [_bounded(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    bounds: dict[Any, dict[str, Any]] = {"number": {"multipleOf": 0.01}, "string": {"maxLength": MAX_CHARS}}
    kind = schema.get("type")
    bound = bounds.get(kind, {}) if isinstance(kind, str) else {}
    return {**bound, **{name: _bounded(value) for name, value in schema.items()}}


class JsonMatcher:
    """The state of one answer: accepts and samples its next tokens."""

    def __init__(self, matcher: LLMatcher, rng: Random | None = None) -> None:
        self._matcher, self._rng = matcher, rng

    @property
    def is_complete(self) -> bool:
        return self._matcher.is_stopped() and not self._matcher.is_error()

    def accepts(self, ids: Sequence[int]) -> bool:
        """Appends tokens if all of them may follow; returns whether they may."""
        return self._matcher.try_consume_tokens(list(ids)) == len(ids)

    def take(self, logits: torch.Tensor) -> int | None:
        """Appends the most probable of the tokens that may follow, or a sample of them, by `logits` of shape
        (vocabulary,); None where nothing may."""
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        allowed = torch.from_numpy(np.unpackbits(bits, count=len(logits), bitorder="little")).bool()
        logits = logits.masked_fill(~allowed.to(logits.device), -torch.inf)
        if self._rng is None:
            token = int(logits.argmax())
        else:
            shares = torch.softmax(logits.double() / VOTE_TEMPERATURE, -1).cumsum(-1)
            point = torch.tensor([self._rng.random()], dtype=shares.dtype, device=shares.device)
            token = min(int(torch.searchsorted(shares, point, right=True)), len(logits) - 1)
        if not allowed[token] or not self._matcher.consume_token(token):
            return None
        return token


Layers = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of each layer, of shape (1, heads, tokens, width)."""
PLAIN_TOKENS = 16_384
"""Tokens of prompts in one batch where nothing can be shared."""


def can_crop(model: Any) -> bool:
    """Returns whether all layers cache the keys and values of every token: no sliding windows, no recurrent
    states."""
    layers = DynamicCache(config=model.config).layers
    return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)


def write_answers(
    model: Any,
    rows: Sequence[Sequence[int]],
    matchers: Sequence[JsonMatcher],
    max_tokens: Sequence[int],
    device: torch.device,
    *,
    pad: int,
    batch_bytes: int,
) -> tuple[list[list[int]], list[int]]:
    """Generates an answer for each row under its matcher, up to its end or so many tokens; returns the
    answers' tokens and how many tokens of each row were computed. `pad` is any token."""
    written: list[list[int]] = [[] for _ in rows]
    computed = [len(row) for row in rows]
    order = sorted(range(len(rows)), key=lambda index: list(rows[index]))
    batches = (
        _shared(model, rows, order, computed, device, batch_bytes)
        if can_crop(model)
        else _plain(model, rows, order, device, pad)
    )
    for places, cache, logits in batches:
        answers = _decode(
            model,
            cache,
            logits,
            [len(rows[place]) for place in places],
            [matchers[place] for place in places],
            [max_tokens[place] for place in places],
            pad,
        )
        for place, answer in zip(places, answers, strict=True):
            written[place] = answer
    return written, computed


Batch = tuple[list[int], Any, torch.Tensor]
"""Indices of rows, the cache of their tokens, each padded at its beginning to the longest, and the logits
behind them, of shape (rows, vocabulary)."""


def _shared(
    model: Any,
    rows: Sequence[Sequence[int]],
    order: Sequence[int],
    computed: list[int],
    device: torch.device,
    batch_bytes: int,
) -> Iterator[Batch]:
    cache, before = DynamicCache(config=model.config), list[int]()
    places: list[int] = []
    layers: list[Layers] = []
    logits: list[torch.Tensor] = []
    for index in order:
        row = list(rows[index])
        most = min(len(before), len(row) - 1)  # the last token is always computed, for its logits
        shared = next((n for n in range(most) if before[n] != row[n]), most)
        if len(before) > shared:
            cache.crop(shared - len(before))
        output = model(
            input_ids=torch.tensor([row[shared:]], device=device),
            position_ids=torch.arange(shared, len(row), device=device)[None],
            past_key_values=cache,
            logits_to_keep=1,
            use_cache=True,
        )
        before, computed[index] = row, len(row) - shared
        own = [(layer.keys.clone(), layer.values.clone()) for layer in cache.layers]  # type: ignore[union-attr]
        size = max(len(rows[place]) for place in (*places, index))
        row_bytes = sum(part.nbytes for layer in own for part in layer) // len(row) * size
        if places and row_bytes * (len(places) + 1) > batch_bytes:
            yield places, _stack(model, layers), torch.stack(logits)
            places, layers, logits = [], [], []
        places.append(index)
        layers.append(own)
        logits.append(output.logits[0, -1].float())
    if places:
        yield places, _stack(model, layers), torch.stack(logits)


def _stack(model: Any, rows: list[Layers]) -> DynamicCache:
    """Stacks the caches of rows into one, padded at their beginning with zeros; releases their own layer by
    layer."""
    size = max(row[0][0].shape[2] for row in rows)
    cache = DynamicCache(config=model.config)
    for layer in range(len(rows[0])):
        parts = [row[layer] for row in rows]
        keys, values = (
            torch.cat(
                [torch.nn.functional.pad(part[side], (0, 0, size - part[side].shape[2], 0)) for part in parts]
            )
            for side in (0, 1)
        )
        cache.update(keys, values, layer)
        for row in rows:
            row[layer] = (torch.empty(0), torch.empty(0))
    return cache


def _plain(
    model: Any, rows: Sequence[Sequence[int]], order: Sequence[int], device: torch.device, pad: int
) -> Iterator[Batch]:
    by_size = sorted(order, key=lambda index: len(rows[index]))
    while by_size:
        size = len(rows[by_size[-1]])
        n = max(1, PLAIN_TOKENS // size)
        places, by_size = by_size[-n:], by_size[:-n]
        ids = [[pad] * (size - len(rows[place])) + list(rows[place]) for place in places]
        mask = _mask([len(rows[place]) for place in places], device)
        output = model(
            input_ids=torch.tensor(ids, device=device),
            attention_mask=mask,
            position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
            logits_to_keep=1,
            use_cache=True,
        )
        yield places, output.past_key_values, output.logits[:, -1].float()


def _mask(lengths: Sequence[int], device: torch.device) -> torch.Tensor:
    size = max(lengths)
    return torch.tensor([[0] * (size - n) + [1] * n for n in lengths], device=device)


def _decode(
    model: Any,
    cache: Any,
    logits: torch.Tensor,
    lengths: Sequence[int],
    matchers: Sequence[JsonMatcher],
    max_tokens: Sequence[int],
    pad: int,
) -> list[list[int]]:
    """Generates the answers of rows that are in the cache, with the logits of their first tokens."""
    device = logits.device
    mask = _mask(lengths, device)
    positions = torch.tensor(lengths, device=device)[:, None]
    answers: list[list[int]] = [[] for _ in lengths]
    is_open = [most > 0 for most in max_tokens]
    for step in range(max(max_tokens)):
        following = [pad] * len(lengths)
        for row, matcher in enumerate(matchers):
            token = matcher.take(logits[row]) if is_open[row] else None
            if token is None:
                is_open[row] = False
                continue
            following[row] = token
            answers[row].append(token)
            is_open[row] = not matcher.is_complete and len(answers[row]) < max_tokens[row]
        if not any(is_open):
            break
        mask = torch.cat([mask, mask.new_ones(len(lengths), 1)], 1)
        output = model(
            input_ids=torch.tensor(following, device=device)[:, None],
            attention_mask=mask,
            position_ids=positions + step,
            past_key_values=cache,
            logits_to_keep=1,
            use_cache=True,
        )
        logits = output.logits[:, -1].float()
    return answers
