"""What coaching reads, on both databases: confirmed errors, the others' rates, cleared dialogues, backlog."""

from typing import Any

import pytest

from dialint.labeling.store import accounts, annotations, dialogues, leases, projects, rater_status, tasks
from dialint.labeling.store.backlog import read_backlog
from dialint.labeling.store.coaching import (
    compare_codes,
    count_cleared,
    list_agents,
    list_dialogues,
    read_confirmed,
)
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import NotAllowed, StoreRefused
from dialint.labeling.store.records import Account, NewTask, Project

UNTIL_MS = 2_000_000_000_000


@pytest.fixture
def coached(store: Store, made: Any) -> Store:
    """Of a1: d1 confirmed, d2 rejected, d3 open, d4 clean with an error added. Of a2 to a4 one flagged dialogue
    each, of which e2's was confirmed."""
    accounts.create(store, "ada", Account(id="agnes", role="labeler", agent="a1"))
    mine = [made.dialogue(f"d{n}") for n in (1, 2, 3, 4)]
    theirs = [made.dialogue(f"e{n}", agent=f"a{n}") for n in (2, 3, 4)]
    dialogues.add(store, "lea", [*mine, *theirs])
    flagged = [made.verdict(each.id, made.finding()) for each in (*mine[:3], *theirs)]
    dialogues.add_verdicts(store, "lea", [*flagged, made.verdict("d4")])
    review = annotations.review
    review(store, "rob", "d1", "1", ["C1", "T1"], [made.finding()], expected=None, seconds=30.0)
    review(store, "rob", "d2", "2", ["C1", "T1"], [], expected=None, seconds=10.0)
    review(store, "rob", "d4", "4", ["C1", "T1"], [made.finding("T1")], expected=None, seconds=20.0)
    review(store, "rob", "e2", "5", ["C1", "T1"], [made.finding()], expected=None, seconds=20.0)
    return store


@pytest.mark.parametrize("actor", ["lea", "agnes"])
def test_errors_are_what_people_left_standing(coached: Store, actor: str) -> None:
    listed = {one.dialogue: one for one in list_dialogues(coached, actor, "a1", 0, UNTIL_MS)}
    assert {name: (one.confirmed, one.n_open, one.has_error) for name, one in listed.items()} == {
        "d1": ((("C1", "S2"),), 0, True), "d2": ((), 0, False), "d3": ((), 1, True),
        "d4": ((("T1", "S2"),), 0, True),
    }  # fmt: skip
    found = read_confirmed(coached, actor, "a1", ["d1", "d2", "d3", "d4"])
    assert {name: [(each.finding.code, each.decision) for each in of] for name, of in found.items()} == {
        "d1": [("C1", "confirmed")], "d2": [], "d3": [], "d4": [("T1", "added")],
    }  # fmt: skip
    assert list_dialogues(coached, actor, "a1", 0, 1) == ()


def test_others_are_summed_over_enough_agents(coached: Store) -> None:
    rates = compare_codes(coached, "agnes", "a1", 0, UNTIL_MS, "t1")
    assert (dict(rates.own), rates.own_dialogues) == ({"C1": 1, "T1": 1}, 4)
    assert (dict(rates.other), rates.other_dialogues, rates.n_agents, rates.team) == ({"C1": 1}, 3, 3, "t1")
    lone = compare_codes(coached, "agnes", "a1", 0, UNTIL_MS, "t9")
    assert (dict(lone.other), lone.team) == ({"C1": 1}, None), "of all teams"


def test_too_few_others_are_not_shown(store: Store, made: Any) -> None:
    dialogues.add(store, "lea", [made.dialogue("d1"), made.dialogue("e2", agent="a2")])
    dialogues.add_verdicts(store, "lea", [made.verdict("d1"), made.verdict("e2", made.finding())])
    annotations.review(store, "rob", "e2", "5", ["C1"], [made.finding()], expected=None)
    rates = compare_codes(store, "lea", "a1", 0, UNTIL_MS)
    assert (dict(rates.other), rates.other_dialogues) == ({}, 0)


def test_cleared_dialogues_and_agents(coached: Store) -> None:
    assert count_cleared(coached, "lea", 0, UNTIL_MS) == {"a1": 1}
    assert count_cleared(coached, "lea", 0, UNTIL_MS, team="t9") == {}
    assert [name for name, _team in list_agents(coached, "lea")] == ["a1", "a2", "a3", "a4"]


def test_the_backlog_in_minutes(coached: Store, made: Any) -> None:
    projects.create(coached, "lea", Project(id="r", codes=("C1",), purpose="review"))
    tasks.add(coached, "lea", "r", [NewTask(dialogue=name) for name in ("d1", "e2", "e3")])
    (backlog,) = read_backlog(coached, "lea")
    assert (backlog.n_open, backlog.median_s, backlog.minutes) == (3, None, None), "four answers are too few"
    annotations.review(coached, "rob", "e3", "6", ["C1"], [], expected=None, seconds=40.0)
    (backlog,) = read_backlog(coached, "lea")
    assert (backlog.median_s, backlog.minutes, backlog.n_timed) == (20.0, 1.0, 5)
    assert leases.claim(coached, "ria", "r") is not None
    assert read_backlog(coached, "lea")[0].n_open == 3, "held, not answered"


@pytest.mark.parametrize("stranger", ["ann", "rob", "eve"])
def test_strangers_read_nothing(coached: Store, stranger: str) -> None:
    for read in (
        lambda: list_dialogues(coached, stranger, "a1", 0, UNTIL_MS),
        lambda: compare_codes(coached, stranger, "a1", 0, UNTIL_MS),
        lambda: read_confirmed(coached, stranger, "a1", ["d1"]),
        lambda: count_cleared(coached, stranger, 0, UNTIL_MS),
        lambda: list_agents(coached, stranger),
        lambda: read_backlog(coached, stranger),
    ):
        with pytest.raises(NotAllowed):
            read()


def test_an_agent_reads_own_dialogues_only(coached: Store) -> None:
    with pytest.raises(NotAllowed):
        list_dialogues(coached, "agnes", "a2", 0, UNTIL_MS)
    with pytest.raises(NotAllowed):
        read_confirmed(coached, "agnes", "a1", ["e2"])


def test_a_change_of_status_needs_a_reason(store: Store) -> None:
    for status, reason in (("suspended", " "), ("banned", "He copied.")):
        with pytest.raises(StoreRefused):
            rater_status.change_status(store, "lea", "ann", status, reason)  # type: ignore[arg-type]
    with pytest.raises(NotAllowed):
        rater_status.change_status(store, "lea", "rob", "suspended", "He copied.")
    rater_status.change_status(store, "lea", "ann", "suspended", "She copied.")
    assert {one.id: one.status for one in accounts.list_accounts(store, "lea")}["ann"] == "suspended"
