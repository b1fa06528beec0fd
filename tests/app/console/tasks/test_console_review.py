"""Review as a person uses it, on a real store: what is asked, shown, saved, refused and restored."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

from dialint.app.console.tasks import answer, dialogue_view, items
from dialint.app.console.tasks.answer import Answer, seal
from dialint.app.console.tasks.page_session import receive, save
from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.labeling.store import annotations, dialogues, leases, task_view, tasks
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
