"""Constrained decoding of answers to screens: only tokens that continue a list of the schema's turns and
codes are allowed. Works on bytes, as `quote_constraint` does, so that tokens may reach over several parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dialint.detector.engines.quote_constraint import TokenSpellings
from dialint.detector.judge import compact_json

_BEGIN, _END = b'{"errors":[', b"]}"


class ScreenConstraint:
    """The tokens that may follow an answer's tokens; the answer names each turn and code at most once. A
    complete answer may only be ended, by any of `stops`."""

    def __init__(self, spellings: TokenSpellings, schema: Mapping[str, Any], stops: Sequence[int]) -> None:
        errors = schema["properties"]["errors"]
        properties = errors["items"]["properties"]
        self._items = [
            compact_json({"turn": turn, "code": code}).encode()
            for turn in properties["turn"]["enum"]
            for code in properties["code"]["enum"]
        ]
        self._most = int(errors["maxItems"])
        self._spellings = spellings
        self._stops = sorted(stops)
        self._cache: dict[bytes, list[int]] = {}

    def __call__(self, ids: Sequence[int]) -> list[int]:
        """Allowed after `ids`, the answer so far; never empty where each byte has a token."""
        written = b"".join(self._spellings.spelled[token] for token in ids)
        if written not in self._cache:
            self._cache[written] = self._continuations(written)
        return self._cache[written]

    def _continuations(self, written: bytes) -> list[int]:
        if written.endswith(_END):
            return self._stops
        results: set[int] = set()
        for rest in self._rests(written):
            for size in range(1, min(len(rest), self._spellings.longest) + 1):
                results.update(self._spellings.exact.get(rest[:size], ()))
        return sorted(results)

    def _rests(self, written: bytes) -> list[bytes]:
        """What may follow, one item ahead."""
        if len(written) < len(_BEGIN):
            begin = _BEGIN[len(written) :]
            return [begin + _END, *(begin + item for item in self._items)]
        body = written[len(_BEGIN) :]
        done = body.count(b"}")
        partial = body[body.rfind(b"}") + 1 :]
        unused = [item for item in self._items if item not in body]
        rests = []
        if body == b"" or partial == b"":
            rests.append(_END)
        if partial == b"]":
            return [b"}"]
        if done >= self._most or (body and not unused):
            return rests or [_END]
        separator = b"," if done else b""
        for item in unused:
            whole = separator + item
            if whole.startswith(partial):
                rests += [whole[len(partial) :] + end for end in (_END, b",")]
        return rests
