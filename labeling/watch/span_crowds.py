"""Made-up span answers of known truth, and how much better many people mark than one.

People miss spans, mark places where nothing is, and set boundaries too wide or too narrow in a way of their
own; careless ones do all of it more. Texts are lengths here, not words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dialint.labeling.aggregation.spans import Span, aggregate_spans

Spans = list[tuple[int, int]]
SURE = 0.5
"""Probability from which a candidate counts as found."""


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


def made_spans(plan: SpanPlan) -> SpanCrowd:
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


def span_figures(plan: SpanPlan) -> dict[str, float]:
    """F1 of characters and of boundaries (both ends within 5 characters): all people together against
    one person at a time."""
    crowd = made_spans(plan)
    candidates = [c for c in aggregate_spans(crowd.marked, crowd.looked) if c.probability > SURE]
    together: dict[str, Spans] = {task: [] for task in crowd.truth}
    for candidate in candidates:
        together[candidate.task].append((candidate.start, candidate.end))
    alone: dict[tuple[str, str], Spans] = {
        (task, worker): [] for task, workers in crowd.looked.items() for worker in workers
    }
    for span in crowd.marked:
        alone[span.task, span.worker].append((span.start, span.end))
    all_pairs = [(crowd.truth[task], found) for task, found in together.items()]
    one_pairs = [(crowd.truth[task], found) for (task, _), found in alone.items()]
    return {
        "boundary F1, together": f1(all_pairs, near),
        "boundary F1, one person": f1(one_pairs, near),
        "character F1, together": f1(all_pairs, shared),
        "character F1, one person": f1(one_pairs, shared),
    }


def near(truth: Spans, found: Spans) -> tuple[float, float, float]:
    """Spans found with both ends within 5 characters; spans there; spans found."""
    left, hits = list(truth), 0
    for start, end in found:
        match = next((s for s in left if abs(s[0] - start) <= 5 and abs(s[1] - end) <= 5), None)
        if match is not None:
            left.remove(match)
            hits += 1
    return float(hits), float(len(truth)), float(len(found))


def shared(truth: Spans, found: Spans) -> tuple[float, float, float]:
    """Characters in both; in the truth; in what was found."""
    one, other = ({n for start, end in spans for n in range(start, end)} for spans in (truth, found))
    return float(len(one & other)), float(len(one)), float(len(other))


def f1(
    pairs: list[tuple[Spans, Spans]], counted: Callable[[Spans, Spans], tuple[float, float, float]]
) -> float:
    """Twice the shared over the sum of both, over all texts."""
    rows = np.array([counted(truth, found) for truth, found in pairs])
    hits, there, said = rows.sum(axis=0)
    return float(2 * hits / max(there + said, 1.0))
