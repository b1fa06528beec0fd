"""Probabilities of the verdicts: at the token where they part (`find_fork`), or from the log-probabilities
that a server gives beside an answer of its own.

The latter are read at the tokens in which the verdict begins, however the server's tokenizer cuts them: a
token may hold what stands before the verdict, only its first letter, or all of it and more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from dialint.detector.engines.server_answers import AnswerToken
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


def verdict_probabilities(tokens: Sequence[AnswerToken] | None) -> tuple[float, float, float] | None:
    """Of `VERDICTS`, in order, summing to 1; None where `tokens` do not say, or one that begins a verdict has
    no log-probability.

    Alternatives that begin no verdict are left out. An alternative that begins two of them ("no") counts half
    for each, unless it was taken: then the next token tells. The probability of an error is exact either way.
    """
    spelled = [token.spelling for token in tokens or ()]
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
    for token, text in zip((tokens or ())[position:], spelled[position:], strict=True):
        chosen = 0.0
        for alternative, probability in _alternatives(token):
            if not alternative.startswith(lead):
                continue
            starts = _begins(written + alternative[len(lead) :])
            if starts and probability is None:
                return None
            probability = probability or 0.0
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


def _alternatives(token: AnswerToken) -> Iterator[tuple[bytes, float | None]]:
    """The token and those that might have stood in its place, each once, with probabilities."""
    seen = set()
    for entry in (token, *(token.top_logprobs or ())):
        if entry is not None and entry.spelling not in seen:
            seen.add(entry.spelling)
            yield entry.spelling, None if entry.logprob is None else math.exp(min(0.0, entry.logprob))
