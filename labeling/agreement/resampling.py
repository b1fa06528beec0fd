"""Intervals for a figure that is made of sums over tasks: bootstrap by task.

Every figure of this package is `finish(sums)` where `sums` adds up one row a task. A round draws tasks
with replacement, so its sums are the draw's counts times the rows, and no answer is copied. Tasks are
drawn whole, since one task's answers hang together.

Source: Efron and Tibshirani 1993, chapters 6 and 13.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dialint.labeling.aggregation.answers import Floats

ROUNDS = 1000
CELLS = 1 << 22
"""Counts of draws held at a time."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval, all NaN where nothing can be said; `n` is how many tasks tell."""

    value: float
    low: float
    high: float
    n: int


def estimated(
    rows: Floats, finish: Callable[[Floats], Floats], rounds: int = ROUNDS, seed: int = 0
) -> Estimate:
    """The figure `finish` makes of the sums of `rows`, shape (tasks, parts).

    `finish` takes sums of shape (rounds, parts) and gives (rounds,), NaN where it has no answer. Rows of
    zeros are tasks that say nothing; they are not drawn.
    """
    rows = rows[np.abs(rows).sum(axis=1) > 0]
    if not len(rows):
        return Estimate(float("nan"), float("nan"), float("nan"), 0)
    value = float(finish(rows.sum(axis=0, keepdims=True))[0])
    drawn = finish(_draws(rows, rounds, seed))
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return Estimate(value, float("nan"), float("nan"), len(rows))
    low, high = np.percentile(drawn, (2.5, 97.5))
    return Estimate(value, float(low), float(high), len(rows))


def _draws(rows: Floats, rounds: int, seed: int) -> Floats:
    """Sums of `rounds` draws of as many rows as there are, shape (rounds, parts)."""
    random, size = np.random.default_rng(seed), len(rows)
    step = max(1, CELLS // size)
    even = np.full(size, 1.0 / size)
    parts = [
        random.multinomial(size, even, min(step, rounds - start)) @ rows for start in range(0, rounds, step)
    ]
    return np.concatenate(parts).astype(float)


def ratio(above: Floats, below: Floats) -> Floats:
    """`above` over `below`, NaN where `below` is 0."""
    found: Floats = np.full(np.shape(above), np.nan)
    np.divide(above, below, out=found, where=np.abs(below) > 1e-12)
    return found
