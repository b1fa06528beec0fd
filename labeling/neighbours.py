"""Near-copies: word shingles, MinHash candidates, and the exact Jaccard coefficient that decides.

MinHash with LSH (datasketch) only proposes pairs, so that a wrong proposal costs time and never a
dialogue; what it misses is measured by `recall`. Knows nothing of corpora or splits.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH = 3
"""Words in a shingle."""
BANDS, ROWS = 32, 4
"""Chance to be proposed: 0.87 at Jaccard 0.5, 0.99 at 0.6, above 0.999 from 0.7 on."""
NEAR = 0.8
"""Jaccard from which one of two dialogues is a copy that is dropped."""
KIN = 0.6
"""Jaccard from which two dialogues must lie on one side of a split."""

Shingles = NDArray[np.uint64]

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


def words(text: str) -> list[str]:
    """Lower-case words without punctuation; each Chinese or Japanese character is one."""
    return _WORD.findall(text.lower())


def shingles(text: str, width: int = WIDTH) -> Shingles:
    """Hashes of all runs of `width` words, sorted, each once; of all words where there are fewer."""
    return distinct(ngrams(words(text), width))


def distinct(codes: Shingles) -> Shingles:
    """Sorted, each once; for small arrays cheaper than `numpy.unique`."""
    codes = np.sort(codes)
    return codes[np.concatenate(([True], codes[1:] != codes[:-1]))] if len(codes) else codes


def ngrams(found: Sequence[str], width: int) -> Shingles:
    """Hashes of the runs of `width` words in order; one run of all where there are fewer, if any."""
    if not found:
        return np.empty(0, np.uint64)
    codes = np.fromiter((_code(word) for word in found), np.uint64, len(found))
    width = min(width, len(codes))
    total = np.zeros(len(codes) - width + 1, np.uint64)
    for place, factor in enumerate(_factors(width)):
        total += codes[place : place + len(total)] * factor
    return total


@lru_cache(maxsize=200_000)
def _code(word: str) -> int:
    return zlib.crc32(word.encode()) | zlib.adler32(word.encode()) << 32


@lru_cache(maxsize=64)
def _factors(width: int) -> NDArray[np.uint64]:
    drawn = np.random.default_rng(width).integers(0, 2**63, width, np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def jaccard(a: Shingles, b: Shingles) -> float:
    """Shared shingles over all shingles, 0 to 1; 0 if both are empty."""
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared / max(1, len(a) + len(b) - shared)


class Neighbours:
    """Sets of shingles that can be asked which of them are like another one. Numbered from 0 in the
    order in which they were added."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH

        self._blank = MinHash(BANDS * ROWS, seed=1, hashfunc=int, scheme="affine32")
        self._index = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
        self._sets: list[Shingles] = []

    def add(self, found: Shingles) -> None:
        """Remember a set; an empty one is like nothing."""
        self._insert(found, self._sketch(found))

    def near(self, found: Shingles, at_least: float) -> list[tuple[int, float]]:
        """Number and exact Jaccard of the sets found that reach `at_least`, in order of number."""
        return self._measured(found, self._sketch(found), at_least)

    def add_near(self, found: Shingles, at_least: float) -> list[tuple[int, float]]:
        """The same as `near`, and then `found` is remembered."""
        sketch = self._sketch(found)
        near = self._measured(found, sketch, at_least)
        self._insert(found, sketch)
        return near

    def _insert(self, found: Shingles, sketch: Any) -> None:
        if len(found):
            self._index.insert(len(self._sets), sketch, check_duplication=False)
        self._sets.append(found)

    def _measured(self, found: Shingles, sketch: Any, at_least: float) -> list[tuple[int, float]]:
        proposed = sorted(self._index.query(sketch)) if len(found) else []
        measured = ((number, jaccard(self._sets[number], found)) for number in proposed)
        return [(number, value) for number, value in measured if value >= at_least]

    def _sketch(self, found: Shingles) -> Any:
        sketch = self._blank.copy()
        sketch.update_batch(((found * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)).tolist())
        return sketch


def near_pairs(sets: Iterable[Shingles], at_least: float) -> list[tuple[int, int, float]]:
    """All pairs found that reach `at_least`, as (later, earlier, Jaccard)."""
    known = Neighbours()
    return [
        (number, other, value)
        for number, found in enumerate(sets)
        for other, value in known.add_near(found, at_least)
    ]


def united(keys: Sequence[Sequence[str]], pairs: Iterable[tuple[int, int]]) -> list[str]:
    """One group name per item: items that share a key or form a pair, directly or through others, share
    it. The name is the smallest of the group's keys, so that it does not depend on the order."""
    parent = {key: key for own in keys for key in own}

    def root(key: str) -> str:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    def join(a: str, b: str) -> None:
        low, high = sorted((root(a), root(b)))
        parent[high] = low

    for own in keys:
        for key in own[1:]:
            join(own[0], key)
    for a, b in pairs:
        join(keys[a][0], keys[b][0])
    return [root(own[0]) for own in keys]
