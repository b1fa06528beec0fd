"""What is told of a project's answers since a place in the audit log, on both databases."""

import threading
from typing import Any

import pytest
from patience import WAIT_S

from dialint.labeling.store import (
    accounts,
    annotations,
    counted_annotations,
    dialogues,
    gold,
    leases,
    projects,
    tasks,
)
from dialint.labeling.store.database.transactions import Store, Transaction, in_transaction
from dialint.labeling.store.errors import NotAllowed
from dialint.labeling.store.records import Gold, Lease, NewTask, Project

NAMES = ("d0", "d1", "d2")


@pytest.fixture
def filled(store: Store, made: Any) -> Store:
    for project in ("p", "q"):
        projects.create(store, "lea", Project(id=project, codes=("C1",), overlap=2))
    dialogues.add(store, "lea", [made.dialogue(name) for name in NAMES])
    for project in ("p", "q"):
        tasks.add(store, "lea", project, [NewTask(dialogue=name) for name in NAMES])
    return store


def claimed(store: Store, who: str, project: str = "p") -> Lease:
    lease = leases.claim(store, who, project)
    assert lease is not None
    return lease


def answer(store: Store, who: str, *found: Any, project: str = "p") -> int:
    lease = claimed(store, who, project)
    key = f"{who} {lease.task}"
    return int(annotations.submit(store, who, lease.task, lease.token, key, found).id)


def numbers(new: counted_annotations.ChangeSet) -> list[int]:
    return [int(one.id) for one in new.answers]


def test_answers_are_told_once_and_those_of_other_projects_not(filled: Store) -> None:
    begun = counted_annotations.get_last_entry(filled, "lea")
    assert counted_annotations.load_changes(filled, "lea", "p", begun) == counted_annotations.ChangeSet(begun)
    first = answer(filled, "ann")
    answer(filled, "ben", project="q")
    new = counted_annotations.load_changes(filled, "lea", "p", begun)
    assert numbers(new) == [first]
    assert new == counted_annotations.ChangeSet(new.upto, answers=new.answers)
    assert numbers(counted_annotations.load_changes(filled, "lea", "p", new.upto)) == []


def test_only_what_counts_is_told(filled: Store, made: Any) -> None:
    """A correction and not what it corrects; nothing of the banned, of training, of control tasks."""
    begun = counted_annotations.get_last_entry(filled, "lea")
    first = answer(filled, "ann")
    second = int(annotations.correct(filled, "ann", first, "again", [made.finding()]).id)
    answer(filled, "ben")
    accounts.ban(filled, "lea", "ben", "answers at random")
    dialogues.add(filled, "lea", [made.dialogue("t")])
    tasks.add(filled, "lea", "p", [NewTask(dialogue="t", pool="training")])
    lease = leases.claim(filled, "cem", "p", pool="training")
    assert lease is not None
    annotations.submit(filled, "cem", lease.task, lease.token, "training")
    new = counted_annotations.load_changes(filled, "lea", "p", begun)
    assert numbers(new) == [second]
    assert new.people


def test_what_else_is_told(filled: Store, made: Any) -> None:
    begun = counted_annotations.get_last_entry(filled, "lea")
    lease = claimed(filled, "ann")
    leases.release(filled, "ann", lease.task, lease.token)
    lease = claimed(filled, "ben", "q")
    leases.skip(filled, "ben", lease.task, lease.token, "is in Finnish")
    new = counted_annotations.load_changes(filled, "lea", "p", begun)
    assert new == counted_annotations.ChangeSet(new.upto, gave_back=frozenset({"d0"}))
    dialogues.add_verdicts(filled, "lea", [made.verdict("d1", risk=0.5)])
    assert counted_annotations.load_changes(filled, "lea", "p", new.upto).verdicts
    after = counted_annotations.get_last_entry(filled, "lea")
    gold.set_gold(filled, "eve", Gold(dialogue="d1", turn=1, code="C1", present=True, source="expert"))
    assert counted_annotations.load_changes(filled, "lea", "p", after) == counted_annotations.ChangeSet(
        after + 1, gold=True
    )
    accounts.set_status(filled, "lea", "ann", "suspended")
    assert counted_annotations.load_changes(filled, "lea", "p", after + 1) == counted_annotations.ChangeSet(
        after + 2, people=True
    )


def test_too_much_is_told_in_pieces(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_annotations, "PAGE", 2)
    begun = counted_annotations.get_last_entry(filled, "lea")
    given = [answer(filled, who) for who in ("ann", "ben", "cem")]
    first = counted_annotations.load_changes(filled, "lea", "p", begun)
    second = counted_annotations.load_changes(filled, "lea", "p", first.upto)
    assert (numbers(first), first.more, numbers(second), second.more) == (given[:2], True, given[2:], False)


def test_the_newest_release_of_what_was_answered(filled: Store, made: Any) -> None:
    assert counted_annotations.list_newest_releases(filled, "lea", "p") == {}
    answer(filled, "ann")
    for release in ("r1", "r2"):
        found = [made.verdict(name, release=release) for name in NAMES]
        dialogues.add_verdicts(filled, "lea", found)
    assert counted_annotations.list_newest_releases(filled, "lea", "p") == {"d0": "r2"}


def test_who_may_know(filled: Store) -> None:
    for asked in (
        lambda: counted_annotations.get_last_entry(filled, "ann"),
        lambda: counted_annotations.load_changes(filled, "ann", "p", 0),
        lambda: counted_annotations.list_newest_releases(filled, "ann", "p"),
    ):
        with pytest.raises(NotAllowed):
            asked()


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_an_answer_with_a_smaller_number_that_comes_later_is_told(filled: Store) -> None:
    """Ann's answer gets its number first and is committed last. SQLite lets one write at a time."""
    begun = counted_annotations.get_last_entry(filled, "lea")
    saved, go_on = threading.Event(), threading.Event()
    lease = claimed(filled, "ann")

    def slow(transaction: Transaction) -> int:
        one = in_transaction(annotations.submit)(transaction, "ann", lease.task, lease.token, "slow")
        saved.set()
        assert go_on.wait(WAIT_S)
        return int(one.id)

    told: list[int] = []
    thread = threading.Thread(target=lambda: told.append(filled.write(slow)))
    thread.start()
    assert saved.wait(WAIT_S)
    quick = answer(filled, "ben")
    first = counted_annotations.load_changes(filled, "lea", "p", begun)
    go_on.set()
    thread.join(WAIT_S)
    assert numbers(first) == [quick]
    assert told[0] < quick
    assert numbers(counted_annotations.load_changes(filled, "lea", "p", first.upto)) == told
