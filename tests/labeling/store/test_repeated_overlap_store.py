"""Overlap that is decided again after each change, on both databases."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from answering import make_project

from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.aggregation.adaptive_overlap import (
    Decision,
    OverlapConfig,
    OverlapRule,
    TaskStatus,
    decide,
    update_overlap,
)
from dialint.labeling.store import accounts, annotations, gold, leases, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Gold
from dialint.labeling.store.tasks import list_answered_tasks

TAXONOMY = load_taxonomy()
NAMES = tuple(f"d{i}" for i in range(12))
CONFIG = OverlapConfig("p", sure=0.9)


@pytest.fixture
def filled(store: Store, made: Any) -> Store:
    """Tasks that want two answers, at most three."""
    make_project(store, made, len(NAMES), overlap=2, most=3)
    return store


def answer(store: Store, made: Any, who: str, yes: Iterable[str] = (), n: int = 100) -> list[str]:
    """What `who` answered, up to `n` tasks."""
    given = []
    while len(given) < n and (lease := leases.claim(store, who, "p")):
        found = [made.finding()] if lease.dialogue in yes else []
        annotations.submit(store, who, lease.task, lease.token, f"{who} {lease.task} {lease.token}", found)
        given.append(lease.dialogue)
    return given


def decisions(store: Store) -> Counter[Decision]:
    return update_overlap(store, "lea", CONFIG, TAXONOMY)


def wants(store: Store) -> dict[str, int]:
    """Answers wanted of each task with answers."""
    found = store.read(lambda transaction: list_answered_tasks(transaction, "p"))
    return {task.dialogue: task.wanted for task in found}


def test_each_answer_is_decided_on(filled: Store, made: Any) -> None:
    yes = {"d0", "d1", "d2", "d3"}
    answer(filled, made, "ann", yes)
    assert decisions(filled) == {Decision.ASK: 12}
    answer(filled, made, "ben", yes - {"d0"})
    assert decisions(filled) == {Decision.STOP: 11, Decision.ASK: 1}
    answer(filled, made, "cem", yes)
    assert sum(decisions(filled).values()) == 12
    assert wants(filled) == dict.fromkeys(NAMES, 2) | {"d0": 3}


def test_corrections_gold_and_bans_count(filled: Store, made: Any) -> None:
    answer(filled, made, "ann", {"d0", "d1", "d2", "d3"})
    answer(filled, made, "ben", {"d1", "d2", "d3"})
    begin = decisions(filled)
    mine = next(one for one in annotations.list_annotations(filled, "rob", "d5") if one.labeler == "ann")
    annotations.correct(filled, "ann", int(mine.id), "changed", [made.finding()])
    corrected = decisions(filled)
    assert begin == corrected + Counter({Decision.STOP: 1}) - Counter({Decision.ASK: 1})
    gold.set_gold(filled, "eve", Gold(dialogue="d0", turn=1, code="C1", present=True, source="expert"))
    assert decisions(filled)[Decision.STOP] == corrected[Decision.STOP] + 1
    accounts.ban(filled, "lea", "ben", "answers at random")
    assert decisions(filled) == {Decision.ASK: 12}  # ann alone is left, one fewer than the minimum


def test_who_decided_from_fewer_answers_does_not_overwrite(filled: Store, made: Any) -> None:
    """Ben's answer came, and the task is to have a third, while somebody still decides from ann's alone."""
    answer(filled, made, "ann")
    old = filled.read(lambda transaction: list_answered_tasks(transaction, "p", ["d0"]))
    assert answer(filled, made, "ben", {"d0"}, n=1) == ["d0"]
    tasks.set_wanted(filled, "lea", 1, 3)
    assert decide(filled, "lea", OverlapRule(1, 3, 0.9), old, {("d0", None): TaskStatus(1.0, ())}) == {
        Decision.STOP: 1
    }
    assert wants(filled)["d0"] == 3
    new = filled.read(lambda transaction: list_answered_tasks(transaction, "p", ["d0"]))
    decide(filled, "lea", OverlapRule(1, 3, 0.9), new, {("d0", None): TaskStatus(1.0, ())})
    assert wants(filled)["d0"] == 2
