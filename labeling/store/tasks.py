"""Tasks: how they come into a project's queue, what their states are, and what a labeler sees of them.

Every change of a task's numbers goes through `settle`, which keeps state and queue counts right.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, get_args

from sqlalchemy import Row, and_, bindparam, insert, or_, select, update

from detector.records import Finding
from labeling.annotation import Annotation
from labeling.store.database.audit import canonical
from labeling.store.database.refusals import NotAllowed, StoreRefused
from labeling.store.database.schema import annotation_rows, counts, dialogues, leases, shares, tasks
from labeling.store.database.transactions import Transaction, reading, writing
from labeling.store.database.upsert import adding
from labeling.store.dialogues import MOST_PER_CALL, content_of, sha256_of, verdict_on
from labeling.store.projects import existing
from labeling.store.records import NewTask, Pool, TaskState, TaskView
from labeling.store.rights import authorised, may

STATES: tuple[TaskState, ...] = get_args(TaskState)
_LOCKED = select(tasks).where(tasks.c.id == bindparam("task")).with_for_update(key_share=True)


@writing(repeatable=True)
def add(transaction: Transaction, actor: str, project: str, new: Sequence[NewTask]) -> int:
    """Put up to 1,000 tasks into a project's queue; how many were new. One that is there (the same
    dialogue and turn) stays as it is.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: an unknown project or dialogue, or a turn twice.
    """
    authorised(transaction, actor, "plan")
    overlap = existing(transaction, project).overlap
    items = {(task.dialogue, task.turn): task for task in new}
    if len(items) != len(new) or len(new) > MOST_PER_CALL:
        raise StoreRefused("E_TASK", f"expected at most {MOST_PER_CALL} tasks, each dialogue and turn once")
    ids = {task.dialogue for task in new}
    if len(transaction.run(select(dialogues.c.id).where(dialogues.c.id.in_(ids))).all()) != len(ids):
        raise StoreRefused("E_TASK", "a task's dialogue is not in the store")
    asked = select(tasks.c.dialogue, tasks.c.turn).where(
        tasks.c.project == project, tasks.c.dialogue.in_(ids)
    )
    for row in transaction.run(asked):
        items.pop((row.dialogue, row.turn), None)
    if items:
        rows = [_row(project, task, overlap, transaction.now_ms) for task in items.values()]
        transaction.run(insert(tasks), rows)
        for pool, n in Counter(task.pool for task in items.values()).items():
            count(transaction, project, pool, "open", n)
        restart_cursors(transaction, project)
        digest = sha256_of(canonical([task.model_dump() for task in items.values()]))
        transaction.log(actor, "tasks.add", project, n=len(items), sha256=digest)
    return len(items)


def _row(project: str, task: NewTask, overlap: int, now_ms: int) -> dict[str, Any]:
    kept = task.model_dump(exclude={"priority"})
    row = {**kept, "project": project, "rank": -task.priority, "state": "open"}
    return {**row, "wanted": overlap, "created_ms": now_ms}


@writing(repeatable=True)
def want(transaction: Transaction, actor: str, task: int, n: int) -> TaskState:
    """Ask for `n` answers to a task in all: fewer stops it, more opens it again; 0 withdraws it.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such task.
    """
    authorised(transaction, actor, "plan")
    row = locked(transaction, task)
    if n < 0:
        raise StoreRefused("E_TASK", "a task cannot want fewer than no answers")
    state = settle(transaction, row, wanted=n)
    transaction.log(actor, "task.want", f"task {task}", wanted=n)
    return state


@reading
def queue_counts(transaction: Transaction, actor: str, project: str) -> dict[Pool, dict[TaskState, int]]:
    """How many tasks of a project are in each pool and state.

    Raises:
        NotAllowed: the actor does not review.
    """
    authorised(transaction, actor, "review")
    found: dict[Pool, dict[TaskState, int]] = {pool: dict.fromkeys(STATES, 0) for pool in get_args(Pool)}
    for row in transaction.run(select(counts).where(counts.c.project == project)):
        found[row.pool][row.state] = row.n
    return found


@reading
def view(transaction: Transaction, actor: str, task: int) -> TaskView:
    """What the actor may see of a task. Blind for whoever holds it: no answers of others, nothing of how
    it was drawn, no agent's name, no metadata, and a verdict only if the project is pre-labelled.
    Reviewers who do not hold it see verdict and answers.

    Raises:
        NotAllowed: the actor neither holds the task nor reviews.
    """
    account = authorised(transaction, actor, "label")
    row = transaction.run(select(tasks).where(tasks.c.id == task)).one_or_none()
    held = select(leases.c.state).where(leases.c.task == task, leases.c.account == actor)
    holds = transaction.run(held).scalar_one_or_none() == "held"
    if row is None or not (holds or may(account, "review")):
        raise NotAllowed("E_RIGHT", f"{actor} has no right to see this task, or there is none")
    project = existing(transaction, row.project)
    dialogue = content_of(transaction, row.dialogue)
    assert dialogue is not None, "a foreign key"
    if holds:
        dialogue = dialogue.model_copy(update={"agent": None, "team": None, "metadata": {}})
    return TaskView(
        task=task,
        project=row.project,
        dialogue=dialogue,
        turn=row.turn,
        codes=project.codes,
        instructions=project.instructions,
        verdict=verdict_on(transaction, row.dialogue) if project.prelabelled or not holds else None,
        answers=() if holds else answers_to(transaction, task),
    )


def answers_to(transaction: Transaction, task: int) -> tuple[Annotation, ...]:
    """All annotations of a task, oldest first; rights are the caller's care."""
    rows = transaction.run(
        select(annotation_rows).where(annotation_rows.c.task == task).order_by(annotation_rows.c.id)
    )
    return tuple(annotation_of(row) for row in rows)


