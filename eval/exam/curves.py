"""Precision over recall, and frequency over probability, as points that a page can draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from dialint.eval.metrics import curve
from dialint.eval.truth import Judged

MAX_POINTS = 120
BINS = 10


def curves(rows: Judged) -> dict[str, Any]:
    """`precision_recall`: points (recall, precision), surest first, at most `MAX_POINTS`;
    `at_threshold`: that point for what was flagged, or None;
    `reliability`: for each bin of equal width with a row in it: mean probability, frequency, rows."""
    precision, recall, _ = curve(rows.truth, rows.probabilities)
    new = np.diff(recall, prepend=0.0) > 0
    points = np.column_stack((recall[new], precision[new]))
    if len(points) > MAX_POINTS:
        points = points[np.unique(np.linspace(0, len(points) - 1, MAX_POINTS).astype(int))]
    flagged, hits = int(rows.flagged.sum()), int((rows.flagged & rows.truth).sum())
    at = [hits / max(int(rows.truth.sum()), 1), hits / flagged] if flagged else None
    return {
        "precision_recall": _rounded(points.tolist()),
        "at_threshold": None if at is None else _rounded([at])[0],
        "reliability": _rounded(_reliability(rows)),
    }


def _reliability(rows: Judged) -> list[list[float]]:
    bins = np.minimum((rows.probabilities * BINS).astype(int), BINS - 1)
    return [
        [
            float(rows.probabilities[bins == b].mean()),
            float(rows.truth[bins == b].mean()),
            int((bins == b).sum()),
        ]
        for b in np.unique(bins).tolist()
    ]


def _rounded(points: list[list[float]]) -> list[list[float]]:
    return [[round(value, 4) for value in point] for point in points]
