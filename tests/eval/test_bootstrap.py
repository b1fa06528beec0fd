"""Weighted figures against plain ones, scikit-learn, and rows that were really drawn again."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from dialint.detector.statistics import bootstrap_counts, grouped_sum
from dialint.eval import metrics
from dialint.eval.figures.bootstrap import calibration_errors, ranking_figures

RANDOM = np.random.default_rng(0)
GROUPS = np.sort(RANDOM.integers(0, 60, 500))
TRUTH = RANDOM.random(500) < 0.08
SCORES = np.round(RANDOM.random(500) * 0.7 + 0.3 * TRUTH, 2)  # with ties
COUNTS = bootstrap_counts(60, 40)


def test_the_first_row_is_the_sample_itself() -> None:
    found = ranking_figures(TRUTH, SCORES, GROUPS, COUNTS)
    assert found["average_precision"][0] == pytest.approx(metrics.average_precision(TRUTH, SCORES))
    plain = metrics.precision_at_recall(TRUTH, SCORES, 0.5)
    assert found["precision_at_recall_50"][0] == pytest.approx(plain)
    assert found["false_alarms_at_recall_50"][0] == pytest.approx(metrics.false_alarms(TRUTH, SCORES, 0.5))
    plain = metrics.recall_at_false_alarms(TRUTH, SCORES, 1.0)
    assert found["recall_at_1_false_alarm"][0] == pytest.approx(plain)
    plain = metrics.calibration_error(TRUTH, SCORES)
    assert calibration_errors(TRUTH, SCORES, GROUPS, COUNTS)[0] == pytest.approx(plain)


def test_weighted_average_precision_is_that_of_scikit_learn() -> None:
    found = ranking_figures(TRUTH, SCORES, GROUPS, COUNTS)["average_precision"]
    for row in (1, 7, 40):
        expected = average_precision_score(TRUTH, SCORES, sample_weight=COUNTS[row][GROUPS])
        assert found[row] == pytest.approx(expected)


def test_a_round_is_what_the_drawn_rows_would_give() -> None:
    found = ranking_figures(TRUTH, SCORES, GROUPS, COUNTS)
    for row in (1, 2, 3):
        again = np.repeat(np.arange(500), COUNTS[row][GROUPS])
        truth, scores = TRUTH[again], SCORES[again]
        assert found["average_precision"][row] == pytest.approx(metrics.average_precision(truth, scores))
        assert found["false_alarms_at_recall_50"][row] == pytest.approx(
            metrics.false_alarms(truth, scores, 0.5)
        )
        assert found["recall_at_1_false_alarm"][row] == pytest.approx(
            metrics.recall_at_false_alarms(truth, scores, 1.0)
        )


def test_by_hand() -> None:
    """Two groups, the second drawn twice: hits at weighted ranks 1 of 1 and 2, 3 of 2 to 4."""
    counts = np.array([[1, 1], [1, 2]], np.int32)
    truth, scores = np.array([1, 0, 1], bool), np.array([0.9, 0.8, 0.7])
    found = ranking_figures(truth, scores, np.array([0, 0, 1]), counts)["average_precision"]
    assert found == pytest.approx([(1 + 2 / 3) / 2, 1 / 3 * 1 + 2 / 3 * 3 / 4])
    assert grouped_sum(counts, truth, np.array([0, 0, 1])).tolist() == [2, 3]


def test_nothing_to_measure_is_nan_not_zero() -> None:
    nothing = ranking_figures(np.zeros(3, bool), np.arange(3.0), np.array([0, 1, 2]), bootstrap_counts(3, 4))
    assert all(np.isnan(values).all() for values in nothing.values())
