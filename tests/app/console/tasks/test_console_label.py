"""Label as a person uses it, on a real store: blind answers, taken back, corrected and found again."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import StopException

from dialint.app.console import i18n
from dialint.app.console.tasks import items
from dialint.app.console.tasks.page_session import receive
from dialint.detector.errors import WorldError
from dialint.detector.records import Dialogue, Turn
from dialint.labeling.store import annotations, dialogues, leases, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NewTask, Project

Open = Callable[..., Any]
Saved = Callable[[], list[dict[str, Any]]]


def test_a_label_is_blind_with_yes_and_no(open_page: Open, saved: Saved) -> None:
    page = open_page("ann").start()
    words = page.text
    assert "Read it all first." in words
    assert "Is the customer's open question" in words
    content = json.dumps(page.workspace())
    for trace in ("model-7", "91\xa0%", "0.91", "d3", "task"):
        assert f'"{trace}' not in content
    assert page.session("label").item.verdict is None
    assert page.session("label").answer.choices == ()
    page.say("T1", False).say("C1", True).act("save", "label")
    assert "Not saved" in page.words, "yes needs a place"
    page.add("label", 1, "C1").act("save", "label")
    (row,) = saved()
    assert (row["marks"], row["seen_verdict"], row["kind"]) == ([(1, "C1", "S2", 0, 14)], False, "crowd")


def test_a_labeler_reads_and_marks_masked_text(open_page: Open, store: Store, saved: Saved) -> None:
    turns = (
        Turn(index=0, role="customer", text="I am Anna Kowalska."),
        Turn(index=1, role="agent", text="Anna, is anna.k@example.com right? Anything else?"),
    )
    dialogues.add(store, "lea", [Dialogue(id="private", turns=turns)])
    tasks.add(store, "lea", "to label", [NewTask(dialogue="private", priority=9.0)])
    page = open_page("ann").start()
    at = page.session("label")
    assert at.item.dialogue.turns[1].text == "[NAME_1], is [EMAIL_1] right? Anything else?"
    page.add("label", 1, "C1", 15, 29)  # half of the address
    assert page.workspace()["choices"][0]["quote"] == "[EMAIL_1] right?"
    assert "anna" not in json.dumps(page.workspace()).lower()
    again = open_page("ann")  # the draft is found again and is the same
    assert again.session("label").answer.choices == page.session("label").answer.choices
    again.say("T1", False).act("save", "label")
    (row,) = saved()
    assert row["marks"] == [(1, "C1", "S2", 9, 34)]
    assert turns[1].text[9:34] == "anna.k@example.com right?"


def test_a_prelabelled_project_shows_the_models_findings(open_page: Open, store: Store, saved: Saved) -> None:
    project = Project(id="a shown one", codes=("C1", "T1"), prelabelled=True)
    projects.create(store, "lea", project)
    tasks.add(store, "lea", "a shown one", [NewTask(dialogue="d2")])
    page = open_page("ann").choose("Project", "a shown one").start()
    first = page.workspace()["choices"][0]
    assert (first["turn"], first["p_text"], first["quote"]) == (1, "91\xa0%", "Anything else?")
    page.say("C1", True).say("T1", False).act("save", "label")
    page.press("Reopen my last answer")
    assert [choice["state"] for choice in page.workspace()["choices"]] == ["kept", "rejected"]
    page.act("save", "label")
    assert [(row["marks"], row["seen_verdict"]) for row in saved()] == [([(1, "C1", "S2", 0, 14)], True)] * 2


def test_a_label_is_reopened_blind(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("ann").press("Reopen my last answer")
    assert "You have no answer here to take back." in page.text
    page.start().say("T1", False).add("label", 1, "C1").act("save", "label")
    other = leases.claim(store, "ben", "to label")
    assert other is not None
    annotations.submit(store, "ben", other.task, other.token, "his", [])
    in_hand = page.session("label").item.task
    page.act("reopen", "label")
    words = page.words
    assert "You are changing your last answer." in words
    assert page.workspace()["said"] == {"C1": True, "T1": False}
    assert "Read it all first." in words
    for trace in ("model-7", "91\xa0%", "ben", "d3"):
        assert trace not in words
    again = page.session("label").item
    assert (again.verdict, again.blind, again.dialogue.agent) == (None, True, None)
    own = page.workspace()["choices"][0]["id"]
    page.send("label", {"kind": "remove", "id": own}).say("C1", False).act("save", "label")
    first, _, second = saved()
    assert (second["supersedes"], second["task"], second["labeler"]) == (first["id"], first["task"], "ann")
    assert [len(first["marks"]), len(second["marks"])] == [1, 0]
    assert (second["kind"], second["seen_verdict"]) == ("crowd", False)
    assert page.session("label").item.task == in_hand  # the task that was in hand is in hand again
    page.act("reopen", "label").act("leave", "label")
    assert len(saved()) == 3


def label_nothing(page: Any) -> Any:
    """Say no to every code, and save."""
    return page.say("C1", False).say("T1", False).act("save", "label")


def test_an_unfinished_correction_is_restored_after_a_reload(open_page: Open, saved: Saved) -> None:
    label_nothing(open_page("ann").start()).act("reopen", "label").say("C1", True)
    again = open_page("ann").act("reopen", "label")
    assert "Your draft was restored." in again.words
    assert again.workspace()["said"] == {"C1": True, "T1": False}
    assert len(saved()) == 1


class ReplacedRun(dict[str, Any]):
    """Session state in a run of the page that a newer one replaces: Streamlit ends it at its next call."""

    def get(self, key: str, default: Any = None) -> Any:
        if self:
            raise StopException
        self["read"] = True
        return "es"


def test_a_newer_click_does_not_interrupt_a_save(
    open_page: Open, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = open_page("ann").start().session("label")
    events = [
        {"kind": "say", "code": "C1", "present": False, "seq": 1},
        {"kind": "say", "code": "T1", "present": False, "seq": 2}, {"kind": "save", "seq": 3},
    ]  # fmt: skip
    first = session.item
    monkeypatch.setattr(i18n, "get_script_run_ctx", lambda suppress_warning: object())
    monkeypatch.setattr(i18n.st, "session_state", ReplacedRun())
    receive(session, {"tab": "tab", "draft": session.answer.key, "events": events})
    assert session.item is not first
    assert session.notices == [("success", "Guardado.")]
    assert len(saved()) == 1


def test_a_message_stays_until_the_next_thing_is_done(open_page: Open) -> None:
    page = label_nothing(open_page("ann").start())
    page.run()  # as the report that the browser sends again makes it
    assert "Saved." in page.words
    page.say("T1", False)
    assert "Saved." not in page.words
    page.act("stop", "label").run()
    assert "went back to the queue" in page.words
    page.press("Reopen my last answer")
    assert "went back to the queue" not in page.words


@pytest.mark.parametrize("leaves", ["stop", "reopen"])
def test_an_edit_in_one_batch_with_leaving_is_saved(open_page: Open, leaves: str) -> None:
    page = label_nothing(open_page("ann").start())
    page.send("label", {"kind": "say", "code": "T1", "present": False}, {"kind": leaves})
    page.act("leave", "label") if leaves == "reopen" else page.start()
    assert page.workspace()["said"] == {"T1": False}


def test_a_draft_that_cannot_be_stored_is_not_left(
    open_page: Open, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> None:
        raise WorldError("E_BUSY", "others keep the database busy")

    page = open_page("ann").start()
    with monkeypatch.context() as busy:
        busy.setattr(items, "save_draft", refuse)
        page.send("label", {"kind": "say", "code": "T1", "present": False}, {"kind": "stop"})
    assert "That was not saved" in page.words
    page.act("stop", "label").start()
    assert page.workspace()["said"] == {"T1": False}
