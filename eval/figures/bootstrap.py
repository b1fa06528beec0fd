"""Ranking figures and calibration error in every round of a bootstrap, without copying a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialint.detector.statistics import Counts, grouped_sum, ratio
from dialint.eval.metrics import Bools, Floats

CELLS = 1 << 22
"""Weights held at a time."""


def ranking_figures(
    truth: Bools,
    scores: Floats,
    groups: NDArray[np.int64],
    counts: Counts,
    weights: Floats | None = None,
) -> dict[str, Floats]:
    """Figures of the order of `scores`, shape (n,), each of shape (1 + rounds,), NaN without a positive:

    `average_precision`; `precision_at_recall_50`, the best at which half of the errors are found;
    `false_alarms_at_recall_50` for 100 clean rows; `recall_at_1_false_alarm` for 100 clean rows.
    A row counts as `weights` say, shape (n,), above 0; without them as one.
    """
    names = (
        "average_precision",
        "precision_at_recall_50",
        "false_alarms_at_recall_50",
        "recall_at_1_false_alarm",
    )
    if not truth.any():
        return {name: np.full(len(counts), np.nan) for name in names}
    order = np.argsort(-scores, kind="stable")
    hits, ranked, groups = truth[order], scores[order], groups[order]
    row_weights = None if weights is None else weights[order]
    ends = np.flatnonzero(np.append(np.diff(ranked) != 0, True))
    with_hits = np.diff(np.cumsum(hits)[ends], prepend=0) > 0
    ends = ends[with_hits]  # only where an error is found can any of these figures change
    parts = [
        _ranking(*_cumulate(hits, groups, ends, counts[rows], row_weights))
        for rows in _chunks(len(counts), len(hits))
    ]
    return {name: np.concatenate([part[index] for part in parts]) for index, name in enumerate(names)}


def _chunks(n_rows: int, n_columns: int) -> Iterator[slice]:
    step = max(1, CELLS // max(n_columns, 1))
    for start in range(0, n_rows, step):
        yield slice(start, start + step)


def _cumulate(
    hits: Bools,
    groups: NDArray[np.int64],
    ends: NDArray[np.int64],
    counts: Counts,
    row_weights: Floats | None,
) -> tuple[Floats, Floats, Floats]:
    """Errors found and rows flagged down to each of `ends`, shape (rounds, ends); clean rows in all."""
    weights: NDArray[Any] = counts[:, groups] if row_weights is None else counts[:, groups] * row_weights
    starts = np.concatenate(([0], ends[:-1] + 1))
    flagged = np.cumsum(np.add.reduceat(weights, starts, axis=1), axis=1, dtype=float)
    if ends[-1] + 1 < len(hits):  # reduceat runs its last segment to the end of the row
        flagged[:, -1] -= weights[:, ends[-1] + 1 :].sum(axis=1)
    hits_down = np.cumsum(np.add.reduceat(weights * hits, starts, axis=1), axis=1, dtype=float)
    return hits_down, flagged, weights.sum(axis=1) - hits_down[:, -1]


def _ranking(hits_down: Floats, flagged: Floats, clean: Floats) -> tuple[Floats, ...]:
    errors = hits_down[:, -1:]
    recall = ratio(hits_down, np.broadcast_to(errors, hits_down.shape))
    precision = ratio(hits_down, flagged)
    none = np.isnan(recall[:, 0])
    precision, recall = np.nan_to_num(precision), np.nan_to_num(recall)
    area = np.sum(np.diff(recall, axis=1, prepend=0.0) * precision, axis=1)
    half = recall >= 0.5
    best = np.where(half, precision, 0.0).max(axis=1)
    at = half.argmax(axis=1)
    alarms = flagged - hits_down
    false = ratio(100.0 * alarms[np.arange(len(at)), at], clean)
    allowed = np.floor(clean * (1.0 / 100.0))
    recalled = np.where(alarms <= allowed[:, None], recall, 0.0).max(axis=1)
    recalled = np.where(clean > 0, recalled, np.nan)
    return tuple(np.where(none, np.nan, values) for values in (area, best, false, recalled))


def calibration_errors(
    truth: Bools, probabilities: Floats, groups: NDArray[np.int64], counts: Counts, bins: int = 15
) -> Floats:
    """Expected calibration error in every round, over the sample's own bins of equal count.

    Source: Nguyen and O'Connor 2015, adaptive binning; the bins stay those of the sample.
    """
    order = np.argsort(probabilities, kind="stable")
    gap = np.zeros(len(counts))
    for rows in np.array_split(order, bins):
        if len(rows):
            gap += abs(grouped_sum(counts, truth[rows] - probabilities[rows], groups[rows]))
    return ratio(gap, grouped_sum(counts, np.ones(len(truth)), groups))
