"""Operations for coaching, on both databases: confirmed errors, the others' rates, cleared dialogues,
notes."""

from datetime import UTC, datetime
from typing import get_args

import make
import pytest
from sqlalchemy import select

from dialint.detector.records import Dialogue
from dialint.labeling.store import accounts, annotations, dialogues
from dialint.labeling.store.coaching import (
    MAX_CHARACTERS,
    acknowledge_note,
    compare_codes,
    count_errors,
    list_agents,
    list_dialogues,
    list_notes,
    read_confirmed,
    write_note,
)
from dialint.labeling.store.database.schema import audit
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.insights import Dimension, read_groups, read_totals
from dialint.labeling.store.records import Account, NotAllowed, StoreRefused

UNTIL_MS = 2_000_000_000_000


@pytest.fixture(autouse=True)
def agnes(store: Store) -> None:
    accounts.create(store, "ada", Account(id="agnes", role="labeler", agent="a1"))


@pytest.fixture
def coached(store: Store) -> Store:
    """Of a1: d1 confirmed, d2 rejected, d3 open, d4 clean with an error added. Of a2 to a6 one flagged dialogue
    each, of which e2's was confirmed."""
    mine = [make.dialogue(f"d{n}") for n in (1, 2, 3, 4)]
    theirs = [make.dialogue(f"e{n}", agent=f"a{n}") for n in range(2, 7)]
    dialogues.add(store, "lea", [*mine, *theirs])
    flagged = [make.verdict(each.id, make.finding()) for each in (*mine[:3], *theirs)]
    dialogues.add_verdicts(store, "lea", [*flagged, make.verdict("d4")])
    reviewed = {"d1": ("C1", 30.0), "d2": (None, 10.0), "d4": ("T1", 20.0), "e2": ("C1", 20.0)}
    for name, (code, seconds) in reviewed.items():
        findings = [make.finding(code)] if code else []
        annotations.review(store, "rob", name, name, ["C1", "T1"], findings, expected=None, seconds=seconds)
    return store


@pytest.mark.parametrize("actor", ["lea", "agnes"])
def test_errors_are_what_people_left_standing(coached: Store, actor: str) -> None:
    listed = {one.dialogue: one for one in list_dialogues(coached, actor, "a1", 0, UNTIL_MS)}
    assert {name: (one.confirmed, one.n_open, one.has_error) for name, one in listed.items()} == {
        "d1": ((("C1", "S2"),), 0, True), "d2": ((), 0, False), "d3": ((), 1, True),
        "d4": ((("T1", "S2"),), 0, True),
    }  # fmt: skip
    confirmed = read_confirmed(coached, actor, "a1", ["d1", "d2", "d3", "d4"])
    assert {name: [(each.finding.code, each.decision) for each in of] for name, of in confirmed.items()} == {
        "d1": [("C1", "confirmed")], "d2": [], "d3": [], "d4": [("T1", "added")],
    }  # fmt: skip
    assert list_dialogues(coached, actor, "a1", 0, 1) == ()


def test_others_are_summed_over_enough_agents(coached: Store) -> None:
    for actor, team in (("lea", "t1"), ("agnes", "t1"), ("agnes", None)):
        rates = compare_codes(coached, actor, "a1", 0, UNTIL_MS, team)
        assert (dict(rates.own), rates.own_dialogues) == ({"C1": (1, 2), "T1": (1, 1)}, 4)
        assert (dict(rates.other), rates.other_dialogues) == ({"C1": (1, 5)}, 5)
        assert (rates.n_agents, rates.team) == (5, "t1")
    lone = compare_codes(coached, "lea", "a1", 0, UNTIL_MS, "t9")
    assert (dict(lone.other), lone.team) == ({"C1": (1, 5)}, None), "of all teams"


def scored_at(name: str, agent: str, day: int, team: str | None = "t1") -> Dialogue:
    """A dialogue of the `day` of January 2024."""
    dialogue: Dialogue = make.dialogue(name, agent=agent)
    at = datetime(2024, 1, day, 12, tzinfo=UTC)
    turns = tuple(turn.model_copy(update={"at": at}) for turn in dialogue.turns)
    return dialogue.model_copy(update={"turns": turns, "team": team})


def add_flagged(store: Store, new: list[Dialogue]) -> None:
    """Store the dialogues, each with one confirmed error."""
    dialogues.add(store, "lea", new)
    dialogues.add_verdicts(store, "lea", [make.verdict(one.id, make.finding()) for one in new])
    for one in new:
        annotations.review(store, "rob", one.id, one.id, ["C1"], [make.finding()], expected=None)


def test_four_others_are_too_few_for_anybody(store: Store) -> None:
    add_flagged(store, [make.dialogue(f"d{n}", agent=f"a{n}") for n in range(1, 6)])
    for actor in ("lea", "agnes"):
        rates = compare_codes(store, actor, "a1", 0, UNTIL_MS)
        assert (dict(rates.other), rates.other_dialogues) == ({}, 0)


def test_an_agent_cannot_subtract_teams(store: Store) -> None:
    """All but the own team is one outsider here: neither all teams nor another one is shown to the agent."""
    team = [make.dialogue(f"d{n}", agent=f"a{n}") for n in range(1, 7)]
    outsider = make.dialogue("e", agent="zoe").model_copy(update={"team": "t2"})
    add_flagged(store, [*team, outsider])
    assert compare_codes(store, "lea", "a1", 0, UNTIL_MS).n_agents == 6
    assert compare_codes(store, "agnes", "a1", 0, UNTIL_MS).n_agents == 5
    for other in ("t2", "t9", ""):
        with pytest.raises(NotAllowed):
            compare_codes(store, "agnes", "a1", 0, UNTIL_MS, other)


