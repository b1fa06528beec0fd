"""Samples tasks for a project from the dialogues in the store, by a stated design, without replacement.

The frame is every dialogue that the design covers and that has no task in the project yet. Each task stores
its inclusion probability in that frame and the reason, so that estimates can weight it later. The samplers
are pure functions over arrays of shape (units,): they return the selected indices, ascending, and their
inclusion probabilities, in (0, 1]. `sample_tasks` samples once, from a seed; adding the tasks can be
repeated.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NewTask, Pool, StoreRefused
from dialint.labeling.store.tasks import Design, SamplingUnit, add_all, load_sampling_frame

Reals = NDArray[np.float64]
MIN_WEIGHT = 1e-3
"""Lower bound, as a share of the mean weight: a unit that is never selected would bias every estimate."""


class Sample(NamedTuple):
    """Indices of the selected units, and the inclusion probability of each; both of shape (selected,)."""

    indices: NDArray[np.int64]
    probabilities: Reals


def inclusion_probabilities(weights: Reals, n: int) -> Reals:
    """Inclusion probabilities proportional to the weights that sum to `n`, none above 1.

    Source: Särndal, Swensson, Wretman, Model Assisted Survey Sampling (1992), section 3.6.2: units whose
    share exceeds 1 are taken for certain, the rest share what is left, until none exceeds it. We lift
    weights to at least `MIN_WEIGHT` of their mean.

    Raises:
        ConfigError: more units are wanted than there are, or a weight is negative or not finite.
    """
    if not 0 < n <= len(weights):
        raise ConfigError("E_SAMPLE", "{n} wanted of {total}", n=n, total=len(weights))
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ConfigError("E_SAMPLE", "a weight is negative or not finite")
    relative = weights / weights.max() if weights.max() > 0 else np.ones(len(weights))
    lifted = np.maximum(relative, relative.mean() * MIN_WEIGHT)
    probabilities = np.zeros(len(weights))
    certain = np.zeros(len(weights), bool)
    while True:
        rest = lifted[~certain]
        probabilities[~certain] = rest * ((n - certain.sum()) / rest.sum()) if len(rest) else 0.0
        over = ~certain & (probabilities >= 1.0 - 1e-12)
        if not over.any():
            return probabilities
        certain |= over
        probabilities[certain] = 1.0


def sample_weighted(weights: Reals, n: int, generator: np.random.Generator) -> Sample:
    """`n` units with probability proportional to weight: systematic sampling of a shuffled list.

    Source: Madow, On the theory of systematic sampling II (1949). Exactly `n` units, and inclusion
    probabilities exactly as `inclusion_probabilities` gives them; by the shuffle most pairs have a positive
    one, too.
    """
    probabilities = inclusion_probabilities(weights, n)
    order = generator.permutation(len(weights))
    ends = np.cumsum(probabilities[order])
    ends *= n / ends[-1]
    ticks = generator.uniform() + np.arange(n)
    indices = np.sort(order[np.minimum(np.searchsorted(ends, ticks, side="right"), len(order) - 1)])
    return Sample(indices, probabilities[indices])


def uniform(size: int, n: int, generator: np.random.Generator) -> Sample:
    """`n` of `size` units, every set of `n` as likely as any other.

    Raises:
        ConfigError: more units are wanted than there are.
    """
    if not 0 < n <= size:
        raise ConfigError("E_SAMPLE", "{n} wanted of {size}", n=n, size=size)
    indices = np.sort(generator.choice(size, n, replace=False, shuffle=False))
    return Sample(indices, np.full(n, n / size))


def sample_stratified(strata: Sequence[Hashable], n: int, generator: np.random.Generator) -> Sample:
    """`n` units spread over the strata in proportion to their sizes, at least one from each stratum, sampled
    uniformly within. The allocation is fixed before sampling."""
    sizes = Counter(strata)
    shares = allocation(sizes, n)
    members: dict[Hashable, list[int]] = {stratum: [] for stratum in sizes}
    for index, stratum in enumerate(strata):
        members[stratum].append(index)
    indices, probabilities = [], []
    for stratum in sorted(sizes, key=str):
        if shares[stratum]:
            sample = uniform(sizes[stratum], shares[stratum], generator)
            indices.append(np.asarray(members[stratum])[sample.indices])
            probabilities.append(sample.probabilities)
    order = np.argsort(np.concatenate(indices))
    return Sample(np.concatenate(indices)[order], np.concatenate(probabilities)[order])


def allocation(sizes: Counter[Hashable], n: int) -> dict[Hashable, int]:
    """Divide `n` among strata: one each, the rest by largest remainder, never more than a stratum's size.

    Raises:
        ConfigError: fewer are requested than there are strata, so that some could not be selected, or more
            than there are units.
    """
    total = sizes.total()
    if not len(sizes) <= n <= total:
        raise ConfigError(
            "E_SAMPLE",
            "{n} wanted of {total} in {strata} strata: expected between the two",
            n=n,
            total=total,
            strata=len(sizes),
        )
    exact = {stratum: n * size / total for stratum, size in sizes.items()}
    shares = {stratum: max(1, int(exact[stratum])) for stratum in sizes}
    by_remainder = sorted(sizes, key=lambda stratum: (shares[stratum] - exact[stratum], str(stratum)))
    while sum(shares.values()) < n:
        for stratum in by_remainder:
            if sum(shares.values()) < n and shares[stratum] < sizes[stratum]:
                shares[stratum] += 1
    while sum(shares.values()) > n:
        largest = max((s for s in shares if shares[s] > 1), key=lambda s: (shares[s] - exact[s], str(s)))
        shares[largest] -= 1
    return shares


def binary_entropy(probabilities: Reals) -> Reals:
    """Entropy in bits of yes-or-no questions with these probabilities, 0 to 1."""
    from scipy.special import entr

    return np.asarray((entr(probabilities) + entr(1.0 - probabilities)) / np.log(2.0), float)


Stratum = Literal["agent", "team", "channel"]


@dataclass(frozen=True)
class SamplingConfig:
    """Options of a sample of tasks."""

    project: str
    """The project that gets the tasks."""
    design: Design = "random"
    """`random`: each dialogue alike. `risk`: by the number of errors that the model expects, for which
    verdicts need --all-probabilities; without them by what is reported. `uncertain`: by the entropy of
    whether there is one at all, by that number averaged over releases, so that a committee that disagrees
    counts. `stratified`: spread over --by. `audit`: alike among dialogues no release flags."""
    n: int = 100
    """How many dialogues to sample."""
    by: tuple[Stratum, ...] = ("agent",)
    """What makes a stratum."""
    seed: int = 0
    """The same seed and the same store give the same tasks."""
    pool: Pool = "main"
    """The pool the tasks go to."""
    priority: float = 0.0
    """Their priority in the queue: higher comes first."""

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ConfigError("E_OPTION", "--n: expected at least 1")
        if not math.isfinite(self.priority):
            raise ConfigError("E_OPTION", "--priority: expected a number")
        if not self.by:
            raise ConfigError("E_OPTION", "--by: expected agent, team or channel")


def sample_tasks(store: Store, actor: str, config: SamplingConfig) -> int:
    """Sample dialogues as `config` says and add them as tasks; returns how many.

    Raises:
        StoreRefused: an unknown project.
        ConfigError: more are wanted than the frame holds.
    """
    frame = store.read(
        lambda transaction: load_sampling_frame(transaction, actor, config.project, config.design)
    )
    if not frame:
        values = {"design": config.design, "project": config.project}
        raise StoreRefused("E_SAMPLE", "no dialogue is left for {design} in {project}", **values)
    sample = _sample(frame, config)
    why = f"{config.design}: {len(sample.indices)} of {len(frame)}, seed {config.seed}"
    new = [
        NewTask(
            dialogue=frame[index].id,
            pool=config.pool,
            priority=config.priority,
            inclusion_probability=min(1.0, float(probability)),
            why=why,
        )
        for index, probability in zip(sample.indices, sample.probabilities, strict=True)
    ]
    return add_all(store, actor, config.project, new)


def _sample(frame: list[SamplingUnit], config: SamplingConfig) -> Sample:
    generator = np.random.default_rng(config.seed)
    if config.design in ("random", "audit"):
        return uniform(len(frame), config.n, generator)
    if config.design == "stratified":
        strata = [tuple(getattr(row, column) for column in config.by) for row in frame]
        return sample_stratified(strata, config.n, generator)
    risk = np.fromiter((row.risk for row in frame), np.float64, len(frame))
    weights = risk if config.design == "risk" else binary_entropy(-np.expm1(-risk))
    return sample_weighted(weights, config.n, generator)
