"""Metrics against answers computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dialint.eval.metrics import average_precision, span_f1

TRUTH = np.array([1, 0, 1, 0, 0, 1], bool)
SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.2, 0.1])


def test_average_precision_by_hand() -> None:
    """Hits at ranks 1, 3, 6: (1/1 + 2/3 + 3/6) / 3."""
    assert average_precision(TRUTH, SCORES) == pytest.approx((1 + 2 / 3 + 1 / 2) / 3)


def test_tied_scores_are_taken_together() -> None:
    assert average_precision(np.array([1, 0], bool), np.array([0.5, 0.5])) == pytest.approx(0.5)
    assert average_precision(np.array([0, 1], bool), np.array([0.5, 0.5])) == pytest.approx(0.5)


def test_nothing_to_find_has_no_average_precision() -> None:
    assert math.isnan(average_precision(np.zeros(3, bool), np.arange(3.0)))


def test_overlap_of_spans_by_hand() -> None:
    """2 of 4 and of 6 characters in common."""
    assert span_f1((2, 6), (4, 10)) == pytest.approx(2 * 2 / (4 + 6))
    assert span_f1((4, 10), (2, 6)) == pytest.approx(2 * 2 / (4 + 6))
    assert span_f1((0, 3), (0, 3)) == 1.0
    assert span_f1((0, 3), (3, 5)) == 0.0