def test_an_agent_cannot_subtract_periods(store: Store) -> None:
    """On the second day one colleague has dialogues: it counts for the lead, and not for the agent."""
    first = [scored_at(f"d{n}", f"a{n}", 1) for n in range(1, 7)]
    add_flagged(store, [*first, scored_at("e1", "a1", 2), scored_at("e2", "a2", 2)])
    days = [int(datetime(2024, 1, day, tzinfo=UTC).timestamp() * 1000) for day in (1, 2, 3)]
    for until_ms in days[1:]:
        rates = compare_codes(store, "agnes", "a1", days[0], until_ms)
        assert (dict(rates.other), rates.other_dialogues, rates.n_agents) == ({"C1": (5, 5)}, 5, 5)
    assert rates.own_dialogues == 2
    assert compare_codes(store, "agnes", "a1", days[1], days[2]).n_agents == 0
    assert compare_codes(store, "lea", "a1", days[0], days[2]).other_dialogues == 6


def test_agents_without_a_team_are_compared_with_each_other(store: Store) -> None:
    add_flagged(store, [scored_at(f"d{n}", f"a{n}", 1, team=None) for n in range(1, 7)])
    rates = compare_codes(store, "agnes", "a1", 0, UNTIL_MS)
    assert (rates.other_dialogues, rates.team) == (5, "")


def test_what_was_not_judged_is_in_no_share(store: Store) -> None:
    """Exact checks find errors in it, too, but nobody knows what else is in it."""
    dialogues.add(store, "lea", [make.dialogue("d1"), make.dialogue("d2")])
    silent = make.verdict("d2", make.finding()).model_copy(update={"status": "not_judged", "quality": None})
    dialogues.add_verdicts(store, "lea", [make.verdict("d1", make.finding()), silent])
    annotations.review(store, "rob", "d2", "d2", ["C1"], [make.finding()], expected=None)
    totals = read_totals(store, "lea", 0, UNTIL_MS)
    assert (totals.dialogues, totals.flagged, totals.not_judged, totals.findings) == (1, 1, 1, 2)
    for by in get_args(Dimension):
        (group,) = read_groups(store, "lea", by, 0, UNTIL_MS)
        assert (group.dialogues, group.flagged, group.findings, group.confirmed) == (1, 1, 2, 1), by
    rates = compare_codes(store, "lea", "a1", 0, UNTIL_MS)
    assert (rates.own, rates.own_dialogues) == ({"C1": (0, 1)}, 1)


def test_errors_by_agent_say_how_many_people_decided(coached: Store) -> None:
    others = {f"a{n}": (0, 1, 1) for n in range(3, 7)}
    assert count_errors(coached, "lea", 0, UNTIL_MS) == {"a1": (2, 3, 4), "a2": (1, 1, 1), **others}
    assert count_errors(coached, "lea", 0, UNTIL_MS, team="t9") == {}
    assert [name for name, _team in list_agents(coached, "lea")] == [f"a{n}" for n in range(1, 7)]


def test_an_agent_reads_own_dialogues_only(coached: Store) -> None:
    with pytest.raises(NotAllowed):
        read_confirmed(coached, "agnes", "a1", ["e2"])


def test_a_change_of_status_needs_a_reason(store: Store) -> None:
    with pytest.raises(StoreRefused):
        accounts.set_status(store, "lea", "ann", "suspended", " ")
    accounts.set_status(store, "lea", "ann", "suspended", "She copied.")
    assert {one.id: one.status for one in accounts.list_accounts(store, "lea")}["ann"] == "suspended"


def actions(store: Store) -> list[tuple[str, str, str]]:
    rows = select(audit.c.account, audit.c.action, audit.c.subject).where(audit.c.action.like("note.%"))
    return store.read(lambda transaction: [tuple(row) for row in transaction.run(rows.order_by(audit.c.id))])


def test_a_lead_writes_and_the_agent_acknowledges(coached: Store) -> None:
    first = write_note(coached, "lea", "a1", " Ask for the order number first. ")
    second = write_note(coached, "ada", "a1", "See turn 1.", "d1")
    assert (first.content, first.dialogue, second.dialogue) == (
        "Ask for the order number first.", None, "d1",
    )  # fmt: skip
    assert list_notes(coached, "agnes", "a1") == list_notes(coached, "lea", "a1") == (second, first)
    assert list_notes(coached, "agnes", "a1", n=1) == (second,)
    done = acknowledge_note(coached, "agnes", first.id)
    assert (done.acknowledged_by, done.acknowledged_ms is None) == ("agnes", False)
    assert acknowledge_note(coached, "agnes", first.id) == done, "a second time changes nothing"
    with pytest.raises(NotAllowed):
        acknowledge_note(coached, "agnes", 7)
    written = [("lea", "note.write", "note 1"), ("ada", "note.write", "note 2")]
    assert actions(coached) == [*written, ("agnes", "note.acknowledge", "note 1")]


@pytest.mark.parametrize(
    ("agent", "content", "dialogue"),
    [
        ("a1", "  ", None), ("a1", "x" * (MAX_CHARACTERS + 1), None), ("a1", "a\x00b", None), ("a9", "To whom?", None),
        ("a1\x00", "To whom?", None), ("a1", "Not hers.", "e2"), ("a1", "Which?", "d9"), ("a1", "Which?", "d1\x00"),
    ],
)  # fmt: skip
def test_notes_that_are_refused(coached: Store, agent: str, content: str, dialogue: str | None) -> None:
    with pytest.raises(StoreRefused, match=r"note|agent"):
        write_note(coached, "lea", agent, content, dialogue)
    assert actions(coached) == []
