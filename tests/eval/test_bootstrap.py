"""Weighted figures against plain ones, scikit-learn, and resampled rows."""

from __future__ import annotations

import numpy as np
import pytest

from dialint.detector.statistics import Bools, Floats, bootstrap_counts, grouped_sum
from dialint.eval.figures import average_precision, calibration_errors, curve, ranking_figures
from dialint.eval.results import span_f1

RANDOM = np.random.default_rng(0)
GROUPS = np.sort(RANDOM.integers(0, 60, 500))
TRUTH = RANDOM.random(500) < 0.08
SCORES = np.round(RANDOM.random(500) * 0.7 + 0.3 * TRUTH, 2)  # with ties
COUNTS = bootstrap_counts(60, 40)


def precision_at_recall(truth: Bools, scores: Floats, recall: float) -> float:
    """The best precision at which at least `recall` of the errors are found; NaN without a positive."""
    if not truth.any():
        return float("nan")
    precision, reached, _ = curve(truth, scores)
    return float(precision[reached >= recall].max())


def false_alarms(truth: Bools, scores: Floats, recall: float) -> float:
    """False accusations for 100 clean turns at the threshold that finds `recall` of the errors."""
    if not truth.any() or truth.all():
        return float("nan")
    _, reached, thresholds = curve(truth, scores)
    threshold = thresholds[reached >= recall][0]
    return float(100.0 * np.mean(scores[~truth] >= threshold))


def recall_at_false_alarms(truth: Bools, scores: Floats, per_100: float) -> float:
    """Share of errors found when at most `per_100` of 100 clean turns are accused; NaN without a positive."""
    if not truth.any() or truth.all():
        return float("nan")
    allowed = int(per_100 / 100.0 * (~truth).sum())
    clean = np.sort(scores[~truth])[::-1]
    if allowed >= len(clean):
        return 1.0
    return float(np.mean(scores[truth] > clean[allowed]))


def test_average_precision_by_hand() -> None:
    """Hits at ranks 1, 3, 6: (1/1 + 2/3 + 3/6) / 3."""
    truth = np.array([1, 0, 1, 0, 0, 1], bool)
    assert average_precision(truth, np.array([0.9, 0.8, 0.7, 0.6, 0.2, 0.1])) == pytest.approx(
        (1 + 2 / 3 + 1 / 2) / 3
    )


def test_tied_scores_are_one_step() -> None:
    assert average_precision(np.array([1, 0], bool), np.array([0.5, 0.5])) == pytest.approx(0.5)
    assert average_precision(np.array([0, 1], bool), np.array([0.5, 0.5])) == pytest.approx(0.5)


def test_the_first_row_is_the_sample_itself() -> None:
    figures = ranking_figures(TRUTH, SCORES, GROUPS, COUNTS)
    assert figures["average_precision"][0] == pytest.approx(average_precision(TRUTH, SCORES))
    plain = precision_at_recall(TRUTH, SCORES, 0.5)
    assert figures["precision_at_recall_50"][0] == pytest.approx(plain)
    assert figures["false_alarms_at_recall_50"][0] == pytest.approx(false_alarms(TRUTH, SCORES, 0.5))
    plain = recall_at_false_alarms(TRUTH, SCORES, 1.0)
    assert figures["recall_at_1_false_alarm"][0] == pytest.approx(plain)


def test_a_round_equals_the_figures_of_its_resampled_rows() -> None:
    figures = ranking_figures(TRUTH, SCORES, GROUPS, COUNTS)
    for row in (1, 2, 3):
        again = np.repeat(np.arange(500), COUNTS[row][GROUPS])
        truth, scores = TRUTH[again], SCORES[again]
        assert figures["average_precision"][row] == pytest.approx(average_precision(truth, scores))
        assert figures["false_alarms_at_recall_50"][row] == pytest.approx(false_alarms(truth, scores, 0.5))
        assert figures["recall_at_1_false_alarm"][row] == pytest.approx(
            recall_at_false_alarms(truth, scores, 1.0)
        )


def test_by_hand() -> None:
    """Two groups, the second drawn twice: hits at weighted ranks 1 of 1 and 2, 3 of 2 to 4."""
    counts = np.array([[1, 1], [1, 2]], np.int32)
    truth, scores = np.array([1, 0, 1], bool), np.array([0.9, 0.8, 0.7])
    figures = ranking_figures(truth, scores, np.array([0, 0, 1]), counts)["average_precision"]
    assert figures == pytest.approx([(1 + 2 / 3) / 2, 1 / 3 * 1 + 2 / 3 * 3 / 4])
    assert grouped_sum(counts, truth, np.array([0, 0, 1])).tolist() == [2, 3]


def test_calibration_error_by_hand() -> None:
    """Two bins of two: |0.5 - 0.1| and |1.0 - 0.9|, half the weight each; the second round draws the first
    two rows only."""
    truth, stated = np.array([0, 1, 1, 1], bool), np.array([0.1, 0.1, 0.9, 0.9])
    counts = np.array([[1, 1], [2, 0]], np.int32)
    errors = calibration_errors(truth, stated, np.array([0, 0, 1, 1]), counts, bins=2)
    assert errors == pytest.approx([0.25, 0.4])


def test_nothing_to_measure_is_nan_not_zero() -> None:
    nothing = ranking_figures(np.zeros(3, bool), np.arange(3.0), np.array([0, 1, 2]), bootstrap_counts(3, 4))
    assert all(np.isnan(values).all() for values in nothing.values())
    assert np.isnan(average_precision(np.zeros(3, bool), np.arange(3.0)))


def test_overlap_of_spans_by_hand() -> None:
    """2 of 4 and of 6 characters in common."""
    assert span_f1((2, 6), (4, 10)) == pytest.approx(2 * 2 / (4 + 6))
    assert span_f1((4, 10), (2, 6)) == pytest.approx(2 * 2 / (4 + 6))
    assert span_f1((0, 3), (0, 3)) == 1.0
    assert span_f1((0, 3), (3, 5)) == 0.0
