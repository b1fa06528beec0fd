"""Word shingles: hashed runs of words, which say how much two texts have in common.

Splitting into words and hashing knows nothing of which texts are alike; `neighbours` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

WIDTH = 3
"""Words in a shingle."""

Shingles = NDArray[np.uint64]

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_ASCII = "".join(chr(code).lower() if chr(code).isalnum() or code == ord("_") else " " for code in range(128))
BATCH = 50
"""Texts that are hashed together: their letters fit into a processor's cache."""


def words(text: str) -> list[str]:
    """Lower-case words without punctuation; each Chinese or Japanese character is one."""
    return _spaced(text).split()


def _spaced(text: str) -> str:
    """The words of a text with blanks between."""
    if text.isascii():  # the same words, much sooner
        return text.translate(_ASCII)
    return " ".join(_WORD.findall(text.lower()))


def shingles(text: str) -> Shingles:
    """Hashes of all runs of `WIDTH` words, sorted, each once; of all words where there are fewer."""
    return next(_shingled([text]))


def shingled(texts: Sequence[str]) -> list[Shingles]:
    """The `shingles` of many texts, several times quicker."""
    batches = (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))
    return [found for batch in batches for found in _shingled(batch)]


def _shingled(texts: Sequence[str]) -> Iterator[Shingles]:
    codes, ends = _codes([_spaced(text) for text in texts])
    runs = _runs(codes, WIDTH)  # some span two texts: nobody takes them
    for start, end in pairwise([0, *ends]):
        n_runs = end - start - WIDTH + 1
        yield distinct(runs[start : start + n_runs] if n_runs > 0 else _runs(codes[start:end], WIDTH))


def distinct(codes: Shingles) -> Shingles:
    """Sorted, each once; for small arrays cheaper than `numpy.unique`."""
    codes = np.sort(codes)
    return codes[fresh(codes)]


def ngrams(found: Sequence[str], width: int) -> Shingles:
    """Hashes of the runs of `width` words in order; one run of all where there are fewer, if any."""
    return _runs(_codes([" ".join(found)])[0], width)


def _runs(codes: Shingles, width: int) -> Shingles:
    """One hash for each run of `width` words, in order; of all words where there are fewer, if any."""
    width = min(width, len(codes))
    total = np.zeros(len(codes) - width + 1 if width else 0, np.uint64)
    for place, factor in enumerate(_factors(width)):
        total += codes[place : place + len(total)] * factor
    return total


def _codes(spaced: Sequence[str]) -> tuple[Shingles, list[int]]:
    """A hash of each word of all texts, and how many words there are up to the end of each text.

    Letters count with the powers of an odd number, which has an inverse modulo 2**64: a difference of
    two running totals, times a power of that inverse, does not depend on where the word stands.
    """
    texts = [text.encode() for text in spaced]
    letters = np.frombuffer(b" ".join([b"", *texts, b""]), np.uint8)
    blank = letters == ord(" ")
    edges = np.flatnonzero(blank[1:] != blank[:-1])
    before, last = edges[::2], edges[1::2]  # the blank before each word and its last letter
    rising, falling = _powers(1 << len(letters).bit_length())
    totals = np.cumsum(letters * rising[: len(letters)])
    lengths = np.cumsum([len(text) + 1 for text in texts])
    return (totals[last] - totals[before]) * falling[before], np.searchsorted(before, lengths).tolist()


@lru_cache(maxsize=4)
def _powers(n: int) -> tuple[Shingles, Shingles]:
    odd = 0x9E3779B97F4A7C15
    rising, falling = np.full(n, odd, np.uint64), np.full(n, pow(odd, -1, 2**64), np.uint64)
    return np.cumprod(rising), np.cumprod(falling)


@lru_cache(maxsize=64)
def _factors(width: int) -> NDArray[np.uint64]:
    drawn = np.random.default_rng(width).integers(0, 2**63, width, np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def fresh(codes: Shingles) -> NDArray[np.bool_]:
    """Whether each code differs from the one before it."""
    return np.concatenate((np.ones(len(codes[:1]), np.bool_), codes[1:] != codes[:-1]))
