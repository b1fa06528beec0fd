"""Judges who err together: simulated copies of one opinion, whose truth is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from answer_tables import from_rows
from numpy.typing import NDArray

from dialint.detector.errors import InputRefused
from dialint.labeling.aggregation.answers import Answers
from dialint.labeling.aggregation.crowd_tables import read_answers
from dialint.labeling.aggregation.methods import aggregate_answers, dawid_skene, grouped_posterior

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


def test_gold_shows_how_good_a_group_is() -> None:
    """Sixty known tasks: the others are as sure as they are right."""
    answers, truth = copies(1, 0.0)
    gold = np.where(np.arange(TASKS) < 60, truth, -1)
    probabilities = grouped_posterior(answers, gold=gold).probabilities
    assert (probabilities[:60].argmax(axis=1) == truth[:60]).all()
    certainty, right, wrong = sure_and_right(probabilities[60:], truth[60:])
    assert certainty == pytest.approx(right, abs=0.05)
    assert wrong == 0


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
