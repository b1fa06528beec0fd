"""Annotations are append-only: a correction is a new row that names the one it supersedes.

The caller makes an idempotency key for each: saving with the same key returns the existing row, so that a
click repeated after a lost connection counts once. The store itself records whether a verdict was seen.
Stored findings refer to original texts; labelers send and get findings in the text that is displayed to them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Row, select

from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation, Kind, Rejection
from dialint.labeling.store.database.schema import annotation_rows
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.dialogues import has_verdict
from dialint.labeling.store.exposure import APPEAL, has_part, has_seen, record_read, require_not_own
from dialint.labeling.store.leases import claim, lock_task_and_lease, require_held, require_part
from dialint.labeling.store.masked_view import mask_annotation, unmask_findings, view_for_account
from dialint.labeling.store.permissions import (
    get_account,
    has_permission,
    read_operation,
    require_permission,
    write_operation,
)
from dialint.labeling.store.projects import get_open_project, get_project, require_open
from dialint.labeling.store.records import Account, Conflict, NotAllowed, StoreRefused, TaskView
from dialint.labeling.store.stored_annotations import find_same, lock_dialogues, save, to_annotation
from dialint.labeling.store.task_queue import set_lease_state, update_task
from dialint.labeling.store.task_view import OpenTask, delete_draft, name_of_task, open_lease, view_task

REVIEW_KINDS: tuple[Kind, ...] = ("reviewer", "expert", "appeal")


@write_operation("label")
def submit(
    transaction: Transaction,
    actor: str,
    task: int,
    token: int,
    key: str,
    findings: Sequence[Finding] = (),
    seconds: float | None = None,
    rejections: Sequence[Rejection] = (),
) -> Annotation:
    """Answer a task that the actor holds; an answer may have no findings. `rejections` are reasons for which
    findings of a model are not among them.

    Raises:
        StaleLease: the actor does not hold it any more.
        NotAllowed: the actor spoke in the dialogue, or has lost the role or status that the task needs.
        StoreRefused: the project was closed, the key was used for another answer, a finding has a code or
            turn that the task does not ask, or a labeler's quote does not match the displayed text at its
            offsets.
    """
    account = get_account(transaction, actor)
    row, is_held = lock_task_and_lease(transaction, actor, task, token)
    project = get_project(transaction, row.project)
    view = view_for_account(transaction, account, project, row.dialogue) if findings else None
    values = {
        "key": key, "project": row.project, "task": task, "dialogue": row.dialogue, "turn": row.turn,
        "labeler": actor, "kind": _kind(account), "codes": project.codes,
        "findings": unmask_findings(view, findings), "seconds": seconds, "supersedes": None,
        "rejections": rejections,
    }  # fmt: skip
    if not is_held and (same := find_same(transaction, values)):
        return mask_annotation(account, view, task, same)
    require_held(task, is_held=is_held)
    require_part(account, project, row.pool)
    require_open(transaction, row.project)
    require_not_own(transaction, account, row.dialogue)
    seen = project.prelabelled and has_verdict(transaction, row.dialogue)
    seen = seen or has_seen(transaction, actor, row.dialogue)
    saved = save(transaction, actor, {**values, "seen_verdict": seen})
    set_lease_state(transaction, task, actor, "answered")
    numbers = {"answered": row.answered + 1, "leased": row.leased - 1}
    if row.wanted and row.why == APPEAL and (seen or has_part(transaction, actor, row.dialogue)):
        numbers["wanted"] = row.wanted + 1  # not blind, so it does not count as a second review
    update_task(transaction, row, **numbers)
    return mask_annotation(account, view, task, saved)


@write_operation()
def submit_and_claim(
    transaction: Transaction,
    actor: str,
    task: int,
    token: int,
    key: str,
    findings: Sequence[Finding] = (),
    seconds: float | None = None,
    rejections: Sequence[Rejection] = (),
    *,
    project: str | None,
) -> tuple[Annotation, OpenTask | None]:
    """As `submit`, and in the same transaction delete the draft of the answer, then claim and open the next
    task of `project`, unless it is None. Returns no task if there is none or the project accepts no more
    claims: the answer is saved all the same.

    Raises:
        StaleLease, NotAllowed, StoreRefused: as for `submit`; nothing was saved and nothing claimed.
    """
    answer = submit(transaction, actor, task, token, key, findings, seconds, rejections)
    delete_draft(transaction, actor, name_of_task(task))
    lease = None
    if project is not None:
        with suppress(StoreRefused):
            lease = claim(transaction, actor, project)
    return answer, None if lease is None else open_lease(transaction, actor, lease)


@write_operation("label")
def correct(
    transaction: Transaction,
    actor: str,
    supersedes: int,
    key: str,
    findings: Sequence[Finding] = (),
    seconds: float | None = None,
    rejections: Sequence[Rejection] = (),
) -> Annotation:
    """Supersede the actor's newest answer to the same question by a new row.

    Raises:
        NotAllowed: the answer is not the actor's own, or is a review and the actor reviews no more.
        Conflict: it was corrected already.
        StoreRefused: its project is closed or past its deadline, or as for `submit`.
    """
    account = get_account(transaction, actor)
    old = transaction.run(select(annotation_rows).where(annotation_rows.c.id == supersedes)).one_or_none()
    if old is None or old.labeler != actor:
        raise NotAllowed("E_RIGHT", "{actor} corrects own answers only", actor=actor)
    if old.kind in REVIEW_KINDS:
        require_permission(transaction, actor, "review")
    lock_dialogues(transaction, {old.dialogue})
    require_not_own(transaction, account, old.dialogue)
    project = None if old.project is None else get_project(transaction, old.project)
    view = view_for_account(transaction, account, project, old.dialogue)
    values = {
        "key": key, "codes": tuple(json.loads(old.codes)), "findings": unmask_findings(view, findings),
        "seconds": seconds, "rejections": rejections, "supersedes": supersedes,
        **{name: getattr(old, name) for name in ("project", "task", "dialogue", "turn", "labeler", "kind")},
    }  # fmt: skip
    if same := find_same(transaction, values):
        return mask_annotation(account, view, old.task, same)
    if old.project is not None:
        get_open_project(transaction, old.project)
    newer = transaction.run(select(annotation_rows).where(annotation_rows.c.supersedes == supersedes)).all()
    if not newer and old.task is None and old.kind in REVIEW_KINDS:
        newer = _reviews(transaction, old.dialogue, old.turn, supersedes)
    if newer:
        theirs = tuple(mask_annotation(account, view, old.task, to_annotation(row)) for row in newer)
        ours = tuple(findings)
        raise Conflict(
            "annotation {supersedes} is not the newest any more", theirs, ours, supersedes=supersedes
        )
    seen = old.seen_verdict or has_seen(transaction, actor, old.dialogue)
    saved = save(transaction, actor, {**values, "seen_verdict": seen})
    return mask_annotation(account, view, old.task, saved)


@write_operation("review")
def review(
    transaction: Transaction,
    actor: str,
    dialogue: str,
    key: str,
    codes: Sequence[str],
    findings: Sequence[Finding] = (),
    *,
    expected: int | None,
    turn: int | None = None,
    seconds: float | None = None,
    rejections: Sequence[Rejection] = (),
) -> Annotation:
    """Save a reviewer's or expert's annotation of a dialogue or a turn. `expected` is the version that
    the actor saw: the number of the last review of this item, none if there was none.

    Raises:
        NotAllowed: the actor does not review, or spoke in the dialogue.
        Conflict: somebody saved another version since; it holds both.
        StoreRefused: an unknown dialogue, or as for `submit`.
    """
    account = get_account(transaction, actor)
    lock_dialogues(transaction, {dialogue})
    require_not_own(transaction, account, dialogue)
    values = {
        "key": key, "project": None, "task": None, "dialogue": dialogue, "turn": turn, "labeler": actor,
        "kind": _kind(account), "codes": tuple(codes), "findings": findings, "seconds": seconds,
        "supersedes": None, "rejections": rejections,
    }  # fmt: skip
    if same := find_same(transaction, values):
        return same
    rows = _reviews(transaction, dialogue, turn, expected or 0)
    if rows:
        theirs, last = tuple(map(to_annotation, rows)), rows[-1].labeler
        raise Conflict(
            "{n} newer reviews, the last by {name}", theirs, tuple(findings), n=len(rows), name=last
        )
    seen = has_verdict(transaction, dialogue) or has_seen(transaction, actor, dialogue)
    if expected is not None and not seen:  # the expected version was displayed to the actor
        author = select(annotation_rows.c.labeler).where(annotation_rows.c.id == expected)
        seen = transaction.run(author).scalar_one_or_none() not in (None, actor)
    return save(transaction, actor, {**values, "seen_verdict": seen})


def _kind(account: Account) -> Kind:
    if has_permission(account, "decide"):
        return "expert"
    return "reviewer" if has_permission(account, "review") else "crowd"


def _reviews(transaction: Transaction, dialogue: str, turn: int | None, after: int) -> Sequence[Row[Any]]:
    """Annotations of a dialogue or turn that answer no task, after the number `after`, oldest first."""
    columns = annotation_rows.c
    newer = select(annotation_rows).filter_by(dialogue=dialogue, turn=turn, task=None)
    return transaction.run(newer.where(columns.id > after).order_by(columns.id)).all()


@read_operation("review")
def list_annotations(
    transaction: Transaction, actor: str, dialogue: str, *, with_corrected: bool = False
) -> tuple[Annotation, ...]:
    """The annotations of a dialogue, oldest first; those that a later one corrects only `with_corrected`."""
    every = select(annotation_rows).where(annotation_rows.c.dialogue == dialogue)
    rows = transaction.run(every.order_by(annotation_rows.c.id)).all()
    if any(row.labeler != actor for row in rows):
        record_read(transaction, actor, dialogue, "answers")
    corrected = set() if with_corrected else {row.supersedes for row in rows}
    return tuple(to_annotation(row) for row in rows if row.id not in corrected)


@read_operation("label")
def list_own(transaction: Transaction, actor: str, n: int = 50) -> tuple[Annotation, ...]:
    """The actor's newest `n` answers, newest first, masked as the dialogues are for the actor."""
    account = get_account(transaction, actor)
    own = select(annotation_rows).where(annotation_rows.c.labeler == actor)
    rows = transaction.run(own.order_by(annotation_rows.c.id.desc()).limit(n)).all()
    return tuple(_mask_own(transaction, account, row) for row in rows)


def _mask_own(transaction: Transaction, account: Account, row: Row[Any]) -> Annotation:
    """An answer of the account, masked for it; an answer without findings needs no masked view."""
    answer = to_annotation(row)
    view = None
    if answer.findings:
        project = None if row.project is None else get_project(transaction, row.project)
        view = view_for_account(transaction, account, project, row.dialogue)
    return mask_annotation(account, view, row.task, answer)


@read_operation("label")
def find_last_answer(
    transaction: Transaction, actor: str, project: str
) -> tuple[TaskView, Annotation] | None:
    """The actor's newest answer to a task of a project, and the task as blind as it was, so that the actor
    can correct it; none if there is no answer."""
    account = get_account(transaction, actor)
    own = select(annotation_rows).filter_by(labeler=actor, project=project)
    to_tasks = own.where(annotation_rows.c.task.is_not(None)).order_by(annotation_rows.c.id.desc())
    row = transaction.run(to_tasks.limit(1)).one_or_none()
    if row is None:
        return None
    task = view_task(transaction, actor, row.task, again=True)
    return task, _mask_own(transaction, account, row)
