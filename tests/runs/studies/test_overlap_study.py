"""The overlap study's arithmetic, on a simulated crowd whose truth is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from answer_tables import CrowdPlan, simulate_crowd
from overlap_study import FIGURES, OverlapStudyConfig, dynamic, one_draw, parted

from dialint.labeling.aggregation.overlap import OverlapRule

pytestmark = pytest.mark.slow  # a study is run by hand


def test_no_answer_is_asked_for_once_it_is_sure_enough() -> None:
    answers = simulate_crowd(CrowdPlan(n_tasks=300, n_workers=12, per_task=12, skill=0.8)).answers
    place = np.arange(len(answers)) - np.repeat(np.cumsum(answers.n_labelers) - answers.n_labelers, 12)
    assert (np.diff(answers.task) >= 0).all()
    _, few = dynamic(answers, place, OverlapRule(2, 12, 0.7, gain=0))
    posterior, many = dynamic(answers, place, OverlapRule(2, 12, 0.99, gain=0))
    assert 2 <= few < many < 12
    assert np.median(posterior.confidence) > 0.98
    assert dynamic(answers, place, OverlapRule(2, 2, 1.0))[1] == 2


def test_the_jury_is_seen_by_nobody() -> None:
    """Of ten people who answered everything four; of six out of twenty on each item those after the third."""
    config, random = OverlapStudyConfig(data=Path(), jury=4, maximum=3), np.random.default_rng(0)
    every = simulate_crowd(CrowdPlan(n_tasks=30, n_workers=10, per_task=10)).answers
    votes, pool, place = parted(every, config, random)
    assert set(votes.sum(axis=1)) == {4.0}
    assert len(np.unique(pool.worker)) == 6
    assert place.max() == 5
    some = simulate_crowd(CrowdPlan(n_tasks=30, n_workers=20, per_task=6)).answers
    votes, pool, place = parted(some, config, random)
    assert set(votes.sum(axis=1)) == {3.0} == set(map(float, pool.n_labelers))
    assert (votes + pool.votes() == some.votes()).all()


def test_every_way_is_measured_on_the_same_jury() -> None:
    answers = simulate_crowd(CrowdPlan(n_tasks=120, n_workers=10, per_task=10, skill=0.8)).answers
    found = one_draw(answers, OverlapStudyConfig(data=Path(), jury=4), seed=1)
    by_name = {name: dict(zip(FIGURES, figures, strict=True)) for name, figures in found}
    assert by_name["majority, 6 each"]["answers"] == 6
    assert by_name["joint, 6 each"]["agreement"] > by_name["joint, 1 each"]["agreement"]
    until, less = by_name["joint until 0.9 sure"], by_name["joint until 0.9 sure or a gain below 0.03"]
    assert 2 <= less["answers"] <= until["answers"] <= 6
    assert until["sure"] > 0.5
    assert until["confidence of the sure"] >= 0.9