def annotation_of(row: Row[Any]) -> Annotation:
    """The record that a row of ``annotations`` stands for; its id is the row's number."""
    return Annotation(
        id=str(row.id),
        dialogue_id=row.dialogue,
        labeler=row.labeler,
        kind=row.kind,
        codes=tuple(json.loads(row.codes)),
        turn=row.turn,
        findings=tuple(Finding.model_validate(finding) for finding in json.loads(row.findings)),
        seen_verdict=row.seen_verdict,
        seconds=row.seconds,
        at=datetime.fromtimestamp(row.at_ms / 1000, UTC),
    )


def locked(transaction: Transaction, task: int) -> Row[Any]:
    """The task's row, ours to change until the transaction ends.

    Raises:
        StoreRefused: there is none.
    """
    row = transaction.run(_LOCKED, {"task": task}).one_or_none()
    if row is None:
        raise StoreRefused("E_TASK", "there is no such task")
    return row


def settle(transaction: Transaction, row: Row[Any], **changed: int) -> TaskState:
    """Set numbers (`wanted`, `answered`, `leased`, `token`) of a locked task, and all that follows."""
    now = {name: getattr(row, name) for name in ("wanted", "answered", "leased")} | changed
    state = _state(now["wanted"], now["answered"], now["leased"])
    transaction.run(_SETTLE, {"task": row.id, "token": row.token, **now, "state": state})
    if state != row.state:
        count(transaction, row.project, row.pool, row.state, -1)
        count(transaction, row.project, row.pool, state, 1)
        if state == "open":
            restart_cursors(transaction, row.project, row)
    return state


_SETTLE = (
    update(tasks)
    .where(tasks.c.id == bindparam("task"))
    .values({name: bindparam(name) for name in ("wanted", "answered", "leased", "token", "state")})
)


def _state(wanted: int, answered: int, leased: int) -> TaskState:
    if wanted == 0:
        return "withdrawn"
    if answered >= wanted:
        return "done"
    return "full" if answered + leased >= wanted else "open"


def count(transaction: Transaction, project: str, pool: str, state: str, n: int) -> None:
    """Add `n` to a queue's count, at the end of the transaction."""
    row = {"project": project, "pool": pool, "state": state, "n": n}
    transaction.at_end(adding(counts, transaction.on_sqlite, "n"), row)


def restart_cursors(transaction: Transaction, project: str, row: Row[Any] | None = None) -> None:
    """A task became open: everybody who has searched past it searches from it again; without a task, from
    the beginning. See `leases`."""
    if row is None:
        transaction.at_end(
            update(shares).where(shares.c.project == project).values(cursor_rank=None, cursor_task=None)
        )
    else:
        place = {"its_project": project, "its_pool": row.pool, "its_rank": row.rank, "its_task": row.id}
        transaction.at_end(_RESTART, {**place, "before": row.id - 1})


_RESTART = (
    update(shares)
    .where(shares.c.project == bindparam("its_project"), shares.c.pool == bindparam("its_pool"))
    .where(
        or_(
            shares.c.cursor_rank > bindparam("its_rank"),
            and_(
                shares.c.cursor_rank == bindparam("its_rank"), shares.c.cursor_task >= bindparam("its_task")
            ),
        )
    )
    .values(cursor_rank=bindparam("its_rank"), cursor_task=bindparam("before"))
)
