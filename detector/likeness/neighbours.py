"""Near-copies: all pairs of sets of shingles whose Jaccard coefficient reaches a bound.

The search misses nothing. Two sets with a Jaccard of t share at least t times the shingles of either, so
that, taken rarest first, the first they share is followed by no fewer; only sets with such a one in common
are compared. Knows nothing of corpora or splits.

Source: Chaudhuri, Ganti and Kaushik, A Primitive Operator for Similarity Joins in Data Cleaning, ICDE
2006 (prefix filter); Xiao, Wang, Lin and Yu, Efficient Similarity Joins for Near Duplicate Detection,
WWW 2008 (positional filter). They go from set to set with an inverted list; we have all sets at hand and
sort them together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dialint.detector.likeness.shingles import Shingles, fresh

NEAR = 0.8
"""Jaccard from which one of two dialogues is a copy that is dropped."""
KIN = 0.6
"""Jaccard from which two dialogues must lie on one side of a split."""
CHUNK = 1000
"""Sets that are put in order together."""
_ROUNDING = 1e-9

Numbers = NDArray[np.int64]


def jaccard(a: Shingles, b: Shingles) -> float:
    """Shared shingles over all shingles, 0 to 1; 0 if both are empty."""
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared / max(1, len(a) + len(b) - shared)


def near_pairs(
    sets: Iterable[Shingles], at_least: float, parts: Sequence[int] | None = None
) -> list[tuple[int, int, float]]:
    """All pairs that reach `at_least` (above 0), as (later, earlier, Jaccard), in order. If each set has
    its part, pairs within one are left out. An empty set is like nothing."""
    known = list(sets)
    labels = np.arange(len(known)) if parts is None else np.array(parts, np.int64)
    proposed = np.concatenate([np.empty(0, np.int64), *_proposed(known, at_least, labels)])
    pairs = [_pair(key) for key in np.unique(proposed).tolist()]
    measured = ((later, earlier, jaccard(known[later], known[earlier])) for later, earlier in pairs)
    return [pair for pair in measured if pair[2] >= at_least]


def links(sets: Sequence[Shingles], at_least: float) -> Iterator[tuple[int, int]]:
    """As many of the pairs that reach `at_least` as join all that they join: of a thousand copies 999,
    and hardly more are compared."""
    joined = np.arange(len(sets))  # the number of another, up to one that names itself
    for proposed in _proposed(sets, at_least, joined):
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


def _proposed(sets: Sequence[Shingles], at_least: float, labels: Numbers) -> Iterator[Numbers]:
    """Pairs that may reach `at_least`, as later << 32 | earlier, in rounds that may repeat some. Two sets
    of one label are no pair; labels may be made equal between rounds."""
    sizes = np.array([len(found) for found in sets], np.int64)
    codes, owners, rests = _rarest(sets, sizes, at_least)
    order, codes = _sorted(codes)
    owners, rests = owners[order], rests[order]
    least = sizes[owners] * (at_least / (1 + at_least))
    first = np.flatnonzero(fresh(codes))[np.cumsum(fresh(codes)) - 1]  # of those with the same code
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


def _rarest(sets: Sequence[Shingles], sizes: Numbers, at_least: float) -> tuple[Shingles, Numbers, Numbers]:
    """Of each set the rarest shingles, as far as enough can follow and if another set may have them, too:
    the shingle, the number of its set, and how many of that set are no rarer. In order of the sets."""
    times = _times(sets)
    found = [(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))]
    for begin in range(0, len(sets), CHUNK):
        codes = np.concatenate(sets[begin : begin + CHUNK])
        own, times_here, times = sizes[begin : begin + CHUNK], times[: len(codes)], times[len(codes) :]
        owners = np.repeat(np.arange(len(own)), own)
        low = np.uint64(len(codes).bit_length())
        order, _ = _sorted((owners.astype(np.uint64) << np.uint64(16) | times_here) << low)
        rests = np.cumsum(own)[owners] - np.arange(len(codes))
        taken = (rests >= at_least * own[owners] - _ROUNDING) & (times_here[order] > 1)
        found.append((codes[order[taken]], owners[taken] + begin, rests[taken]))
    codes, owners, rests = (np.concatenate(part) for part in zip(*found, strict=True))
    return codes, owners, rests


def _times(sets: Sequence[Shingles]) -> NDArray[np.uint16]:
    """In how many sets each shingle of each set occurs, up to 65,535; some few are counted as one."""
    order, upper = _sorted(np.concatenate([np.empty(0, np.uint64), *sets]))
    counts = np.diff(np.flatnonzero(fresh(upper)), append=len(order))
    times = np.empty(len(order), np.uint16)
    times[order] = np.repeat(np.minimum(counts, 65_535).astype(np.uint16), counts)
    return times


def _sorted(codes: Shingles) -> tuple[Numbers, Shingles]:
    """Where the codes stand in their order, and they in it, without the lower bits, in which the places
    are sorted along: sorting is ten times quicker than finding an order. Codes that only differ there
    count as equal, in order of their places."""
    low = np.uint64(len(codes).bit_length())
    packed = codes >> low << low
    packed |= np.arange(len(codes), dtype=np.uint64)
    packed.sort()
    upper = packed >> low
    packed &= (np.uint64(1) << low) - np.uint64(1)
    return packed.view(np.int64), upper


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
