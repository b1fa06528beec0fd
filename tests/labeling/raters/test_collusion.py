"""Pairs and groups with one sheet, and honest people who only look like it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from answer_tables import AnomalousCrowd, AnomalousCrowdPlan, from_rows, simulate_anomalous_crowd

from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.raters import collusion
from dialint.labeling.raters.anomalies import find_anomalies
from dialint.labeling.raters.collusion import (
    WorkerPairs,
    combine_fits,
    compare_pairs,
    find_groups,
    log_binomial_tail,
)
from dialint.labeling.raters.competence import leave_one_out


def accused(answers: Answers) -> set[str]:
    flags = find_anomalies({"": answers}).flags
    return {name for flag in flags if flag.kind == "copying" for name in flag.workers}


def colluders(crowd: AnomalousCrowd) -> set[str]:
    return {f"w{n}" for n in np.flatnonzero(crowd.group >= 0)}


def test_too_many_answer_pairs_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = simulate_anomalous_crowd(AnomalousCrowdPlan(n_tasks=400, n_workers=20, per_task=6, seed=2))
    whole = compare_pairs([leave_one_out(crowd.answers, "homogeneous")])
    monkeypatch.setattr(collusion, "MAX_ANSWER_PAIRS", 1500)
    part = compare_pairs([leave_one_out(crowd.answers, "homogeneous")])
    assert whole.n_shared.sum() == 400 * 15
    assert part.n_shared.sum() == pytest.approx(1500, rel=0.1)
    assert part.expected_same.sum() / part.n_shared.sum() == pytest.approx(
        whole.expected_same.sum() / whole.n_shared.sum(), rel=0.1
    )


def test_log_tail_by_hand_and_far_out() -> None:
    """2 of 3 with coins of one half: 1/2. 1,000 of 1,000: 1,000 log 1/2, though no float holds the half of it."""
    hits, expected, trials = np.array([[2, 1000, 3000, 1], [1.5, 500, 1500, 1], [3, 1000, 3000, 3]], float)
    logs = log_binomial_tail(hits, expected, trials)
    assert logs == pytest.approx([np.log(0.5), -1000 * np.log(2), -3000 * np.log(2), 0.0])


def test_pairs_of_honest_people_are_calibrated() -> None:
    """Hard items and a decoy on each: agreement is as foretold, and small p-values are as rare as they say."""
    for seed, difficulty in ((1, 0.0), (2, 1.5), (3, 2.5)):
        plan = AnomalousCrowdPlan(n_tasks=2000, n_workers=40, difficulty=difficulty, seed=seed)
        answers = simulate_anomalous_crowd(plan).answers
        forms = ("heterogeneous", "homogeneous")
        pairs = combine_fits(*(compare_pairs([leave_one_out(answers, form)]) for form in forms))
        assert pairs.n_same.sum() == pytest.approx(pairs.expected_same.sum(), rel=0.04)
        assert (pairs.p_value < 0.01).mean() <= 0.01
        assert (pairs.p_value < 0.2).mean() > 0.05


@pytest.mark.parametrize("plan", [
    AnomalousCrowdPlan(colluders=0.1, n_labels=2),
    AnomalousCrowdPlan(colluders=0.1, sheet_skill=0.8),
    AnomalousCrowdPlan(colluders=0.1, spammers=0.2, difficulty=2.0),
    AnomalousCrowdPlan(colluders=0.1, groups=2, n_workers=60, n_tasks=3000),
])  # fmt: skip
def test_groups_are_found_and_nobody_else_is(plan: AnomalousCrowdPlan) -> None:
    crowd = simulate_anomalous_crowd(replace(plan, seed=21))
    names, guilty = accused(crowd.answers), colluders(crowd)
    assert len(names & guilty) >= 0.8 * len(guilty)
    assert len(names - guilty) <= 0.02 * plan.n_workers


def test_the_best_two_among_careless_people_are_no_conspiracy() -> None:
    """Seven people, four at an item: the good ones agree with each other and not with the rest."""
    random = np.random.default_rng(3)
    skills = {"ann": 0.9, "bea": 0.85, "cid": 0.8, "dan": 0.75, "eve": 0.5, "fox": 0.95, "gus": None}
    rows = []
    for task, truth in enumerate(random.random(430) < 0.2):
        for who in random.choice(sorted(skills), 4, replace=False):
            skill = skills[who]
            yes = False if skill is None else truth == (random.random() < skill)
            rows.append((f"t{task}", str(who), "yes" if yes else "no"))
    assert accused(from_rows(rows)) == set()


def test_who_knows_the_same_things_is_not_accused() -> None:
    """Two trades: each half of the crowd is right in its own half of the items and guesses in the other."""
    random = np.random.default_rng(4)
    crowd = simulate_anomalous_crowd(AnomalousCrowdPlan(n_tasks=2000, n_workers=40, n_labels=2, seed=6))
    answers = crowd.answers
    own = (answers.task % 2) == (answers.worker % 2)
    right = random.random(len(answers)) < np.where(own, 0.97, 0.7)
    label = np.where(right, crowd.truth[answers.task], 1 - crowd.truth[answers.task]).astype(np.int32)
    assert accused(replace(answers, label=label)) == set()


def test_one_copies_the_other() -> None:
    """A pair in a small fixed crowd, everybody at every item."""
    crowd = simulate_anomalous_crowd(
        AnomalousCrowdPlan(n_tasks=300, n_workers=10, per_task=10, n_labels=3, seed=7)
    )
    answers = crowd.answers
    order = np.lexsort((answers.worker, answers.task))
    table = answers.label[order].reshape(300, 10).copy()
    follows = np.random.default_rng(0).random(300) < 0.9
    table[:, 4] = np.where(follows, table[:, 9], table[:, 4])
    copied = replace(
        answers, task=answers.task[order], worker=answers.worker[order], label=table.reshape(-1), seconds=None
    )
    assert accused(copied) == {"w4", "w9"}
    assert accused(answers) == set()


def test_who_agrees_on_right_answers_alone_is_not_accused() -> None:
    """90 of 100 together where 50 are chance; wrong together 5 times as by chance, or 30 times."""
    answers = from_rows([(f"t{n}", who, "x") for n in range(100) for who in "ab"])
    one = np.ones(1)
    table = {"first": np.array([0]), "second": np.array([1]), "n_shared": 100 * one, "n_same": 90 * one}
    rest = {
        "expected_same": 50 * one,
        "expected_same_wrong": 5 * one,
        "p_value": 1e-17 * one,
        "dispersion": 1.0,
    }
    codes = [leave_one_out(answers, "homogeneous")]
    assert find_groups(WorkerPairs(**table, **rest, n_same_wrong=5 * one), codes) == []
    (group,) = find_groups(WorkerPairs(**table, **rest, n_same_wrong=30 * one), codes)
    assert (group.workers, group.n_shared, group.n_same, group.n_same_wrong) == ((0, 1), 100, 90, 30)
    assert group.p_value == pytest.approx(1e-17)


@pytest.mark.parametrize(("n_labels", "disputed"), [(2, 0.45), (3, 0.3)])
def test_a_second_school_is_no_conspiracy_and_hides_none(n_labels: int, disputed: float) -> None:
    """0.4 of the crowd read a part of the tasks otherwise than 0.5; a tenth share a sheet. Of seeds 20 to 29 with
    a few disputed tasks the school is named in six, the sheet in all."""
    plan = AnomalousCrowdPlan(colluders=0.1, second_school=0.4, disputed=disputed, n_labels=n_labels, seed=25)
    crowd = simulate_anomalous_crowd(plan)
    anomalies = find_anomalies({"": crowd.answers})
    pupils = {f"w{n}" for n in np.flatnonzero(crowd.school)}
    assert accused(crowd.answers) == colluders(crowd)
    (school,) = (flag for flag in anomalies.flags if flag.kind == "second school")
    assert len(set(school.workers) & pupils) >= 0.8 * len(pupils)
    assert len(set(school.workers) - pupils) <= 1
    assert "instructions" in school.why
    assert not school.personal
    personal = {name for flag in anomalies.flags if flag.personal for name in flag.workers}
    assert personal <= colluders(crowd)


def test_a_school_is_more_than_a_third_with_all_of_its_mind() -> None:
    """Nine people, all pairs 100 times at one item: 50 in common are chance, and the members' excess is 40.
    With d, whose excess is 40 / 3, the three are four of nine; with 13 they are three: no more than a third."""
    answers = from_rows([(f"t{n}", who, "x") for n in range(100) for who in "abcdefghi"])
    first, second = np.triu_indices(9, k=1)
    inside = second < 3

    def find(of_d: float) -> tuple[tuple[int, ...], bool]:
        same = np.where(inside, 90.0, np.where((second == 3) & (first < 3), 50 + of_d, 50.0))
        expected, shared, few = np.full(36, 50.0), np.full(36, 100.0), np.full(36, 5.0)
        p_value = np.where(inside, 1e-17, 1.0)
        table = WorkerPairs(
            first, second, shared, same, expected, np.where(inside, 30.0, 5.0), few, p_value, 1.0
        )
        (group,) = find_groups(table, [leave_one_out(answers, "homogeneous")])
        return group.workers, group.school

    assert find(40 / 3 + 1e-9) == ((0, 1, 2, 3), True)
    assert find(13.0) == ((0, 1, 2), False)
