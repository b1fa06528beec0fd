"""The study's own arithmetic: a wrong measure would praise a wrong method."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import peer_study
import pytest
from aggregation_study import auroc, divergence, drawn, judged, measured

from dialint.labeling.aggregation.posterior import Posterior
from dialint.labeling.simulation.answer_tables import CrowdPlan, simulate_crowd

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


def test_peers_are_judged_by_hand() -> None:
    """Three tasks count: right at .9, wrong at .6 (.4 for the truth), right at .8 for label 1; the last does not."""
    shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.0, 1.0]])
    truth, counts = np.array([0, 1, 1, 0]), np.array([True, True, True, False])
    accuracy, f1, loss, doubt, error = peer_study.judged(Posterior(shares, shares), truth, counts, 0)
    assert accuracy == pytest.approx(2 / 3)
    assert f1 == pytest.approx(2 * 1 / (1 + 2))
    assert loss == pytest.approx(-np.log([0.9, 0.4, 0.8]).mean())
    assert doubt == 1.0
    assert error == pytest.approx((0.1 + 0.6 + 0.2) / 3)


def test_an_interval_is_of_paired_differences() -> None:
    """1, 2 and 3 more: a mean of 2, standard deviation 1, and 4.303 times that over the root of 3."""
    mean, half = peer_study.difference(np.array([2.0, 4, 6]), np.array([1.0, 2, 3]))
    assert (mean, half) == (2.0, pytest.approx(4.3027 / 3**0.5, abs=1e-3))
    assert peer_study.difference(np.ones(1), np.zeros(1))[1] == float("inf")


def test_the_study_of_peers_goes_on_where_it_was_and_says_where_joint_is_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_study, "SIZES", {60: 8})
    monkeypatch.setattr(peer_study, "PREVALENCES", (0.3,))
    monkeypatch.setattr(peer_study, "PEOPLE", {"even": {"skill": 0.9, "spread": 1000.0}})
    config = peer_study.PeerStudyConfig(out=tmp_path, draws=(1,))  # type: ignore[arg-type]
    peer_study.simulated_crowds(config)
    (line,) = (tmp_path / "simulated.jsonl").read_text().splitlines()
    figures = json.loads(line)["figures"]
    assert set(figures) == {"none", "calibrated", "overconfident", "noise"}
    assert {"joint", "majority", "ibcc", "ebcc", "shrunk-votes", "dawid-skene"} < set(figures["none"])
    assert {"joint", "crowdlab", "ibcc-worker", "model alone"} < set(figures["noise"])
    monkeypatch.setattr(peer_study, "_simulated", lambda **_: pytest.fail("done again"))
    peer_study.simulated_crowds(config)
    worse = [
        {"joint": [0.5, 0.5, 1.0, 0.5, 0.1 + n / 100], "ibcc": [0.9, 0.5, 1.0, 0.5, 0.1]} for n in (0, 1)
    ]
    lines = [{"key": {"table": "t"}, "figures": {"none": one}} for one in worse]
    rows = list(peer_study.rendered_table(lines, ["table"]))
    assert [row.endswith("| below |") for row in rows[2:]] == [True, False, False, False, False]
