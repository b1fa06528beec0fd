"""The study's own arithmetic: a wrong measure would praise a wrong method."""

from __future__ import annotations

import numpy as np
import pytest
from aggregation_study import auroc, divergence, drawn, judged, measured
from answer_tables import CrowdPlan, simulate_crowd

from dialint.labeling.aggregation.posterior import Posterior

pytestmark = pytest.mark.slow  # a study is run by hand


def test_large_crowds_ask_nobody_twice() -> None:
    crowd = simulate_crowd(CrowdPlan(n_tasks=50_000, n_workers=100, per_task=7))
    answers = crowd.answers
    assert (answers.n_labelers == 7).all()
    assert len(np.unique(answers.task.astype(np.int64) * 100 + answers.worker)) == len(answers)
    given = np.bincount(answers.worker, minlength=100)
    assert given.min() > 0.9 * given.max()
    right = answers.label == crowd.truth[answers.task]
    assert right.mean() == pytest.approx(crowd.skills.mean(), abs=0.01)


def test_divergence_by_hand() -> None:
    """Disjoint: 1 bit; equal: 0; (1, 0) against (1/2, 1/2): 3/4 log2 4/3 + 1/4 bits less one half."""
    one, other = np.array([[1.0, 0], [0.3, 0.7], [1, 0]]), np.array([[0, 1.0], [0.3, 0.7], [0.5, 0.5]])
    third = (np.log2(4 / 3) + 0.5 * np.log2(2 / 3) + 0.5 * np.log2(2)) / 2
    assert divergence(one, other) == pytest.approx([1, 0, third])


def test_auroc_by_hand() -> None:
    """Of four pairs two are right, one is even and one is wrong."""
    found = auroc(np.array([3.0, 1.0, 1.0, 2.0]), np.array([True, True, False, False]))
    assert found == pytest.approx((2 + 0.5) / 4)
    assert np.isnan(auroc(np.array([1.0]), np.array([True])))


def test_as_many_answers_are_drawn_of_each_task() -> None:
    answers = simulate_crowd(CrowdPlan(n_tasks=50, n_workers=20, per_task=10)).answers
    seen = drawn(answers, 3, seed=1)
    assert (answers.where(seen).n_labelers == 3).all()
    assert (seen != drawn(answers, 3, seed=2)).any()


def test_judged_against_the_others() -> None:
    """Right, wrong, and a tie of the others that counts for the distribution only."""
    shares = np.array([[0.9, 0.1], [0.6, 0.4], [1.0, 0.0]])
    others = np.array([[9.0, 1], [4, 6], [5, 5]])
    accuracy, distance, knows = judged(Posterior(shares, shares), others, seed=0)
    assert accuracy == 0.5
    assert knows == 1.0
    assert distance == pytest.approx(divergence(shares, others / 10).mean())


def test_the_study_tells_a_good_method_from_a_bad_one() -> None:
    answers = simulate_crowd(
        CrowdPlan(n_tasks=200, n_workers=30, n_labels=3, per_task=15, skill=0.6, spread=4)
    ).answers
    report = measured(answers, 3, draws=2, first_seed=5)
    assert report["methods"]["joint"]["accuracy"][0] > 0.6
    assert report["methods"]["joint"]["divergence"][0] < report["methods"]["majority"]["divergence"][0]
    gain = report["advantage"]["majority"]["accuracy"][0]
    both = [report["methods"][name]["accuracy"][0] for name in ("joint", "majority")]
    assert gain == pytest.approx(both[0] - both[1], abs=2e-4)
