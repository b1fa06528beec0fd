"""What several checks and gates read in a dialogue, computed once, and indexes to look places up in."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import accumulate
from typing import TypeVar

from dialint.detector.records import Dialogue

Value = TypeVar("Value")
KEPT = 2
"""Dialogues whose values are kept: one as it stands in the log, and the same masked."""


def per_dialogue(function: Callable[[Dialogue], Value]) -> Callable[[Dialogue], Value]:
    """Keeps the values of `function` for the last dialogues, by identity: records are frozen."""
    recent: tuple[tuple[Dialogue, Value], ...] = ()

    @wraps(function)
    def cached(dialogue: Dialogue) -> Value:
        nonlocal recent
        for known, value in recent:
            if known is dialogue:
                return value
        value = function(dialogue)
        recent = ((dialogue, value), *recent[: KEPT - 1])
        return value

    return cached


def any_between(positions: Sequence[int], start: int, end: int) -> bool:
    """Whether one of the positions, which are sorted, lies in ``[start, end)``."""
    place = bisect_left(positions, start)
    return place < len(positions) and positions[place] < end


class Spans:
    """Stretches ``[start, end)`` of a text, in any order, to be asked which others overlap them."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        self._ends = list(accumulate((end for _, end in ordered), max))

    def overlap(self, start: int, end: int) -> bool:
        """Whether one of the spans has a position in ``[start, end)``."""
        before = bisect_left(self._starts, end)
        return before > 0 and self._ends[before - 1] > start


class WordSearch:
    """Which of some `words` stand in texts, as parts of longer words too. Texts are added one after another,
    and each is read once. A word of more than `MAX_LETTERS` is not found."""

    MAX_LETTERS = 128
    _PREFIX = 5

    def __init__(self, words: Iterable[str]) -> None:
        self._first: dict[str, int] = {}
        self._words: dict[int, dict[str, dict[int, set[str]]]] = {}  # by size of prefix, prefix, length
        for word in words:
            if 0 < len(word) <= self.MAX_LETTERS:
                size = min(self._PREFIX, len(word))
                lengths = self._words.setdefault(size, {}).setdefault(word[:size], {})
                lengths.setdefault(len(word), set()).add(word)

    def add(self, text: str, place: int = 0) -> None:
        """Reads one more text; `place` is where its words stand."""
        self._first.setdefault("", place)
        for size, prefixes in self._words.items():
            for start in range(len(text) - size + 1):
                for length, words in prefixes.get(text[start : start + size], {}).items():
                    if (word := text[start : start + length]) in words:
                        self._first.setdefault(word, place)

    def first(self, word: str) -> int | None:
        """The place of the first text that holds a word, None without any."""
        return self._first.get(word)

    def __contains__(self, word: str) -> bool:
        return word in self._first
