"""Review as a person uses it, on a real store: what is asked, shown, saved, refused and restored."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import update

from dialint.app.console.work import answer, dialogue_view, items, page_session
from dialint.app.console.work.answer import Answer, seal
from dialint.app.console.work.page_session import receive, save
from dialint.detector.errors import WorldError
from dialint.detector.records import Dialogue, Finding, JudgeRecord, Turn, Verdict
from dialint.labeling.store import annotations, dialogues, leases, task_view, tasks
from dialint.labeling.store.accounts import load_preferences
from dialint.labeling.store.database.schema import leases as lease_rows
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NewTask

Open = Callable[..., Any]
Saved = Callable[[], list[dict[str, Any]]]


def test_a_review_in_order_of_priority(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("rob").start()
    assert "Dialogue d2; 2 more wait for you" in page.words
    assert [choice["p_text"] for choice in page.workspace()["choices"]] == ["91 %", "over 99 %"]
    page.decide("kept").act("save")
    assert "Not saved: something is not decided yet." in page.words
    assert saved() == []
    page.decide("", "rejected").act("save")
    (row,) = saved()
    assert (row["dialogue"], row["labeler"], row["kind"], row["seen_verdict"]) == (
        "d2",
        "rob",
        "reviewer",
        True,
    )
    assert row["said"] == [(1, "C1", "S2", 0, 14)]
    assert 0 <= row["seconds"] < 60
    assert "Dialogue d1; 1 more wait for you" in page.words
    assert "Only you see this: 1 done in this sitting" in page.words
    assert task_view.load_draft(store, "rob", "task:2", "d2") is None


def test_looking_at_a_page_takes_no_task(open_page: Open, store: Store) -> None:
    def held() -> int:
        of_rob = lease_rows.select().where(lease_rows.c.account == "rob", lease_rows.c.state == "held")
        return len(store.read(lambda transaction: transaction.run(of_rob).all()))

    page = open_page("rob")
    assert "Dialogues that wait for you: 3" in page.words.replace("\\", "")
    page.go("Label").go("Review")
    assert held() == 0
    page.start()
    assert held() == 1
    assert "Dialogue d2" in open_page("rob").words, "what one holds is there again"
    page.decide("kept").act("stop")
    assert held() == 0
    assert "The task went back to the queue." in page.words.replace("\\", "")
    assert "Dialogues that wait for you: 3" in page.words.replace("\\", "")
    page.start()
    assert [choice["state"] for choice in page.workspace()["choices"]] == ["kept", "open"], (
        "the draft is kept"
    )


def test_the_queue_does_not_count_what_one_skipped(open_page: Open) -> None:
    page = open_page("rob").start().act("skip", reason="undecided")
    assert "Dialogue d1; 1 more wait for you" in page.words
    again = open_page("rob")
    assert "Dialogue d1; 1 more wait for you" in again.words


def test_a_reason_for_rejecting_is_learnt(open_page: Open, store: Store) -> None:
    page = open_page("rob").start()
    assert page.workspace()["fixed"]["reasons"]["C1"][0] == "answered"
    page.decide("rejected", "rejected", why="too_small").act("save")
    assert load_preferences(store, "rob").reasons == {"C1:too_small": 1, "T1:too_small": 1}
    assert page.workspace()["fixed"]["reasons"]["C1"][0] == "too_small"


def test_a_reason_for_rejecting_is_saved_with_the_answer(open_page: Open, saved: Saved) -> None:
    page = open_page("rob").start()
    page.decide("rejected", why="too_small").decide("", "rejected", why="<b>no reason of the list</b>")
    page.act("save")
    (row,) = saved()
    assert json.loads(row["rejections"]) == [{"code": "C1", "reason": "too_small", "turn": 1}]
    page.act("reopen")
    assert [choice["why"] for choice in page.workspace()["choices"]] == ["too_small", ""]
    page.send("review", {"kind": "set", "id": "0", "state": "kept", "code": "C1", "severity": "S2"}).act(
        "save"
    )
    assert [row["rejections"] is None for row in saved()] == [False, True]


def test_the_history_of_a_dialogue_says_why_a_finding_was_rejected(open_page: Open) -> None:
    open_page("rob").start().decide("rejected", "rejected", why="too_small").act("save")
    page = open_page("lea")
    page.test.query_params["id"] = "d2"
    page.go("Dialogue")
    assert "turn 1: C1 Question ignored, rejected: Too small to count" in page.words.replace("\\", "")


def test_a_finding_is_changed_and_another_added(open_page: Open, saved: Saved) -> None:
    page = open_page("rob").start().decide("kept", code="C2", severity="S2").decide("", "rejected")
    assert page.workspace()["fixed"]["given"]["3"]["C1"] == "3 %"
    page.add("review", 3, "C1").act("save")
    (row,) = saved()
    assert row["said"] == [(1, "C2", "S2", 0, 14), (3, "C1", "S2", 0, 21)]


@pytest.mark.usefixtures("suggested")
def test_suggestions_stand_apart_and_one_becomes_ones_own_finding(open_page: Open, saved: Saved) -> None:
    page = open_page("rob").start()
    assert "Dialogue careful" in page.words
    assert "model-7: 1 finding; 2 suggestions below, not counted." in page.words
    assert [choice["suggested"] for choice in page.workspace()["choices"]] == [False, True, True]
    page.decide("rejected").decide("", "kept", "rejected").act("save")
    (row,) = saved()
    assert row["said"] == [(1, "C1", "S2", 32, 46)]
    assert json.loads(row["findings"])[0]["probability"] == 1.0
    page.act("reopen")
    assert [choice["state"] for choice in page.workspace()["choices"]] == ["rejected", "kept", "open"]


def test_what_the_model_did_not_judge_is_said(open_page: Open) -> None:
    codes = {code["code"]: code["coverage"] for code in open_page("rob").start().workspace()["codes"]}
    assert codes["C2"] == "model-7 did not judge this code."
    assert codes["T1"] == "model-7 judged this code."


def test_a_failed_verdict_is_not_clean(open_page: Open, store: Store) -> None:
    failed = Verdict(
        dialogue_id="d2", release="z-newer", taxonomy="1.0.0", status="failed", failure="E_TOO_LONG"
    )
    dialogues.add_verdicts(store, "lea", [failed])
    words = open_page("rob").start().words
    assert "z-newer failed on this dialogue (E_TOO_LONG). That is not a clean dialogue." in words


def test_a_skip_says_why(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("rob").start().act("skip", reason="no such reason")
    assert "Dialogue d2" in page.words
    page.act("skip", reason="broken", more="half of it")
    assert "Dialogue d1" in page.words
    assert saved() == []
    said = store.read(
        lambda transaction: transaction.run(lease_rows.select().where(lease_rows.c.state == "skipped")).one()
    )
    assert (said.account, said.reason) == ("rob", "The text is broken or cut off: half of it")


def test_undo_is_a_correction(open_page: Open, saved: Saved) -> None:
    page = open_page("rob").start().decide("kept", "kept").act("save").act("reopen")
    assert "you are changing your answer 1" in page.words
    page.decide("", "rejected").act("save")
    first, second = saved()
    assert second["supersedes"] == first["id"]
    assert [len(first["said"]), len(second["said"])] == [2, 1]
    assert second["seconds"] >= first["seconds"]
    assert "Dialogue d1" in page.words  # the task that was in hand is in hand again


def test_a_second_click_counts_once(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("rob").start().decide("kept", "kept")
    at = page.session("review")
    item, answer = at.item, seal(at.answer)
    items.submit(store, "rob", item, answer)
    again = items.submit(store, "rob", item, answer)  # the click that was sent again
    at.answer = at.answer.model_copy(update={"seconds": 50.0})
    page.act("save")  # the click on a page that does not know: a little later, and told so
    assert "stored already" in page.words
    assert page.session("review").item.task != item.task
    save(at, item)  # the click that came late: another item is on the desk
    assert [str(row["id"]) for row in saved()] == [again.answer.id]  # type: ignore[union-attr]


def test_events_count_once_however_often_they_are_sent(open_page: Open, store: Store) -> None:
    page = open_page("rob").start()
    at = page.session("review")
    confirm = {"kind": "set", "seq": 1, "id": "0", "state": "kept", "code": "C1", "severity": "S2", "why": ""}
    own = {
        "kind": "add",
        "seq": 2,
        "id": "own-1",
        "turn": 3,
        "start": 0,
        "end": 7,
        "code": "C1",
        "severity": "S2",
    }
    log = {"tab": "one", "draft": at.answer.key, "events": [confirm, own]}
    for _ in range(3):
        receive(at, log)
    assert at.answer.applied == {"one": 2}
    assert [choice.state for choice in at.answer.choices] == ["kept", "open", "kept"]
    reopened = {**confirm, "state": "open"}  # of a second tab, whose events have numbers of their own
    receive(at, {"tab": "two", "draft": at.answer.key, "events": [reopened]})
    receive(at, log)
    assert [choice.state for choice in at.answer.choices] == ["open", "open", "kept"]
    receive(at, {"tab": "two", "draft": "of another item", "events": [{**confirm, "seq": 9}]})
    assert at.answer.choices[0].state == "open"
    stored = task_view.load_draft(store, "rob", at.item.name, at.item.dialogue.id)
    assert stored is not None
    assert Answer.model_validate_json(stored.content).applied == {"one": 2, "two": 1}


def test_an_answer_from_elsewhere_is_shown_with_both_values(
    open_page: Open, store: Store, saved: Saved
) -> None:
    page = open_page("rob").start().decide("kept", "rejected")
    late = update(lease_rows).where(lease_rows.c.account == "rob").values(expires_ms=0)
    store.write(lambda transaction: transaction.run(late))
    lease = leases.claim(store, "ria", "to review")
    assert lease is not None
    annotations.submit(store, "ria", lease.task, lease.token, "hers", [])
    page.act("save")
    assert "Compare" in page.test.warning[0].value
    words = page.words.replace("\\", "")
    assert "ria" in words
    assert "Nothing wrong here." in words
    assert "C1 Question ignored" in words
    assert len(saved()) == 1
    page.press("Save mine as well")
    hers, mine = saved()
    assert (hers["said"], mine["said"]) == ([], [(1, "C1", "S2", 0, 14)])
    assert mine["labeler"] == "rob"


def test_a_long_dialogue_is_shown_page_by_page(
    open_page: Open, store: Store, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogue_view, "PAGE_TURNS", 4)
    turns = tuple(
        Turn(index=n, role=("customer", "agent")[n % 2], text=f"Turn {n}: anna{n}@example.com")  # type: ignore[arg-type]
        for n in range(10)
    )
    dialogues.add(store, "lea", [Dialogue(id="long", turns=turns)])
    found = tuple(
        Finding(code="C1", turn=n, severity="S2", probability=0.9, quote="Turn", start=0, end=4, reason="")
        for n in (1, 9)
    )
    said = Verdict(
        dialogue_id="long", release="model-7", taxonomy="1.0.0", status="scored", quality=1.0, findings=found
    )
    dialogues.add_verdicts(store, "lea", [said])
    tasks.add(store, "lea", "to review", [NewTask(dialogue="long", priority=9.0)])
    page = open_page("rob").start()
    assert page.workspace()["page_text"] == "Page 1 of 3: turns 0 to 3"
    assert [turn["index"] for turn in page.act("page", page=1).workspace()["turns"]] == [4, 5, 6, 7]
    assert page.workspace()["page_of"] == {"1": 0, "9": 2}
    page.act("page", page=0).act("page", page=7)
    assert page.workspace()["page"] == 0
    page.decide("kept", "rejected")
    masked: list[str] = []
    monkeypatch.setattr(answer, "mask_dialogue", lambda each: masked.append(each.id))
    page.act("page", page=1).add("review", 5, "C2")
    assert masked == [], "a click masks nothing anew: the store keeps the view"
    page.act("save")
    (row,) = saved()
    assert row["said"] == [(1, "C1", "S2", 0, 4), (5, "C2", row["said"][1][2], 0, 25)]
    assert "anna5" not in row["findings"]


def test_the_review_page_says_whose_dialogue_it_is_and_what_a_judge_was_asked(
    open_page: Open, store: Store
) -> None:
    said = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
    turns = (
        Turn(index=0, role="customer", text="Where is it?", at=said),
        Turn(index=1, role="agent", text="Soon."),
    )
    dialogues.add(store, "lea", [Dialogue(id="own", turns=turns, agent="a*7*", team="north", channel="chat")])
    asked = JudgeRecord(
        name="judge-1", prompt="judge-3", screens=2, details=1, unasked=("P1",), unmet=("I1",)
    )
    found = Finding(
        code="C1", turn=1, severity="S2", probability=0.9, quote="Soon", start=0, end=4, reason="judge-1 confirms."
    )  # fmt: skip
    said_of_it = Verdict(
        dialogue_id="own", release="model-7", taxonomy="1.0.0", status="scored", quality=1.0, findings=(found,),
        judge=asked,
    )  # fmt: skip
    dialogues.add_verdicts(store, "lea", [said_of_it])
    tasks.add(store, "lea", "to review", [NewTask(dialogue="own", priority=9.0)])
    words = open_page("rob").start().words
    assert "Agent a*7*, team north, chat, 2026-11-03 09:30" in words
    assert "judge-1 was asked 3 questions; it says nothing of I1, P1." in words
    assert "judge-1 confirms." in words


def test_an_answer_that_is_saved_is_not_called_unsaved(
    open_page: Open, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: where the reasons could not be counted, the page said that the answer was not saved."""

    def refuse(*arguments: Any) -> None:
        raise WorldError("E_BUSY", "others keep the database busy")

    page = open_page("rob").start()
    monkeypatch.setattr(page_session, "save_preferences", refuse)
    page.decide("rejected", "kept", why="too_small").act("save")
    assert len(saved()) == 1
    assert "Saved as answer" in page.words
    assert "not saved" not in page.words
