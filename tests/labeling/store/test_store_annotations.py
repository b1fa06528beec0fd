"""Answers: append-only, idempotent by key, blind, and never overwritten in silence (F9)."""

import os
import threading
from datetime import UTC, datetime
from typing import Any

import make
import pytest
from answering import answer, claim
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from dialint.labeling.annotation import Rejection
from dialint.labeling.store import (
    accounts,
    annotations,
    dialogues,
    gold,
    leases,
    projects,
    rater_status,
    task_view,
    tasks,
)
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import (
    Conflict,
    Gold,
    Lease,
    NewTask,
    NotAllowed,
    Project,
    StaleLease,
    StoreRefused,
)


def held(store: Store, actor: str = "ann", **options: Any) -> Lease:
    projects.create(store, "lea", Project(id="p", codes=("C1",), **options))
    dialogues.add(store, "lea", [make.dialogue("d1")])
    dialogues.add_verdicts(store, "lea", [make.verdict("d1", make.finding(probability=0.87))])
    new = NewTask(dialogue="d1", priority=0.87, inclusion_probability=0.5, why="risk: 1 of 7")
    tasks.add(store, "lea", "p", [new])
    return claim(store, actor, "p")


def test_the_same_key_again_gives_the_same_row(store: Store) -> None:
    lease = held(store, overlap=2)
    first = annotations.submit(store, "ann", lease.task, lease.token, "k", [make.finding()], 12)
    again = annotations.submit(store, "ann", lease.task, lease.token, "k", [make.finding()], 12)
    assert again == first
    assert (first.kind, first.findings, first.seconds) == ("crowd", (make.finding(),), 12.0)
    other = claim(store, "ben", "p")
    for actor, own in (("ann", lease), ("ben", other)):
        with pytest.raises(StoreRefused, match="another answer"):
            annotations.submit(store, actor, own.task, own.token, "k", [], 12)
    assert annotations.list_own(store, "ann") == (first,)
    (stored,) = annotations.list_annotations(store, "rob", "d1")
    assert stored == first.model_copy(update={"dialogue_id": "d1"})


def test_an_answer_and_the_next_claim_are_one(store: Store) -> None:
    lease = held(store)
    dialogues.add(store, "lea", [make.dialogue("d2")])
    tasks.add(store, "lea", "p", [NewTask(dialogue="d2")])
    task_view.save_draft(store, "ann", f"task:{lease.task}", "{}", "d1")
    key = (lease.task, lease.token, lease.answer_key)
    answer, opened = annotations.submit_and_claim(store, "ann", *key, [make.finding()], project="p")
    assert opened is not None
    assert (opened.lease.dialogue, opened.view.dialogue.turns) == ("d2", make.dialogue("d2").turns)
    assert task_view.load_draft(store, "ann", f"task:{lease.task}", "d1") is None
    assert leases.claim(store, "ann", "p") == opened.lease, "it is found again, with the same key"
    again = annotations.submit_and_claim(store, "ann", *key, [make.finding()], project="p")
    assert again == (answer, opened), "however often it is sent, it counts once"
    with pytest.raises(StaleLease):
        annotations.submit_and_claim(store, "ann", lease.task, lease.token, "other", project="p")


def test_an_answer_stands_where_nothing_more_can_be_claimed(store: Store, time_: Any) -> None:
    lease = held(store, deadline=datetime.fromtimestamp(time_.wall_ms / 1000 + 9, UTC))
    time_.pass_s(10)
    key = (lease.task, lease.token, "k")
    answer, opened = annotations.submit_and_claim(store, "ann", *key, project="p")
    assert (annotations.list_own(store, "ann"), opened) == ((answer,), None)


def test_why_a_finding_was_rejected_is_part_of_the_answer(store: Store) -> None:
    lease = held(store, prelabelled=True)
    why = (Rejection(turn=1, code="C1", reason="answered"),)
    for rejection in (Rejection(turn=7, code="C1", reason="x"), Rejection(turn=1, code="T1", reason="x")):
        with pytest.raises(StoreRefused, match="was not asked"):
            annotations.submit(store, "ann", lease.task, lease.token, "k", rejections=[rejection])
    first = annotations.submit(store, "ann", lease.task, lease.token, "k", rejections=why)
    assert annotations.submit(store, "ann", lease.task, lease.token, "k", rejections=why) == first
    with pytest.raises(StoreRefused, match="another answer"):
        annotations.submit(store, "ann", lease.task, lease.token, "k")
    assert first.rejections == why
    second = annotations.correct(store, "ann", int(first.id), "k2")
    assert [each.rejections for each in annotations.list_annotations(store, "rob", "d1")] == [()]
    assert "rejections" not in second.model_dump_json()
    verify(store)


