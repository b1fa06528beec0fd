"""Calibration sessions as their members see them, on both databases: who, progress, blindness, names, masks."""

import make
import pytest
from answering import answer_all

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.adjudication.calibration_session import CalibrationConfig, load_results, start_session
from dialint.labeling.store import annotations, dialogues, leases, projects
from dialint.labeling.store import calibration_sessions as sessions
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Conflict, NotAllowed, StoreRefused

TAXONOMY = load_taxonomy()
GROUP = ("ann", "ben", "rob")
NAMES = ("d0", "d1", "d2")


@pytest.fixture
def started(store: Store) -> Store:
    """A session of three named people on three named dialogues; a mail address is in each second turn."""
    text = "Anything else? Write to eva.luna@example.com then."
    dialogues.add(store, "lea", [make.dialogue(name, text=text) for name in (*NAMES, "other")])
    config = CalibrationConfig(name="s", codes=("C1", "T1"), members=GROUP, dialogues=NAMES)
    session = start_session(store, "lea", config, TAXONOMY)
    assert (session.people, session.tasks) == (GROUP, 3)
    assert start_session(store, "lea", config, TAXONOMY) == session
    return store


def test_a_session_is_for_its_members(started: Store) -> None:
    with pytest.raises(NotAllowed, match="no member of s"):
        leases.claim(started, "cem", "s")
    assert sessions.list_sessions(started, "cem") == ()
    answer_all(started, "ann", ("d0",), "s", n=2)
    for who in ("ann", "lea"):
        (one,) = sessions.list_sessions(started, who)
        assert (one.project.id, one.items, one.is_over, one.is_closed) == ("s", 3, False, False)
        assert [tuple(member) for member in one.members] == [("ann", 2), ("ben", 0), ("rob", 0)]


@pytest.mark.parametrize(
    ("members", "message"),
    [((), "at least two"), (("ann",), "at least two"), (("ann", "nobody"), "no account that may work")],
)
def test_a_group_is_two_people_or_more(store: Store, members: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        start_session(store, "lea", CalibrationConfig(name="s", codes=("C1",), members=members), TAXONOMY)


def test_results_are_shown_when_all_are_done(started: Store) -> None:
    answer_all(started, "ann", ("d0", "d1"), "s")
    answer_all(started, "ben", (), "s")
    answer_all(started, "rob", ("d0",), "s", n=2)
    for operation in (
        lambda who: sessions.load_answers(started, who, "s"),
        lambda who: sessions.load_item(started, who, "s", 1),
        lambda who: sessions.load_note(started, who, "s"),
        lambda who: load_results(started, who, "s", None, TAXONOMY),
    ):
        with pytest.raises(NotAllowed, match="not over"):
            operation("ann")
        with pytest.raises(NotAllowed, match="no member"):
            operation("eve")
    assert len(sessions.load_answers(started, "lea", "s").answers) == 8, "a lead sees all at any time"
    answer_all(started, "rob", ("d0",), "s")
    results = load_results(started, "ann", "s", None, TAXONOMY)
    assert results.n_answers == 9
    disputed = {(one.code, one.turn): one for one in results.disputed}
    assert len(results.disputed) == 2
    assert set(disputed) == {("C1", 1)}
    # d0: ann and rob of three say yes; d1: ann alone; each is split one to two
    assert [one.n_yes for one in results.disputed] == [2, 1]
    with pytest.raises(StoreRefused, match="no such project"):
        sessions.load_answers(started, "lea", "none")


def test_a_lead_closes_a_session_and_what_members_see_then(started: Store) -> None:
    answer_all(started, "ann", ("d0",), "s", n=2)
    answer_all(started, "rob", (), "s")
    projects.set_state(started, "lea", "s", "closed")
    results = sessions.load_answers(started, "ann", "s")
    assert {one.labeler for one in results.answers} == {"ann", "member 3"}
    assert {one.dialogue_id for one in results.answers} == {"task-1", "task-2", "task-3"}
    seen = sessions.load_item(started, "ann", "s", results.tasks["task-1"])
    assert "eva.luna@example.com" not in seen.turns[1].text
    assert seen.agent is None
    unanswered = next(task for task in (1, 2, 3) if not any(
        one.labeler == "ann" and results.tasks[one.dialogue_id] == task for one in results.answers
    ))  # fmt: skip
    with pytest.raises(NotAllowed):
        sessions.load_item(started, "ann", "s", unanswered)
    with pytest.raises(NotAllowed, match="none of s"):
        sessions.load_item(started, "ann", "s", 999)
    by_lead = sessions.load_answers(started, "lea", "s")
    assert {one.labeler for one in by_lead.answers} == {"ann", "rob"}
    assert set(by_lead.tasks) == set(NAMES)
    assert sessions.load_item(started, "lea", "s", by_lead.tasks["d0"]).id == "d0"


def test_a_correction_counts_in_place_of_the_answer(started: Store) -> None:
    answer_all(started, "ann", ("d0", "d1", "d2"), "s")
    for one in annotations.list_own(started, "ann"):
        annotations.correct(started, "ann", int(one.id), f"again {one.id}", [])
    results = sessions.load_answers(started, "lea", "s")
    assert [one.findings for one in results.answers] == [(), (), ()]


def test_the_note_is_the_leads(started: Store) -> None:
    for who in GROUP:
        answer_all(started, who, (), "s")
    assert sessions.load_note(started, "ann", "s") is None
    first = sessions.save_note(started, "lea", "s", "first", None)
    saved = sessions.save_note(started, "lea", "s", "C1 means each repeat.", first)
    assert sessions.save_note(started, "lea", "s", saved.text, first) == saved
    with pytest.raises(Conflict, match="lea has written another note since") as conflict:
        sessions.save_note(started, "ada", "s", "second", first)
    assert conflict.value.theirs == (saved,)
    assert sessions.load_note(started, "ann", "s") == saved
    with pytest.raises(StoreRefused, match="at most"):
        sessions.save_note(started, "lea", "s", "x" * 9000, saved)
