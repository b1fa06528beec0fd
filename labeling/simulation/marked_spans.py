"""Simulated span answers of known truth: who looked at which text, and what they marked in it.

People miss spans, mark positions where nothing is, and set boundaries too wide or too narrow in a way of
their own; careless ones do all of it more. Texts are lengths here, not words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dialint.labeling.aggregation.spans import Span

Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class SpanPlan:
    """`n_tasks` texts of `length` characters with 0 to 2 spans, `per_task` of `n_workers` look at each. A
    span is missed with `missed`; `stray` places are marked in vain for each look; boundaries are off by
    `jitter` characters (standard deviation). The `careless` share of people do each three times as much.
    """

    n_tasks: int = 200
    n_workers: int = 30
    per_task: int = 5
    length: int = 240
    missed: float = 0.25
    stray: float = 0.25
    jitter: float = 4.0
    careless: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class SpanCrowd:
    """The spans that are there, by task; those that were marked; and who looked."""

    truth: dict[str, Spans]
    marked: list[Span]
    looked: dict[str, list[str]]


def simulate_spans(plan: SpanPlan) -> SpanCrowd:
    """Span answers after `plan`, the same for the same seed."""
    random = np.random.default_rng(plan.seed)
    n_careless = round(plan.careless * plan.n_workers)
    habits = random.normal(0.0, plan.jitter / 2, (plan.n_workers, 2))
    crowd = SpanCrowd({}, [], {})
    for number in range(plan.n_tasks):
        task = f"t{number}"
        half = plan.length // 2
        places = [(half * n + int(random.integers(10, 40)), int(random.integers(15, 60))) for n in (0, 1)]
        crowd.truth[task] = [(a, a + size) for a, size in places[: random.integers(0, 3)]]
        people = random.choice(plan.n_workers, plan.per_task, replace=False)
        crowd.looked[task] = [f"w{worker}" for worker in people]
        for worker in people:
            much = 3.0 if worker < n_careless else 1.0
            for start, end in _marks(plan, random, crowd.truth[task], habits[worker], much):
                crowd.marked.append(Span(task, f"w{worker}", start, end))
    return crowd


def _marks(
    plan: SpanPlan,
    random: np.random.Generator,
    truth: Spans,
    habit: np.typing.NDArray[np.float64],
    much: float,
) -> Spans:
    found = [span for span in truth if random.random() > min(0.9, much * plan.missed)]
    moved = [
        np.rint((a, b) + much * (habit + random.normal(0.0, plan.jitter, 2))).astype(int) for a, b in found
    ]
    strays = random.poisson(much * plan.stray)
    starts = random.integers(0, plan.length - 20, strays)
    pairs = [(int(a), int(b)) for a, b in moved] + [(int(a), int(a) + 20) for a in starts]
    return sorted({(max(0, a), min(plan.length, max(a + 1, b))) for a, b in pairs if a < plan.length})
