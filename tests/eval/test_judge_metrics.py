"""Figures of a judge by hand, in resampled rounds, and the paired difference of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from dialint.detector.statistics import bootstrap_counts
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.judge import judge_difference, judge_figures, summarize_judge
from dialint.eval.judge_measure import Comparison, ErrorRow

TURNS = {"a": 4, "b": 6, "c": 10}


def row(source: str, turn: int, code: str, truth: float, probability: float | None, **more: Any) -> ErrorRow:
    return ErrorRow(
        source=source, dialogue=source, turn=turn, code=code, truth=truth, probability=probability, **more
    )


def comparison(*rows: ErrorRow, **more: Any) -> Comparison:
    return Comparison(rows=rows, turns=TURNS, n_dialogues=4, **more)


ROWS = (
    row("a", 1, "T1", 1.0, 0.9, overlap=0.5),
    row("a", 1, "C1", 0.0, 0.8),  # another code on a turn with an error
    row("a", 3, "V2", 0.7, 0.5),  # no evidence is labelled
    row("b", 1, "T1", 0.4, 0.6),  # people doubt it: no error
    row("b", 3, "R1", 1.0, 0.4),  # listed, but no accusation
    row("c", 1, "T1", 1.0, None),  # not listed
)


def sample(rows: Sequence[ErrorRow], codes: set[str] | None = None) -> dict[str, float]:
    figures = judge_figures(comparison(*rows), codes, rounds=0)
    return {name: float(values[0]) for name, values in figures.items()}


def test_figures_by_hand() -> None:
    """Accused are the first four, two of them right; four of the rows are errors."""
    figures = sample(ROWS)
    assert figures["precision"] == figures["recall"] == figures["f1"] == figures["f_half"] == 0.5
    assert figures["right_turns"] == 0.75
    assert figures["false_accusations_per_100_turns"] == pytest.approx(100 * 2 / 20)
    assert figures["quote_overlap"] == 0.5
    stated, truth = np.array([0.9, 0.8, 0.5, 0.6, 0.4]), np.array([1.0, 0.0, 0.7, 0.4, 1.0])
    assert figures["brier"] == pytest.approx(np.mean((stated - truth) ** 2))
    assert figures["calibration_error"] == pytest.approx(np.mean(abs(stated - truth)))
    # found by probability: 1 of 1, 2 of 4, 3 of 5; the fourth error never
    assert figures["average_precision"] == pytest.approx((1 + 2 / 4 + 3 / 5) / 4)


def test_a_false_accusation_costs_more_than_a_missed_error() -> None:
    missed = sample([row("a", 1, "T1", 1.0, 0.9), row("b", 1, "T1", 1.0, None)])
    false = sample([row("a", 1, "T1", 1.0, 0.9), row("b", 1, "T1", 0.0, 0.9)])
    assert missed["f1"] == false["f1"]
    assert false["f_half"] < false["f1"] < missed["f_half"]


def test_who_accuses_nobody_gains_nothing() -> None:
    figures = sample([row("a", 1, "T1", 1.0, None)])
    assert (figures["recall"], figures["f_half"], figures["average_precision"]) == (0.0, 0.0, 0.0)
    assert np.isnan(figures["precision"])
    assert all(np.isnan(sample([row("a", 1, "T1", 0.0, 0.9)])[name]) for name in ("recall", "f_half", "f1"))


def test_a_round_is_the_figure_of_the_dialogues_that_it_drew() -> None:
    values = judge_figures(comparison(*ROWS), rounds=8, seed=3)
    for number, counts in enumerate(bootstrap_counts(3, 8, 3)):
        times = dict(zip("abc", counts, strict=True))
        sample = [each for each in ROWS for _ in range(times[each.source])]
        accused = [each for each in sample if (each.probability or 0) >= 0.5]
        n_turns = sum(n * TURNS[source] for source, n in times.items())
        wrong = sum(not each.is_error for each in accused)
        assert values["false_accusations_per_100_turns"][number] == pytest.approx(100 * wrong / n_turns)
        listed = [each for each in sample if each.probability is not None]
        n_errors = sum(each.is_error for each in sample)
        n_listed_errors = sum(each.is_error for each in listed)
        if n_listed_errors:
            own = average_precision_score([e.is_error for e in listed], [e.probability for e in listed])
            assert values["average_precision"][number] == pytest.approx(own * n_listed_errors / n_errors)


def test_a_report_has_intervals_families_and_severities() -> None:
    report = summarize_judge(
        comparison(*ROWS, n_unread=1, failures={"E_ANSWER": 1}, n_second_looks=2), load_taxonomy(), rounds=50
    )
    counts = ("errors", "listed", "accusations", "dialogues", "turns", "second_looks", "readable")
    assert [report[name] for name in counts] == [4, 5, 4, 4, 20, 2, 0.75]
    low, high = report["precision_95"]
    assert low < 0.5 < high
    assert {name: own["errors"] for name, own in report["by_family"].items()} == {"CR": 1, "V": 1, "T": 2}
    assert report["by_family"]["T"]["recall"] == 0.5
    severity = load_taxonomy().codes["V2"].severity
    assert report["by_severity"][severity]["recall"] == 1.0
    assert sum(own["accusations"] for own in report["by_severity"].values()) == 4


def test_a_difference_is_paired_by_dialogue() -> None:
    mine, theirs = comparison(*ROWS), comparison(*ROWS[:-1], row("c", 1, "T1", 1.0, 0.9))
    same = judge_difference(mine, mine, rounds=50)
    assert all(own["difference"] == 0.0 == own["low"] == own["high"] for own in same.values())
    gained = judge_difference(theirs, mine, rounds=50)["recall"]
    assert gained["difference"] == 0.25
    assert gained["low"] is not None
    assert gained["low"] >= 0  # in no round does it find less
    with pytest.raises(ValueError, match="same dialogues"):
        judge_difference(mine, mine.model_copy(update={"turns": {"a": 4}}))
