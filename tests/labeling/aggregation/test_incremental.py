"""New answers without a refit, against the refit.

Tolerance: with 5 % new answers, the mean distance of a touched task's probability from the full refit's is
below 0.02, 95 % are within 0.08, and no task changes its winner unless it is near even.
"""

from __future__ import annotations

import numpy as np
import pytest

from dialint.detector.errors import InputRefused
from dialint.labeling.aggregation.answers import Answers, from_rows
from dialint.labeling.aggregation.incremental import IncrementalPosterior
from dialint.labeling.aggregation.joint import Assumptions, fit_joint
from dialint.labeling.simulation.answer_tables import CrowdPlan, simulate_crowd

PLAN = CrowdPlan(n_tasks=1500, n_workers=40, n_labels=3, per_task=5, skill=0.7, spread=6, seed=3)


def names(answers: Answers) -> list[tuple[str, str, str]]:
    return [
        (answers.tasks[t], answers.workers[w], answers.labels[x])
        for t, w, x in zip(answers.task, answers.worker, answers.label, strict=True)
    ]


@pytest.mark.parametrize(
    "assumptions", [Assumptions(float("inf"), "homogeneous"), Assumptions(100.0, "heterogeneous")]
)
def test_close_to_the_full_refit(assumptions: Assumptions) -> None:
    crowd = simulate_crowd(PLAN)
    late = np.random.default_rng(1).random(len(crowd.answers)) < 0.05
    early = crowd.answers.where(~late)
    running = IncrementalPosterior(fit_joint(early, None, assumptions), early)
    rows = names(crowd.answers.where(late))
    found: dict[str, np.ndarray] = {}
    for start in range(0, len(rows), 20):
        found |= running.update(rows[start : start + 20])
    full = fit_joint(crowd.answers, None, assumptions).posterior()
    place = {task: n for n, task in enumerate(crowd.answers.tasks)}
    distance = np.array([np.abs(p - full.probabilities[place[task]]).max() for task, p in found.items()])
    assert len(found) > 200
    assert distance.mean() < 0.02
    assert np.quantile(distance, 0.95) < 0.08
    flipped = [full.confidence[place[t]] for t, p in found.items() if p.argmax() != full.winners[place[t]]]
    assert all(confidence < 0.75 for confidence in flipped)


def test_an_update_moves_its_tasks_and_workers_only() -> None:
    crowd = simulate_crowd(PLAN)
    running = IncrementalPosterior(
        fit_joint(crowd.answers, None, Assumptions(100.0, "homogeneous")), crowd.answers
    )
    before = {task: running.probabilities(task) for task in crowd.answers.tasks}
    found = running.update([("t0", "new", "l1"), ("t1", "new", "l1")])
    assert set(found) == {"t0", "t1"}
    assert found["t0"][1] > before["t0"][1]
    assert all((running.probabilities(t) == before[t]).all() for t in before if t not in found)


def test_new_tasks_begin_with_what_the_model_says() -> None:
    crowd = simulate_crowd(PLAN)
    shares = np.full((1500, 3), 0.1)
    shares[np.arange(1500), crowd.truth] = 0.8
    running = IncrementalPosterior(
        fit_joint(crowd.answers, shares, Assumptions(float("inf"), "homogeneous")), crowd.answers
    )
    found = running.update([("x", "w1", "l0"), ("y", "w1", "l0")], {"x": (0.9, 0.05, 0.05)})
    assert found["x"][0] > found["y"][0] + 0.05


def test_a_second_answer_takes_the_place_of_the_first() -> None:
    """To the same end as if it had never been given; while it stands it does count."""
    crowd = simulate_crowd(PLAN)
    late = np.arange(len(crowd.answers)) >= 7490
    early, rows = crowd.answers.where(~late), names(crowd.answers.where(late))
    fit = fit_joint(early, None, Assumptions(100.0, "homogeneous"))
    once, twice = IncrementalPosterior(fit, early), IncrementalPosterior(fit, early)
    wrong = [(task, worker, "l0" if label != "l0" else "l1") for task, worker, label in rows]
    twice.update(wrong)
    twice.update(rows[:5])
    twice.update(rows)
    expected = once.update(rows)
    assert all(np.abs(twice.probabilities(task) - p).max() < 0.005 for task, p in expected.items())
    changed = IncrementalPosterior(fit, early).update(wrong)
    assert any(np.abs(changed[task] - p).max() > 0.05 for task, p in expected.items())


def test_the_same_answer_again_changes_nothing() -> None:
    crowd = simulate_crowd(PLAN)
    running = IncrementalPosterior(
        fit_joint(crowd.answers, None, Assumptions(100.0, "homogeneous")), crowd.answers
    )
    for _ in range(3):
        found = running.update(names(crowd.answers)[:50])
    again = running.update(names(crowd.answers)[:50])
    assert all(again[task] == pytest.approx(found[task], abs=1e-4) for task in found)


def test_the_model_may_take_back_what_it_said() -> None:
    crowd = simulate_crowd(PLAN)
    shares = np.full((1500, 3), 0.1)
    shares[np.arange(1500), crowd.truth] = 0.8
    running = IncrementalPosterior(
        fit_joint(crowd.answers, shares, Assumptions(float("inf"), "homogeneous")), crowd.answers
    )
    silent, row = [float("nan")] * 3, [("x", "w1", "l0")]
    never = running.update([("y", "w1", "l0")], {"y": silent})["y"]
    said = running.update(row, {"x": (0.9, 0.05, 0.05)})["x"]
    assert said[0] > never[0] + 0.05
    assert running.update(row)["x"] == pytest.approx(said, abs=1e-3)
    assert running.update(row, {"x": silent})["x"] == pytest.approx(never, abs=1e-3)


def test_what_is_refused_leaves_no_trace() -> None:
    answers = from_rows([("t1", "a", "x"), ("t1", "b", "y"), ("t2", "a", "y")])
    running = IncrementalPosterior(
        fit_joint(answers, None, Assumptions(float("inf"), "homogeneous")), answers
    )
    before = running.probabilities("t1")
    with pytest.raises(InputRefused, match="E_LABEL"):
        running.update([("t1", "c", "x"), ("new", "c", "z")])
    assert (running.probabilities("t1") == before).all()
    with pytest.raises(KeyError):
        running.probabilities("new")
    assert set(running.update([("t1", "c", "x")])) == {"t1"}
