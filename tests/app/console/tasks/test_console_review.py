"""Review as a person uses it, on a real store: what is asked, shown, saved, refused and restored."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from console_records import add_to_review, make_dialogue, make_finding
from sqlalchemy import update

from dialint.app.console.tasks import answer, dialogue_view, items
from dialint.app.console.tasks.answer import Answer, seal
from dialint.app.console.tasks.page_session import receive, save
from dialint.labeling.store import annotations, leases, task_view
from dialint.labeling.store.database.schema import leases as lease_rows
from dialint.labeling.store.database.transactions import Store

Open = Callable[..., Any]
Saved = Callable[[], list[dict[str, Any]]]


def test_a_review_in_order_of_priority(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("rob").start()
    assert "Dialogue d2; 2 more wait for you" in page.words
    assert [choice["p_text"] for choice in page.workspace()["choices"]] == ["91\xa0%", "over 99 %"]
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
    assert row["marks"] == [(1, "C1", "S2", 0, 14)]
    assert 0 <= row["seconds"] < 60
    assert "Dialogue d1; 1 more wait for you" in page.words
    assert "Only you see this: 1 done in this sitting" in page.words
    assert task_view.load_draft(store, "rob", "task:2", "d2") is None


def test_looking_at_a_page_takes_no_task(open_page: Open, store: Store) -> None:
    def held() -> int:
        of_rob = lease_rows.select().where(lease_rows.c.account == "rob", lease_rows.c.state == "held")
        return len(store.read(lambda transaction: transaction.run(of_rob).all()))

    page = open_page("rob")
    assert "Dialogues that wait for you: 3" in page.text
    page.go("Label").go("Review")
    assert held() == 0
    page.start()
    assert held() == 1
    assert "Dialogue d2" in open_page("rob").words, "what one holds is there again"
    page.decide("kept").act("stop")
    assert held() == 0
    assert "The task went back to the queue." in page.text
    assert "Dialogues that wait for you: 3" in page.text
    page.start()
    assert [choice["state"] for choice in page.workspace()["choices"]] == ["kept", "open"], (
        "the draft is kept"
    )


def test_a_reason_for_rejecting_is_saved_with_the_answer(open_page: Open, saved: Saved) -> None:
    page = open_page("rob").start()
    page.decide("rejected", why="too_small").decide("", "rejected", why="<b>no reason of the list</b>")
    page.act("save")
    (row,) = saved()
    assert json.loads(row["rejections"]) == [{"code": "C1", "reason": "too_small", "turn": 1}]
    history = open_page("lea", at="Dialogue", id="d2").text
    assert "turn 1: C1 Question ignored, rejected: Too small to count" in history
    waiting = page.workspace()["title"]
    page.act("reopen").act("save")
    assert page.workspace()["title"] == waiting, "a correction leaves as many to do"
    page.act("reopen")
    assert [choice["why"] for choice in page.workspace()["choices"]] == ["too_small", ""]
    page.send("review", {"kind": "set", "id": "0", "state": "kept", "code": "C1", "severity": "S2"}).act(
        "save"
    )
    assert [row["rejections"] is None for row in saved()] == [False, False, True]


def test_a_finding_is_changed_and_another_added(open_page: Open, saved: Saved) -> None:
    page = open_page("rob").start().decide("kept", code="C2", severity="S2").decide("", "rejected")
    assert page.workspace()["fixed"]["given"]["3"]["C1"] == "3\xa0%"
    page.add("review", 3, "C1").act("save")
    (row,) = saved()
    assert row["marks"] == [(1, "C2", "S2", 0, 14), (3, "C1", "S2", 0, 21)]


def test_a_skip_stores_its_reason(open_page: Open, store: Store, saved: Saved) -> None:
    page = open_page("rob").start().act("skip", reason="no such reason")
    assert "Dialogue d2" in page.words
    page.act("skip", reason="broken", more="half of it")
    assert "Dialogue d1" in page.words
    assert "1 more wait for you" in page.words, "what one skipped is not counted"
    assert saved() == []
    skipped = store.read(
        lambda transaction: transaction.run(lease_rows.select().where(lease_rows.c.state == "skipped")).one()
    )
    assert (skipped.account, skipped.reason) == ("rob", "The text is broken or cut off: half of it")


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
    place = {"turn": 3, "start": 0, "end": 7}
    own = {"kind": "add", "seq": 2, "id": "own-1", "code": "C1", "severity": "S2", **place}
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


@pytest.mark.parametrize("choice", ["Save mine as well", "Keep theirs"])
def test_a_conflict_displays_both_answers(open_page: Open, store: Store, saved: Saved, choice: str) -> None:
    page = open_page("rob").start().decide("kept", "rejected")
    late = update(lease_rows).where(lease_rows.c.account == "rob").values(expires_ms=0)
    store.write(lambda transaction: transaction.run(late))
    lease = leases.claim(store, "ria", "to review")
    assert lease is not None
    annotations.submit(store, "ria", lease.task, lease.token, "hers", [])
    page.act("save")
    assert "Compare" in page.test.warning[0].value
    words = page.text
    assert all(each in words for each in ("ria", "Nothing wrong here.", "C1 Question ignored"))
    assert len(saved()) == 1, "nothing is overwritten"
    page.press(choice)
    hers, *mine = saved()
    assert hers["marks"] == []
    assert [(row["labeler"], row["marks"]) for row in mine] == (
        [("rob", [(1, "C1", "S2", 0, 14)])] if choice == "Save mine as well" else []
    )


def test_a_long_dialogue_is_paginated(
    open_page: Open, store: Store, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogue_view, "PAGE_TURNS", 4)
    texts = [f"Turn {n}: anna{n}@example.com" for n in range(10)]
    add_to_review(
        store,
        make_dialogue("long", *texts),
        make_finding(turn=1, quote="Turn"),
        make_finding(turn=9, quote="Turn"),
    )
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
    assert row["marks"] == [(1, "C1", "S2", 0, 4), (5, "C2", row["marks"][1][2], 0, 25)]
    assert "anna5" not in row["findings"]
