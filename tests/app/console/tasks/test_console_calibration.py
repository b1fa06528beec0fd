"""The Calibration page: a lead starts a session, members answer blind, results come when all are done."""

from collections.abc import Callable
from typing import Any

import pytest
from console_records import make_finding

from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.adjudication.calibration_session import CalibrationConfig, start_session
from dialint.labeling.store import annotations, leases
from dialint.labeling.store.calibration_sessions import list_sessions, load_note, save_note
from dialint.labeling.store.database.transactions import Store

Open = Callable[..., Any]


@pytest.fixture
def started(store: Store) -> Store:
    config = CalibrationConfig(
        name="autumn", codes=("C1", "T1"), members=("ann", "ben", "rob"), dialogues=("d1", "d2", "d5")
    )
    start_session(store, "lea", config, load_taxonomy())
    return store


def answer(store: Store, who: str, yes: tuple[str, ...]) -> None:
    while lease := leases.claim(store, who, "autumn"):
        findings = [make_finding(quote="Anything", probability=1.0)] if lease.dialogue in yes else []
        annotations.submit(store, who, lease.task, lease.token, f"{who} {lease.task}", findings)


def test_a_lead_starts_a_session_with_people_codes_and_dialogues(open_page: Open, store: Store) -> None:
    page = open_page("lea", at="Calibration")
    assert "No session so far" in page.words
    page.fill(Name="winter")
    boxes = {each.label: each for each in page.test.multiselect}
    boxes["Who"].set_value(["ann", "rob"])
    boxes["Codes"].set_value(["C1", "U2"])
    page.test.number_input[0].set_value(2)
    page.press("Start the session")
    assert "The session is started, with 2 items" in page.text
    (session,) = list_sessions(store, "lea")
    assert (session.project.id, session.project.codes, session.items) == ("winter", ("C1", "U2"), 2)
    assert [member.name for member in session.members] == ["ann", "rob"]
    page.fill(Name="alone")
    next(each for each in page.test.multiselect if each.label == "Who").set_value(["ann"])
    page.press("Start the session")
    assert "at least two people" in page.words


def test_a_correction_is_in_the_results_of_a_page_that_is_open(open_page: Open, started: Store) -> None:
    """Before: they were kept until somebody answered one more item."""
    answer(started, "ann", ("d1", "d2"))
    answer(started, "ben", ())
    answer(started, "rob", ())
    page = open_page("lea", at="Calibration")
    assert "No question divides the group" not in page.words
    for one in annotations.list_own(started, "ann"):
        annotations.correct(started, "ann", int(one.id), f"again {one.id}", [])
    page.run()
    assert "No question divides the group" in page.words


def test_a_member_sees_own_progress_only_until_all_are_done(open_page: Open, started: Store) -> None:
    page = open_page("ann", at="Calibration")
    assert "You have 3 items left" in page.text
    answer(started, "ann", ("d1", "d2"))
    answer(started, "ben", ())
    page = open_page("ann", at="Calibration")
    assert "You have answered everything" in page.words
    assert "Agreement by code" not in page.words
    assert len(page.test.table) == 0
    assert "No session so far" in open_page("ria", at="Calibration").words, "no member"
    answer(started, "rob", ("d1",))
    page = open_page("ann", at="Calibration")
    words = page.text
    assert "Agreement by code" in words
    assert "ben" not in words.split()
    assert "✓ ann" in words
    assert "✗ member 2" in words
    assert "Save the note" not in page.labels


def test_a_lead_sees_progress_closes_and_writes_the_note(open_page: Open, started: Store) -> None:
    answer(started, "ann", ("d1",))
    answer(started, "ben", ())
    page = open_page("lea", at="Calibration")
    progress = page.test.table[0].value.to_dict("records")
    assert [(row["Person"], row["Answered"]) for row in progress] == [
        ("ann", "3"),
        ("ben", "3"),
        ("rob", "0"),
    ]
    page.press("Close the session")
    note = next(each for each in page.test.text_area if each.label == "Note, which all members read")
    note.set_value("C1 means each repeat.")
    page.run()
    page.press("Save the note")
    saved = load_note(started, "lea", "autumn")
    assert saved is not None
    assert saved.text == "C1 means each repeat."
    save_note(started, "ada", "autumn", "C1 means each third repeat.", saved)
    page.test.text_area(key="note:autumn").set_value("C1 means a repeat of the agent's.")
    page.press("Save the note")
    assert "Ada has written another note since; saving again replaces it" in page.words
    assert "C1 means each third repeat." in page.words
    page.press("Save the note")
    saved = load_note(started, "lea", "autumn")
    assert saved is not None
    assert (saved.author, saved.text) == ("lea", "C1 means a repeat of the agent's.")
    member = open_page("ann", at="Calibration")
    assert saved.text in member.words
    # alpha of C1 by hand: two people on six questions each, one disagreement: 1 - 11 x 2 / (132 - 110) = 0
    agreement = member.test.table[0].value.to_dict("records")
    assert agreement[0]["Code"].startswith("C1")
    assert list(agreement[0].values())[1].replace("\\", "").startswith("0.00")
