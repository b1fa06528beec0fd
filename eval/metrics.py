"""Metrics of scores, as functions of arrays that can be checked by hand. No model, no file, no dialogue.

`truth` holds 0 and 1, `scores` any real number, higher meaning more surely an error; both of shape (n,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]


def average_precision(truth: Bools, scores: Floats) -> float:
    """Area under precision over recall, ties taken together; NaN without a positive.

    Source: the step-wise sum that scikit-learn documents for ``average_precision_score``.
    """
    if not truth.any():
        return float("nan")
    precision, recall, _ = curve(truth, scores)
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def curve(truth: Bools, scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Precision and recall at each distinct score, from the highest down, and those scores."""
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(truth[order])
    last = np.flatnonzero(np.append(np.diff(ranked) != 0, True))
    return hits[last] / (last + 1.0), hits[last] / max(int(truth.sum()), 1), ranked[last]


def span_f1(one: tuple[int, int], other: tuple[int, int]) -> float:
    """F1 of the characters of two spans, each of at least one, ends exclusive."""
    both = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return 2 * both / (one[1] - one[0] + other[1] - other[0])
