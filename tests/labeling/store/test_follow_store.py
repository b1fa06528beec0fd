"""Dynamic overlap that follows the answers, on both databases."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest
from answering import make_project

from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.aggregation.adaptive_overlap import OverlapConfig, TaskStatus, decide, follow
from dialint.labeling.aggregation.overlap import Decision, OverlapRule
from dialint.labeling.store import accounts, annotations, gold, leases, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Gold, NotAllowed
from dialint.labeling.store.tasks import list_answered_tasks

TAXONOMY = load_taxonomy()
NAMES = tuple(f"d{i}" for i in range(12))
CONFIG = OverlapConfig("p", sure=0.9, follow=True)


class Ended(Exception):
    """The test ends the following."""


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


def follow_events(store: Store, *events: Callable[[], object]) -> list[list[Counter[Decision]]]:
    """The decisions made before each event, and after the last one until nothing is left."""
    made: list[list[Counter[Decision]]] = [[]]
    left, quiet = list(events), 0

    def wait(seconds: float) -> None:
        nonlocal quiet
        if seconds == 0.0:
            return
        quiet += 1
        if quiet < 4:  # own decisions and the first read are entries of the log as well
            return
        quiet = 0
        if not left:
            raise Ended
        left.pop(0)()
        made.append([])

    with suppress(Ended):
        for decisions in follow(store, "lea", CONFIG, TAXONOMY, wait):
            made[-1].append(decisions)
    return made


def wants(store: Store) -> dict[str, int]:
    """Answers wanted of each task with answers."""
    found = store.read(lambda transaction: list_answered_tasks(transaction, "p"))
    return {task.dialogue: task.wanted for task in found}


def test_each_answer_is_decided_on(filled: Store, made: Any) -> None:
    yes = {"d0", "d1", "d2", "d3"}
    begin, ann, ben, cem = follow_events(
        filled,
        lambda: answer(filled, made, "ann", yes),
        lambda: answer(filled, made, "ben", yes - {"d0"}),
        lambda: answer(filled, made, "cem", yes),
    )
    assert begin == [Counter()]
    assert ann[0] == {Decision.ASK: 12}
    assert ben[0] == {Decision.STOP: 11, Decision.ASK: 1}
    assert sum(cem[0].values()) == 12
    assert wants(filled) == dict.fromkeys(NAMES, 2) | {"d0": 3}
    assert [len(each) for each in (ann, ben, cem)] == [1, 1, 1], "said once until something changes"


def test_corrections_gold_and_bans_are_heard(filled: Store, made: Any) -> None:
    answer(filled, made, "ann", {"d0", "d1", "d2", "d3"})
    answer(filled, made, "ben", {"d1", "d2", "d3"})
    mine = next(one for one in annotations.list_annotations(filled, "rob", "d5") if one.labeler == "ann")
    true = Gold(dialogue="d0", turn=1, code="C1", present=True, source="expert")
    begin, corrected, known, banned = follow_events(
        filled,
        lambda: annotations.correct(filled, "ann", int(mine.id), "changed", [made.finding()]),
        lambda: gold.set_gold(filled, "eve", true),
        lambda: accounts.ban(filled, "lea", "ben", "answers at random"),
    )
    assert begin[-1] == corrected[-1] + Counter({Decision.STOP: 1}) - Counter({Decision.ASK: 1})
    assert known[-1][Decision.STOP] == corrected[-1][Decision.STOP] + 1
    assert banned[-1] == {Decision.ASK: 12}  # ann alone is left everywhere, one fewer than the minimum


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


def test_it_ends_before_the_next_task(filled: Store, made: Any) -> None:
    for who in ("ann", "ben"):
        answer(filled, made, who, {name for name in NAMES if who == "ann"})
    calls = itertools.count()

    def wait(seconds: float) -> None:
        if next(calls) == 5:
            raise Ended

    with pytest.raises(Ended):
        next(follow(filled, "lea", CONFIG, TAXONOMY, wait))
    assert sorted(wants(filled).values()) == [2] * 7 + [3] * 5


def test_rights_are_checked_again(filled: Store, made: Any) -> None:
    with pytest.raises(NotAllowed):
        next(follow(filled, "rob", CONFIG, TAXONOMY, lambda _: None))
    with pytest.raises(NotAllowed):
        follow_events(filled, lambda: accounts.set_status(filled, "ada", "lea", "suspended"))
