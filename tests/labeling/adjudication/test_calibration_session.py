"""A calibration round from its start to its report, on both databases; strict and lenient people, by hand and made
with a known leaning."""

import math
from dataclasses import replace

import make
import numpy as np
import pytest
from answering import answer_all

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.adjudication.calibration_session import (
    ALL,
    CalibrationConfig,
    load_results,
    rater_biases,
    start_session,
)
from dialint.labeling.aggregation.dialogue_answers import CodeAnswers, CollectedAnswers, Span, TaskItem
from dialint.labeling.store import dialogues
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NotAllowed

TAXONOMY = load_taxonomy()
GROUP = ("ann", "ben", "rob")
NAMES = [f"d{i:02}" for i in range(24)]


@pytest.fixture
def group(store: Store) -> Store:
    dialogues.add(store, "lea", [make.dialogue(name) for name in NAMES])
    return store


def test_the_same_dialogues_to_all_and_a_report(group: Store) -> None:
    config = CalibrationConfig(name="w1", codes=("C1", "T1"), members=GROUP, n=10)
    started = start_session(group, "lea", config, TAXONOMY)
    assert (started.people, started.tasks) == (GROUP, 10)
    assert start_session(group, "lea", config, TAXONOMY) == started
    seen = answer_all(group, "ann", NAMES, "w1")
    assert len(set(seen)) == 10
    for who in ("ben", "rob"):
        assert sorted(answer_all(group, who, seen[::2], "w1")) == sorted(seen)

    start_session(group, "lea", CalibrationConfig(name="w2", codes=("C1",), members=GROUP, n=10), TAXONOMY)
    for who in GROUP:
        answer_all(group, who, NAMES[::2], "w2")
    results = load_results(group, "lea", "w2", "w1", TAXONOMY)
    (agreement,) = results.agreement
    assert agreement.before is not None
    assert agreement.now.value == 1.0 > agreement.before.value
    first = load_results(group, "lea", "w1", None, TAXONOMY)
    leans = {one.worker: one.leans for one in first.biases if one.code == "C1"}
    assert leans == {"ann": "strict", "ben": "lenient", "rob": "lenient"}
    ann = next(one for one in first.biases if (one.worker, one.code) == ("ann", "C1"))
    assert (ann.yes, ann.others, ann.difference.value) == (1.0, 0.5, 0.5)
    assert math.isnan(first.agreement[1].now.value), "nobody ever found T1"


def test_a_round_needs_dialogues_and_answers(group: Store) -> None:
    config = CalibrationConfig(name="w", codes=("C1",), members=GROUP, n=24)
    with pytest.raises(ConfigError, match="24"):
        start_session(group, "lea", replace(config, n=25), TAXONOMY)
    assert start_session(group, "lea", config, TAXONOMY).tasks == 24
    with pytest.raises(ConfigError, match="no answers"):
        load_results(group, "lea", "w", None, TAXONOMY)
    with pytest.raises(NotAllowed):
        start_session(group, "rob", CalibrationConfig(name="v", codes=("C1",), members=GROUP), TAXONOMY)


def marked(row: dict[str, bool]) -> dict[str, tuple[Span, ...]]:
    return {who: ((1, 0, 4),) if yes else () for who, yes in row.items()}


def collected(votes: dict[str, list[dict[str, bool]]]) -> CollectedAnswers:
    """`votes` by code: one dialogue with one turn for each row."""
    codes = {
        code: CodeAnswers({TaskItem(f"d{place}", 1): marked(row) for place, row in enumerate(rows)})
        for code, rows in votes.items()
    }
    people = sorted({who for rows in votes.values() for row in rows for who in row})
    return CollectedAnswers(codes, {who: place for place, who in enumerate(people)}, {})


def test_differences_by_hand() -> None:
    """Ann says yes twice of three; of the same ben and cem say yes to 1/2, 0 and 1: 2/3 - 1/2 = 1/6."""
    rows = [
        {"ann": True, "ben": True, "cem": False}, {"ann": True, "ben": False, "cem": False},
        {"ann": False, "ben": True, "cem": True}, {"dot": True},
    ]  # fmt: skip
    by_key = {(one.worker, one.code): one for one in rater_biases(collected({"C1": rows}))}
    ann = by_key["ann", "C1"]
    assert (ann.n, ann.difference.n) == (3, 3)
    assert (ann.yes, ann.others) == (pytest.approx(2 / 3), pytest.approx(1 / 2))
    assert ann.difference.value == pytest.approx(1 / 6)
    assert ann.leans == "too few"
    assert ("dot", "C1") not in by_key, "nobody else answered that"
    assert sum(by_key[who, "C1"].difference.value for who in ("ann", "ben", "cem")) == pytest.approx(0.0)


def test_dialogues_are_counted_not_turns() -> None:
    answers = CodeAnswers({TaskItem("d", turn): marked({"ann": True, "ben": False}) for turn in range(30)})
    (first, *_) = rater_biases(CollectedAnswers({"C1": answers}, {"ann": 0, "ben": 1}, {}))
    assert (first.n, first.difference.n, first.leans) == (30, 1, "too few")


def test_a_strict_and_a_lenient_person_are_found() -> None:
    """40 items, a third errors; strict adds a yes to a third of the rest, lenient drops half."""
    random = np.random.default_rng(2)
    rows = []
    for there in random.random(40) < 1 / 3:
        row = {who: bool(there) for who in ("e1", "e2", "e3")}
        row["strict"] = bool(there or random.random() < 0.35)
        row["lenient"] = bool(there and random.random() < 0.5)
        rows.append(row)
    leans = {one.worker: one.leans for one in rater_biases(collected({"C1": rows})) if one.code == "C1"}
    assert leans == {"strict": "strict", "lenient": "lenient", "e1": "even", "e2": "even", "e3": "even"}


def test_even_people_seldom_seem_to_lean() -> None:
    """60 groups of three who err alike, 20 dialogues: at most 12 % of 180 are said to lean."""
    random, leaning = np.random.default_rng(4), 0
    for seed in range(60):
        truth = random.random(20) < 0.4
        rows = [{who: bool(there) != (random.random() < 0.2) for who in "abc"} for there in truth]
        biases = rater_biases(collected({"C1": rows}), rounds=300, seed=seed)
        leaning += sum(one.leans != "even" for one in biases if one.code == "C1")
    assert 0 < leaning <= 0.12 * 180


def test_all_codes_together_come_first() -> None:
    rows = [{"ann": True, "ben": False}] * 9
    biases = rater_biases(collected({"C1": rows, "T1": [{"ann": False, "ben": True}] * 9}))
    assert [(one.worker, one.code) for one in biases] == [
        ("ann", ALL), ("ann", "C1"), ("ann", "T1"), ("ben", ALL), ("ben", "C1"), ("ben", "T1"),
    ]  # fmt: skip
    assert [one.leans for one in biases[:3]] == ["even", "strict", "lenient"]
