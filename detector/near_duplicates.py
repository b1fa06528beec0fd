"""Near-duplicate texts: hashed word shingles, and all pairs whose Jaccard coefficient reaches a bound.

The search is exact. Two sets with a Jaccard coefficient of t share at least t times the shingles of either;
so, with shingles sorted by rarity, they share one within a prefix of each, and only sets with a common
shingle in their prefixes are compared.

Source: Chaudhuri, Ganti and Kaushik, A Primitive Operator for Similarity Joins in Data Cleaning, ICDE
2006 (prefix filter); Xiao, Wang, Lin and Yu, Efficient Similarity Joins for Near Duplicate Detection,
WWW 2008 (positional filter). They go from set to set with an inverted list; here all sets are sorted
together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

WIDTH = 3
"""Words in a shingle."""

Shingles = NDArray[np.uint64]

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


def words(text: str) -> list[str]:
    """Lower-case words without punctuation; each Chinese or Japanese character is one."""
    return _WORD.findall(text.lower())


def shingles(text: str) -> Shingles:
    """Hashes of all runs of `WIDTH` words, sorted, each once; of all words where there are fewer."""
    return np.unique(ngrams(words(text), WIDTH))


def ngrams(tokens: Sequence[str], width: int) -> Shingles:
    """Hashes of the runs of `width` words in order; one run of all where there are fewer, if any."""
    if not tokens:
        return np.empty(0, np.uint64)
    codes = np.fromiter(map(_code, tokens), np.uint64, len(tokens))
    width = min(width, len(tokens))
    runs: Shingles = (sliding_window_view(codes, width) * _factors(width)).sum(axis=1)
    return runs


@lru_cache(maxsize=1 << 16)
def _code(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest())


@lru_cache(maxsize=64)
def _factors(width: int) -> Shingles:
    odd = np.random.default_rng(width).integers(0, 2**63, width, np.uint64)
    return odd * np.uint64(2) + np.uint64(1)


def is_first(codes: Shingles) -> NDArray[np.bool_]:
    """Return whether each code differs from the one before it."""
    return np.concatenate((np.ones(len(codes[:1]), np.bool_), codes[1:] != codes[:-1]))


NEAR_DUPLICATE = 0.8
"""Jaccard coefficient from which one of two dialogues is dropped as a copy."""
RELATED = 0.6
"""Jaccard coefficient from which two dialogues must be on the same side of a split."""
CHUNK = 1000
"""Number of sets that are sorted together."""
_ROUNDING = 1e-9

Numbers = NDArray[np.int64]


def jaccard(a: Shingles, b: Shingles) -> float:
    """Shared shingles over all shingles, 0 to 1; 0 if both are empty."""
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared / max(1, len(a) + len(b) - shared)


def near_pairs(sets: Sequence[Shingles], at_least: float) -> list[tuple[int, int, float]]:
    """Return all pairs that reach `at_least` (above 0), as (later, earlier, Jaccard), in order. An empty set
    is similar to none."""
    rounds = _candidate_pairs(sets, at_least, np.arange(len(sets)))
    proposed = np.concatenate([np.empty(0, np.int64), *rounds])
    pairs = map(_pair, np.unique(proposed).tolist())
    measured = ((later, earlier, jaccard(sets[later], sets[earlier])) for later, earlier in pairs)
    return [pair for pair in measured if pair[2] >= at_least]


def linking_pairs(sets: Sequence[Shingles], at_least: float) -> Iterator[tuple[int, int]]:
    """Yield a spanning subset of the pairs that reach `at_least`: of a thousand copies 999 pairs, and hardly
    more are compared."""
    joined = np.arange(len(sets))  # the number of another, up to one that names itself
    for proposed in _candidate_pairs(sets, at_least, joined):
        for later, earlier in map(_pair, np.unique(proposed).tolist()):
            a, b = _last(joined, later), _last(joined, earlier)
            if a != b and jaccard(sets[later], sets[earlier]) >= at_least:
                joined[a] = b
                yield later, earlier
        while (joined[joined] != joined).any():
            joined[:] = joined[joined]


def _last(joined: Numbers, number: int) -> int:
    while joined[number] != number:
        number = int(joined[number])
    return number


def _pair(key: int) -> tuple[int, int]:
    return key >> 32, key & 0xFFFFFFFF


def _candidate_pairs(sets: Sequence[Shingles], at_least: float, labels: Numbers) -> Iterator[Numbers]:
    """Pairs that may reach `at_least`, as later << 32 | earlier, in rounds that may repeat some. Two sets
    of one label are no pair; labels may be made equal between rounds."""
    sizes = np.array([len(result) for result in sets], np.int64)
    codes, owners, rests = _rarest_shingles(sets, sizes, at_least)
    order, codes = _sort_with_order(codes)
    owners, rests = owners[order], rests[order]
    least = sizes[owners] * (at_least / (1 + at_least))
    first = np.flatnonzero(is_first(codes))[np.cumsum(is_first(codes)) - 1]  # of those with the same code
    mixed = np.zeros(len(codes), np.bool_)
    at, step = np.arange(len(codes)), 0
    while len(at := at[first[at] + step < at]):
        other = first[at] + step
        apart = labels[owners[at]] != labels[owners[other]]
        a, b = at[apart], other[apart]
        enough = np.minimum(rests[a], rests[b]) >= least[a] + least[b] - _ROUNDING
        yield owners[a[enough]] << 32 | owners[b[enough]]
        mixed[first[at]] = False
        mixed[first[a]] = True
        at, step = at[mixed[first[at]]], step + 1  # where all have one label nothing can follow


def _rarest_shingles(
    sets: Sequence[Shingles], sizes: Numbers, at_least: float
) -> tuple[Shingles, Numbers, Numbers]:
    """Return of each set the rarest shingles, as far as enough can follow and if another set may have them,
    too: the shingle, the number of its set, and how many of that set are no rarer. In order of the sets."""
    times = _document_frequency(sets)
    results = [(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))]
    for begin in range(0, len(sets), CHUNK):
        codes = np.concatenate(sets[begin : begin + CHUNK])
        own, times_here, times = sizes[begin : begin + CHUNK], times[: len(codes)], times[len(codes) :]
        owners = np.repeat(np.arange(len(own)), own)
        low = np.uint64(len(codes).bit_length())
        order, _ = _sort_with_order((owners.astype(np.uint64) << np.uint64(16) | times_here) << low)
        rests = np.cumsum(own)[owners] - np.arange(len(codes))
        selected = (rests >= at_least * own[owners] - _ROUNDING) & (times_here[order] > 1)
        results.append((codes[order[selected]], owners[selected] + begin, rests[selected]))
    codes, owners, rests = (np.concatenate(part) for part in zip(*results, strict=True))
    return codes, owners, rests


def _document_frequency(sets: Sequence[Shingles]) -> NDArray[np.uint16]:
    """In how many sets each shingle of each set occurs, up to 65,535; some few are counted as one."""
    order, upper = _sort_with_order(np.concatenate([np.empty(0, np.uint64), *sets]))
    counts = np.diff(np.flatnonzero(is_first(upper)), append=len(order))
    times = np.empty(len(order), np.uint16)
    times[order] = np.repeat(np.minimum(counts, 65_535).astype(np.uint16), counts)
    return times


def _sort_with_order(codes: Shingles) -> tuple[Numbers, Shingles]:
    """Return where the codes stand in their order, and they in it, without the lower bits, in which the
    places are sorted along: sorting is ten times quicker than finding an order. Codes that only differ there
    count as equal, in order of their places."""
    low = np.uint64(len(codes).bit_length())
    packed = codes >> low << low
    packed |= np.arange(len(codes), dtype=np.uint64)
    packed.sort()
    upper = packed >> low
    packed &= (np.uint64(1) << low) - np.uint64(1)
    return packed.view(np.int64), upper


def group_names(keys: Sequence[Sequence[str]], pairs: Iterable[tuple[int, int]]) -> list[str]:
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
