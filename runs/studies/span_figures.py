"""How much better many people mark spans than one: F1 of aggregated spans on simulated people."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dialint.labeling.aggregation.spans import aggregate_spans
from dialint.labeling.simulation.answer_tables import SpanPlan, Spans, simulate_spans

SURE = 0.5
"""Probability from which a candidate counts as found."""


def span_figures(plan: SpanPlan) -> dict[str, float]:
    """F1 of characters and of boundaries (both ends within 5 characters): all people together against
    one person at a time."""
    crowd = simulate_spans(plan)
    candidates = [c for c in aggregate_spans(crowd.marked, crowd.workers) if c.probability > SURE]
    together: dict[str, Spans] = {task: [] for task in crowd.truth}
    for candidate in candidates:
        together[candidate.task].append((candidate.start, candidate.end))
    alone: dict[tuple[str, str], Spans] = {
        (task, worker): [] for task, workers in crowd.workers.items() for worker in workers
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