def test_what_is_written_stays(store: Store) -> None:
    lease = held(store)
    annotations.submit(store, "ann", lease.task, lease.token, "k", [make.finding()])
    saved = annotations.list_annotations(store, "rob", "d1")
    for statement in (
        "UPDATE annotations SET findings = '[]'", "DELETE FROM annotations", "UPDATE audit SET account = 'x'",
        "DELETE FROM audit",
    ):  # fmt: skip
        with pytest.raises(DBAPIError, match="append-only"), store.engine.begin() as connection:
            connection.execute(text(statement))
    assert annotations.list_annotations(store, "rob", "d1") == saved


def test_one_bad_finding_saves_nothing(store: Store) -> None:
    lease = held(store)
    for bad in (make.finding(code="T1"), make.finding(turn=7), make.finding(end=99)):
        with pytest.raises(StoreRefused, match="E_FINDING"):
            annotations.submit(store, "ann", lease.task, lease.token, "k", [make.finding(), bad])
    assert annotations.list_annotations(store, "rob", "d1") == ()
    annotations.submit(store, "ann", lease.task, lease.token, "k")


def test_the_last_answer_is_seen_again_as_blind_as_it_was_given(store: Store) -> None:
    lease = held(store, overlap=2)
    assert annotations.find_last_answer(store, "ann", "p") is None, "held is not answered"
    before = task_view.view_task(store, "ann", lease.task)
    other = claim(store, "rob", "p")
    for actor, one in (("rob", other), ("ann", lease)):
        annotations.submit(store, actor, one.task, one.token, actor, [make.finding(probability=1.0)])
    last = annotations.find_last_answer(store, "ann", "p")
    assert last == (before, annotations.list_own(store, "ann")[0])
    seen = annotations.find_last_answer(store, "rob", "p")
    assert seen is not None
    assert (seen[0].verdict, seen[0].answers, seen[0].dialogue.agent) == (None, (), None), "reviewers too"
    corrected = annotations.correct(store, "ann", int(last[1].id), "k2", [])
    assert annotations.find_last_answer(store, "ann", "p") == (before, corrected)
    assert annotations.find_last_answer(store, "ann", "q") is None
    for actor in ("ben", "ria"):  # who did not answer it
        assert annotations.find_last_answer(store, actor, "p") is None
        with pytest.raises(NotAllowed):
            task_view.view_task(store, actor, lease.task, again=True)
    accounts.set_status(store, "lea", "ann", "suspended")
    with pytest.raises(NotAllowed):
        annotations.find_last_answer(store, "ann", "p")


def test_a_control_task_taken_back_looks_like_any_other(store: Store) -> None:
    projects.create(store, "lea", Project(id="p", codes=("C1",), control_share=1.0))
    dialogues.add(store, "lea", [make.dialogue("d1"), make.dialogue("known")])
    gold.set_gold(store, "eve", Gold(dialogue="known", turn=1, code="C1", present=True, source="expert"))
    tasks.add(store, "lea", "p", [NewTask(dialogue="d1"), NewTask(dialogue="known", pool="control")])
    lease = claim(store, "ann", "p")
    assert lease.dialogue == "known"
    before = task_view.view_task(store, "ann", lease.task)
    annotations.submit(store, "ann", lease.task, lease.token, "k")
    last = annotations.find_last_answer(store, "ann", "p")
    assert last is not None
    assert last[0] == before
    assert not [word for word in ("known", "control", "gold") if word in last[0].model_dump_json()]
    annotations.correct(store, "ann", int(last[1].id), "k2", [make.finding()])
    (grade,) = store.read(lambda transaction: rater_status.grade_account(transaction, "ann", "control", n=9))
    assert [one.marked for one in grade.grades] == [True], "the newest answer is graded"


