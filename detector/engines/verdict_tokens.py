"""Probabilities of the verdicts: at the token where they part (`find_fork`), or from the log-probabilities
that a server gives beside an answer of its own.

The latter are read at the tokens in which the verdict begins, however the server's tokenizer cuts them: a
token may hold what stands before the verdict, only its first letter, or all of it and more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialint.detector.judge import VERDICTS

_KEY = re.compile(rb'"verdict"\s{0,8}:\s{0,8}"')
_VERDICTS = tuple(verdict.encode() for verdict in VERDICTS)


def find_fork(prefixes: Sequence[Sequence[int]]) -> tuple[list[int], list[int]] | None:
    """The tokens with which all answers begin, and the first in which they differ, one for each of
    `VERDICTS`. `prefixes` are the tokens of the answers' beginnings, verdict included, in that order; None if
    not every two part at the same token."""
    shortest, shared = min(map(len, prefixes)), 0
    while shared < shortest and len({tuple(ids[: shared + 1]) for ids in prefixes}) == 1:
        shared += 1
    if shared == shortest:
        return None
    first = [ids[shared] for ids in prefixes]
    return (list(prefixes[0][:shared]), first) if len(set(first)) == len(prefixes) else None


def verdict_softmax(logprobs: Sequence[float]) -> tuple[float, float, float]:
    """Probabilities of `VERDICTS` from the log-probabilities of their tokens, of which one is finite."""
    most = max(logprobs)
    error, no_error, not_applicable = (math.exp(value - most) for value in logprobs)
    total = error + no_error + not_applicable
    return error / total, no_error / total, not_applicable / total


def verdict_probabilities(tokens: Any) -> tuple[float, float, float] | None:
    """Of `VERDICTS`, in order, summing to 1; None where `tokens` do not say.

    `tokens` is ``choices[0].logprobs.content`` of a chat completion. Alternatives that begin no verdict are
    left out. An alternative that begins two of them ("no") counts half for each, unless it was taken: then
    the next token tells. The probability of an error is exact either way.
    """
    if not isinstance(tokens, list) or not all(isinstance(token, Mapping) for token in tokens):
        return None
    spelled = [_spelling(token) for token in tokens]
    key = _KEY.search(b"".join(spelled))
    if key is None:
        return None
    position = start = 0
    while start + len(spelled[position]) <= key.end():
        start += len(spelled[position])
        position += 1
        if position == len(spelled):
            return None
    lead = b"".join(spelled)[start : key.end()]  # of the token, what stands before the verdict
    mass, path, written = [0.0] * len(VERDICTS), 1.0, b""
    for token, text in zip(tokens[position:], spelled[position:], strict=True):
        chosen = 0.0
        for alternative, probability in _alternatives(token):
            if not alternative.startswith(lead):
                continue
            starts = _begins(written + alternative[len(lead) :])
            if alternative == text and len(starts) > 1:
                chosen = probability
            elif 0 < len(starts) < len(VERDICTS):
                for verdict in starts:
                    mass[verdict] += path * probability / len(starts)
        written += text[len(lead) :]
        if chosen == 0.0:
            break
        path, lead = path * chosen, b""
    total = sum(mass)
    if total < 1e-12:
        return None
    error, no_error, not_applicable = (part / total for part in mass)
    return error, no_error, not_applicable


def _begins(text: bytes) -> list[int]:
    """The verdicts that `text`, what the answer says after the opening, may be the beginning of."""
    return [
        index
        for index, verdict in enumerate(_VERDICTS)
        if verdict.startswith(text) or text.startswith(verdict + b'"') or text == verdict
    ]


def _alternatives(token: Mapping[str, Any]) -> Iterator[tuple[bytes, float]]:
    """The token and those that might have stood in its place, each once, with probabilities."""
    top = token.get("top_logprobs")
    seen = set()
    for entry in (token, *(top if isinstance(top, list) else ())):
        if isinstance(entry, Mapping) and (text := _spelling(entry)) not in seen:
            seen.add(text)
            logprob = entry.get("logprob")
            if isinstance(logprob, int | float) and not math.isnan(logprob):
                yield text, math.exp(min(0.0, logprob))


def _spelling(token: Mapping[str, Any]) -> bytes:
    """The bytes of a token: a part of a letter has no text."""
    spelled = token.get("bytes")
    if isinstance(spelled, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in spelled):
        return bytes(spelled)
    text = token.get("token")
    return text.encode("utf-8", "replace") if isinstance(text, str) else b""
