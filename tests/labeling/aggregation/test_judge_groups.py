"""Judges who err together: simulated copies of one opinion, whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from answer_tables import from_rows
from numpy.typing import NDArray

from dialint.detector.errors import InputRefused
from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.aggregation.crowd_tables import read_answers
from dialint.labeling.aggregation.methods import aggregate_answers, dawid_skene, grouped_posterior
from dialint.labeling.aggregation.posterior import normalise

TASKS = 1000


def copies(seed: int, people: float) -> tuple[Answers, NDArray[np.int64]]:
    """Three judges who repeat, in 95 of 100 tasks, one opinion that is right in 75; and of a share of the tasks the
    answers of two people, each right in 90."""
    random = np.random.default_rng(seed)
    truth = (random.random(TASKS) < 0.3).astype(np.int64)
    opinion = np.where(random.random(TASKS) < 0.75, truth, 1 - truth)
    rows = []
    for task in range(TASKS):
        for judge in range(3):
            answer = opinion[task] if random.random() < 0.95 else 1 - opinion[task]
            rows.append((f"t{task}", f"judge{judge}", str(answer)))
        if random.random() < people:
            for person in ("ann", "ben"):
                answer = truth[task] if random.random() < 0.9 else 1 - truth[task]
                rows.append((f"t{task}", person, str(answer)))
    answers = from_rows(rows, ("0", "1"))
    groups = tuple("one base" if name.startswith("judge") else "" for name in answers.workers)
    return Answers(**{**answers.__dict__, "groups": groups}), truth


def sure_and_right(
    probabilities: NDArray[np.float64], truth: NDArray[np.int64]
) -> tuple[float, float, float]:
    """Mean probability of the winner, how often it is right, and the share of tasks over .99 sure and wrong."""
    winner, certainty = probabilities.argmax(axis=1), probabilities.max(axis=1)
    wrong = (certainty > 0.99) & (winner != truth)
    return float(certainty.mean()), float((winner == truth).mean()), float(wrong.mean())


@pytest.mark.parametrize("people", [0.0, 0.3])
def test_copies_of_one_opinion_are_no_proof(people: float) -> None:
    """Dawid-Skene is over .99 sure and wrong in a tenth or more of the tasks; the group is as sure as it is right."""
    answers, truth = copies(0, people)
    certainty, right, wrong = sure_and_right(dawid_skene(answers).probabilities, truth)
    assert wrong > 0.1
    assert certainty > right + 0.1
    certainty, right, wrong = sure_and_right(aggregate_answers(answers, "joint").probabilities, truth)
    assert wrong < 0.005
    assert certainty == pytest.approx(right, abs=0.07)


def test_gold_corrects_what_a_group_of_two_says_by_hand() -> None:
    """Two judges who always agree are right in 3 of 4 gold tasks of either answer. By symmetry offsets are 0 and
    each weight moves by d, so that the log odds of a yes of both are log 2 + 4 d and 16 d = 3 - 4 p: p = .6817."""
    answered, true = "yyyynnnnyn", "yyynnnny"
    rows = [(f"t{task}", judge, label) for task, label in enumerate(answered) for judge in "ab"]
    answers = replace(from_rows(rows, ("n", "y")), groups=("one", "one"))
    gold = np.array(["ny".index(label) for label in true] + [-1, -1])
    probabilities = aggregate_answers(answers, "joint", gold=gold).probabilities
    assert probabilities[:8].argmax(axis=1).tolist() == gold[:8].tolist()
    assert probabilities[8:, 1] == pytest.approx([0.6817, 0.3183], abs=1e-4)


def log_loss(probabilities: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    return float(-np.log(np.maximum(probabilities[np.arange(len(truth)), truth], 1e-3)).mean())


def test_with_gold_the_pool_is_better_than_its_best_source() -> None:
    """Sixty known tasks, copies and a scan that is right in 80 of 100 and states log odds of three times that and
    one more: better than a scan that states .8, and than one opinion by its true rates. A scan that says nothing
    is found out."""
    losses = []
    for seed in range(3):
        answers, truth = copies(seed, 0.0)
        random = np.random.default_rng(100 + seed)
        says_yes = np.where(random.random(TASKS) < 0.8, truth, 1 - truth)
        yes = 1 / (1 + np.exp(-3 * np.log(4) * (2 * says_yes - 1) - 1))
        scan = np.column_stack([1 - yes, yes])
        gold = np.where(np.arange(TASKS) < 60, truth, -1)
        majority = answers.votes().argmax(axis=1)
        opinion = normalise(np.eye(2)[truth].T @ np.eye(2)[majority]).T
        opinion = normalise(opinion * [0.7, 0.3])[majority]
        sources = (scan, np.abs(np.column_stack([says_yes, 1 - says_yes]) - 0.2), opinion)
        pools = [grouped_posterior(answers, each, gold) for each in (scan, None, random.permutation(scan))]
        assert [each.assumptions and each.assumptions["use"] for each in pools[:2]] == [
            "recalibrated",
            "none",
        ]
        tables = (*sources, dawid_skene(answers).probabilities, *(each.probabilities for each in pools))
        losses.append([log_loss(each[60:], truth[60:]) for each in tables])
        certainty, right, wrong = sure_and_right(pools[1].probabilities[60:], truth[60:])
        assert certainty == pytest.approx(right, abs=0.07)
        assert wrong == 0
    stated, recalibrated, opinion, dawid, pool, alone, noise = np.mean(losses, axis=0)
    assert pool < min(stated, recalibrated, opinion, dawid) - 0.04
    assert alone < opinion + 0.03 < dawid - 0.1
    assert noise < alone + 0.03


def test_people_count_as_they_were_estimated_where_no_gold_has_their_answers() -> None:
    answers, truth = copies(1, 0.3)
    by_people = np.isin(np.arange(TASKS), answers.task[answers.worker >= 3])
    gold = np.where(~by_people & (np.cumsum(~by_people) <= 60), truth, -1)
    probabilities = grouped_posterior(answers, gold=gold).probabilities[by_people]
    certainty, right, _ = sure_and_right(probabilities, truth[by_people])
    assert right > 0.88
    assert certainty == pytest.approx(right, abs=0.05)


def test_a_scan_counts_beside_the_group_if_it_says_something() -> None:
    answers, truth = copies(2, 0.2)
    random = np.random.default_rng(0)
    yes = np.where(random.random(TASKS) < 0.9, truth, 1 - truth) * 0.8 + 0.1
    scan = np.column_stack([1 - yes, yes])
    scan[:10] = np.nan
    with_scan, noise = (grouped_posterior(answers, model) for model in (scan, random.permutation(scan)))
    assert with_scan.assumptions is not None
    assert noise.assumptions is not None
    assert (with_scan.assumptions["use"], noise.assumptions["use"]) == ("calibrated", "none")
    plain = grouped_posterior(answers).probabilities
    assert noise.probabilities == pytest.approx(plain)
    right = [(one.argmax(axis=1) == truth).mean() for one in (with_scan.probabilities, plain)]
    assert right[0] > right[1] + 0.05


def test_groups_come_from_the_table(tmp_path: Path) -> None:
    path = tmp_path / "crowd.csv"
    path.write_text(
        "task,worker,label,group\nt1,a,yes,gpt\nt1,b,yes,gpt\nt1,ann,no,\nt2,a,no,gpt\nt2,b,yes,gpt\n"
    )
    answers = read_answers(path)[""]
    assert answers.groups == ("gpt", "gpt", "")
    assert answers.group_indices().tolist() == [0, 0, 1]
    assert answers.where(answers.worker > 0).compact().groups == ("gpt", "")
    assert aggregate_answers(answers, "joint").probabilities.shape == (2, 2)
    path.write_text("task,worker,label,group\nt1,a,yes,gpt\nt2,a,no,other\n")
    with pytest.raises(InputRefused, match=r"line 3.*another group"):
        read_answers(path)