@pytest.mark.parametrize("prelabelled", [False, True])
def test_blind_unless_prelabelled_and_the_store_notes_it(store: Store, prelabelled: bool) -> None:
    lease = held(store, overlap=2, prelabelled=prelabelled)
    answer(store, "ben", "p", "ben's", [make.finding(probability=1.0)])
    seen = task_view.view_task(store, "ann", lease.task)
    assert seen.answers == ()
    assert (seen.verdict is not None) == prelabelled
    raw = seen.model_dump_json() + lease.model_dump_json()
    for trace in ("passed over", "0.87", "ben", "risk: 1 of 7", "injected", "a1"):
        assert (trace in raw) == (prelabelled and trace in ("passed over", "0.87")), trace
    saved = annotations.submit(store, "ann", lease.task, lease.token, "k")
    assert saved.seen_verdict is prelabelled
    assert [one.labeler for one in task_view.view_task(store, "rob", lease.task).answers] == ["ben", "ann"]


def test_f9_the_second_is_shown_both_values(store: Store) -> None:
    dialogues.add(store, "lea", [make.dialogue("d1")])
    mine, theirs = [make.finding()], [make.finding(severity="S1")]
    first = annotations.review(store, "rob", "d1", "k1", ["C1"], theirs, expected=None)
    with pytest.raises(Conflict, match="by rob") as conflict:
        annotations.review(store, "ria", "d1", "k2", ["C1"], mine, expected=None)
    assert (conflict.value.theirs, conflict.value.ours) == ((first,), tuple(mine))
    second = annotations.review(store, "ria", "d1", "k3", ["C1"], mine, expected=int(first.id))
    with pytest.raises(Conflict):
        annotations.correct(store, "rob", int(first.id), "k4", [])
    other_item = annotations.review(store, "eve", "d1", "k5", ["C1"], turn=1, expected=None)
    assert other_item.kind == "expert"
    assert annotations.review(store, "rob", "d1", "k1", ["C1"], theirs, expected=None) == first
    assert annotations.list_annotations(store, "rob", "d1") == (first, second, other_item)


def test_f9_no_silent_overwrite_in_a_race(store: Store) -> None:
    """Two reviewers save the same version at once, again and again: one row a round, one conflict."""
    rounds, conflicts = 1000 if "DIALINT_CLAIMS" in os.environ else 10, []
    dialogues.add(store, "lea", [make.dialogue("d1")])
    barrier = threading.Barrier(2)
    last: int | None = None

    def save(actor: str, number: int, expected: int | None) -> None:
        barrier.wait()
        try:
            annotations.review(store, actor, "d1", f"{actor}{number}", ["C1"], expected=expected)
        except Conflict as conflict:
            conflicts.append(conflict)

    for number in range(rounds):
        pair = [threading.Thread(target=save, args=(actor, number, last)) for actor in ("rob", "ria")]
        for thread in pair:
            thread.start()
        for thread in pair:
            thread.join()
        saved = annotations.list_annotations(store, "rob", "d1")
        assert len(saved) == number + 1
        assert [one.id for one in conflicts[-1].theirs] == [saved[-1].id]
        last = int(saved[-1].id)
    assert len(conflicts) == rounds


def test_drafts_are_ones_own(store: Store) -> None:
    dialogues.add(store, "lea", [make.dialogue("d1")])
    task_view.save_draft(store, "ann", "note:d1", '{"half": "a thought"}', "d1")
    task_view.save_draft(store, "ann", "note:d1", '{"half": "a better one"}', "d1")
    draft = task_view.load_draft(store, "ann", "note:d1", "d1")
    assert draft is not None
    assert draft.content == '{"half": "a better one"}'
    assert task_view.load_draft(store, "ada", "note:d1", "d1") is None
    task_view.delete_draft(store, "ann", "note:d1")
    assert task_view.load_draft(store, "ann", "note:d1", "d1") is None


def test_whoever_reviews_no_more_corrects_no_review(store: Store) -> None:
    dialogues.add(store, "lea", [make.dialogue("d")])
    own = annotations.review(store, "rob", "d", "first", ["C1"], expected=None)
    annotations.correct(store, "rob", int(own.id), "second")
    accounts.change(store, "ada", "rob", "labeler", None)
    with pytest.raises(NotAllowed, match="E_RIGHT"):
        annotations.correct(store, "rob", int(own.id) + 1, "third")
