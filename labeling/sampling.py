"""Drawing without replacement, with the probability of each unit to be drawn: estimates later need it.

Pure functions over arrays of shape (units,): they give the places drawn, rising, and their inclusion
probabilities, in (0, 1]. What is drawn, and what its weight means, is decided in `draws`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError

Reals = NDArray[np.float64]
LEAST_WEIGHT = 1e-3
"""Of the mean weight: no unit is left without a chance to be drawn, or no estimate would be unbiased."""


class Drawn(NamedTuple):
    """Places of the units drawn, and the inclusion probability of each; both of shape (drawn,)."""

    places: NDArray[np.int64]
    probabilities: Reals


def inclusion(weights: Reals, n: int) -> Reals:
    """Inclusion probabilities proportional to the weights that sum to `n`, none above 1.

    Source: Särndal, Swensson, Wretman, Model Assisted Survey Sampling (1992), section 3.6.2: units whose
    share exceeds 1 are taken for certain, the rest share what is left, until none exceeds it. We lift
    weights to at least `LEAST_WEIGHT` of their mean.

    Raises:
        ConfigError: more units are wanted than there are, or a weight is negative or not finite.
    """
    if not 0 < n <= len(weights):
        raise ConfigError("E_SAMPLE", f"{n} wanted of {len(weights)}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ConfigError("E_SAMPLE", "a weight is negative or not finite")
    relative = weights / weights.max() if weights.max() > 0 else np.ones(len(weights))
    lifted = np.maximum(relative, relative.mean() * LEAST_WEIGHT)
    chances = np.zeros(len(weights))
    certain = np.zeros(len(weights), bool)
    while True:
        rest = lifted[~certain]
        chances[~certain] = rest * ((n - certain.sum()) / rest.sum()) if len(rest) else 0.0
        over = ~certain & (chances >= 1.0 - 1e-12)
        if not over.any():
            return chances
        certain |= over
        chances[certain] = 1.0


def weighted(weights: Reals, n: int, generator: np.random.Generator) -> Drawn:
    """`n` units with probability proportional to weight: systematic sampling of a shuffled list.

    Source: Madow, On the theory of systematic sampling II (1949). Exactly `n` units, and inclusion
    probabilities exactly as `inclusion` gives them; the shuffle gives most pairs a chance, too.
    """
    chances = inclusion(weights, n)
    order = generator.permutation(len(weights))
    ends = np.cumsum(chances[order])
    ends *= n / ends[-1]
    ticks = generator.uniform() + np.arange(n)
    places = np.sort(order[np.minimum(np.searchsorted(ends, ticks, side="right"), len(order) - 1)])
    return Drawn(places, chances[places])


def uniform(size: int, n: int, generator: np.random.Generator) -> Drawn:
    """`n` of `size` units, every set of `n` as likely as any other.

    Raises:
        ConfigError: more units are wanted than there are.
    """
    if not 0 < n <= size:
        raise ConfigError("E_SAMPLE", f"{n} wanted of {size}")
    places = np.sort(generator.choice(size, n, replace=False, shuffle=False))
    return Drawn(places, np.full(n, n / size))


def stratified(strata: Sequence[Hashable], n: int, generator: np.random.Generator) -> Drawn:
    """`n` units spread over the strata in proportion to their sizes, each stratum at least one while
    there are enough, drawn uniformly within. The allocation is fixed before anything is drawn."""
    sizes = Counter(strata)
    shares = allocation(sizes, n)
    members: dict[Hashable, list[int]] = {stratum: [] for stratum in sizes}
    for place, stratum in enumerate(strata):
        members[stratum].append(place)
    places, chances = [], []
    for stratum in sorted(sizes, key=str):
        if shares[stratum]:
            drawn = uniform(sizes[stratum], shares[stratum], generator)
            places.append(np.asarray(members[stratum])[drawn.places])
            chances.append(drawn.probabilities)
    order = np.argsort(np.concatenate(places))
    return Drawn(np.concatenate(places)[order], np.concatenate(chances)[order])


def allocation(sizes: Counter[Hashable], n: int) -> dict[Hashable, int]:
    """How many of `n` each stratum gets: one, then by largest remainder, never more than it holds.

    Raises:
        ConfigError: fewer are wanted than there are strata, so that some would have no chance, or more
            than there are units.
    """
    total = sizes.total()
    if not len(sizes) <= n <= total:
        raise ConfigError(
            "E_SAMPLE", f"{n} wanted of {total} in {len(sizes)} strata: expected between the two"
        )
    exact = {stratum: n * size / total for stratum, size in sizes.items()}
    shares = {stratum: max(1, int(exact[stratum])) for stratum in sizes}
    wish = sorted(sizes, key=lambda stratum: (shares[stratum] - exact[stratum], str(stratum)))
    while sum(shares.values()) < n:
        for stratum in wish:
            if sum(shares.values()) < n and shares[stratum] < sizes[stratum]:
                shares[stratum] += 1
    while sum(shares.values()) > n:
        largest = max((s for s in shares if shares[s] > 1), key=lambda s: (shares[s] - exact[s], str(s)))
        shares[largest] -= 1
    return shares


def entropy(probabilities: Reals) -> Reals:
    """Entropy in bits of yes-or-no questions with these probabilities, 0 to 1."""
    p = np.clip(probabilities, 1e-12, 1.0 - 1e-12)
    bits: Reals = -(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p))
    return bits
