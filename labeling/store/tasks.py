"""Tasks: adding them to a project's queue, their states, and the view that a labeler gets of them.

The counts of a task, and the state that follows from them, are changed by `task_queue.update_task`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import exists, false, func, insert, select

from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import (
    counts,
    dialogues,
    gold,
    pairs,
    tasks,
    verdicts,
)
from dialint.labeling.store.database.transactions import Store, Transaction, read_pages
from dialint.labeling.store.dialogues import MAX_PER_CALL, compute_sha256
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.permissions import read_operation, require_permission, write_operation
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.records import NewTask, Pool, Project, TaskState
from dialint.labeling.store.task_queue import ENDLESS, add_to_count, lock_task, restart_cursors, update_task

STATES: tuple[TaskState, ...] = get_args(TaskState)
Design = Literal["random", "risk", "uncertain", "stratified", "audit"]
"""How dialogues are sampled; see `queue.sampling.SamplingConfig`."""


class SamplingUnit(NamedTuple):
    """A dialogue of a sampling frame; `risk` is the mean of its verdicts over releases, for designs that
    need it."""

    id: str
    agent: str | None
    team: str | None
    channel: str | None
    risk: float = 0.0


@write_operation("plan")
def add(transaction: Transaction, actor: str, project: str, new: Sequence[NewTask]) -> int:
    """Add up to 1,000 tasks to a project's queue; return how many were new. An existing one (the same
    dialogue and turn) is not changed. Everybody may answer tasks of the pools `training`, `exam` and
    `control`, whatever the overlap; the priority of control tasks is ignored.

    Raises:
        StoreRefused: an unknown project or dialogue, a duplicate turn, or a control task without gold.
    """
    return insert_tasks(transaction, actor, get_project(transaction, project), new)


def insert_tasks(transaction: Transaction, actor: str, target: Project, new: Sequence[NewTask]) -> int:
    """As `add`; permissions are checked by the caller."""
    project = target.id
    items = {(task.dialogue, task.turn): task for task in new}
    if len(items) != len(new) or len(new) > MAX_PER_CALL:
        raise StoreRefused(
            "E_TASK", "expected at most {most} tasks, each dialogue and turn once", most=MAX_PER_CALL
        )
    ids = {task.dialogue for task in new}
    if len(transaction.run(select(dialogues.c.id).where(dialogues.c.id.in_(ids))).all()) != len(ids):
        raise StoreRefused("E_TASK", "a task's dialogue is not in the store")
    _validate_controls(transaction, target, {task.dialogue for task in new if task.pool == "control"})
    query = select(tasks.c.dialogue, tasks.c.turn).where(
        tasks.c.project == project, tasks.c.dialogue.in_(ids)
    )
    for row in transaction.run(query):
        items.pop((row.dialogue, row.turn), None)
    if items:
        rows = [_row(target, task, transaction.now_ms) for task in items.values()]
        inserted = transaction.run(
            insert(tasks).returning(tasks.c.pool, tasks.c.rank, tasks.c.id), rows
        ).all()
        record_pairs(transaction, {task.dialogue: task.dialogue for task in new if task.pool == "control"})
        for pool, n in Counter(task.pool for task in items.values()).items():
            add_to_count(transaction, project, pool, "open", n)
            first = min((row.rank, row.id) for row in inserted if row.pool == pool)
            restart_cursors(transaction, project, pool, *first)
        digest = compute_sha256(canonical_json([task.model_dump() for task in items.values()]))
        transaction.log(actor, "tasks.add", project, n=len(items), sha256=digest)
    return len(items)


def _row(project: Project, task: NewTask, now_ms: int) -> dict[str, Any]:
    """The columns of a new task. The rank of a control task counts its displays (see `control_tasks`)."""
    columns = task.model_dump(exclude={"priority"})
    rank = 0.0 if task.pool == "control" else -task.priority
    wanted = project.overlap if task.pool == "main" else ENDLESS
    return {
        **columns,
        "project": project.id,
        "rank": rank,
        "state": "open",
        "wanted": wanted,
        "created_ms": now_ms,
    }


def _validate_controls(transaction: Transaction, project: Project, ids: set[str]) -> None:
    """Raise unless each dialogue has gold, and a verdict where the project is pre-labelled."""
    for table, is_needed in ((gold, True), (verdicts, project.prelabelled)):
        if ids and is_needed:
            rows = transaction.run(select(table.c.dialogue).where(table.c.dialogue.in_(ids)).distinct())
            if missing := len(ids) - len(rows.all()):
                raise StoreRefused(
                    "E_CONTROL", "{missing} control tasks without {table}", missing=missing, table=table.name
                )


@write_operation("plan")
def set_wanted(transaction: Transaction, actor: str, task: int, n: int) -> TaskState:
    """Set the total number of answers that a task needs: fewer can complete it, more reopen it, 0 withdraws
    it.

    Raises:
        StoreRefused: no such task.
    """
    row = lock_task(transaction, task)
    if n < 0:
        raise StoreRefused("E_TASK", "a task cannot want fewer than no answers")
    state = update_task(transaction, row, wanted=n)
    transaction.log(actor, "task.want", f"task {task}", wanted=n)
    return state


@read_operation("review")
def count_tasks(transaction: Transaction, actor: str, project: str) -> dict[Pool, dict[TaskState, int]]:
    """How many tasks of a project are in each pool and state."""
    counts_by_pool: dict[Pool, dict[TaskState, int]] = {
        pool: dict.fromkeys(STATES, 0) for pool in get_args(Pool)
    }
    for row in transaction.run(select(counts).where(counts.c.project == project)):
        counts_by_pool[row.pool][row.state] = row.n
    return counts_by_pool


def record_pairs(transaction: Transaction, pair_by_dialogue: Mapping[str, str]) -> None:
    """Record which dialogues (keys) belong together (equal values); existing pairs are not changed."""
    recorded = set(
        transaction.run(
            select(pairs.c.dialogue).where(pairs.c.dialogue.in_(list(pair_by_dialogue)))
        ).scalars()
    )
    rows = [
        {"dialogue": name, "pair": pair} for name, pair in pair_by_dialogue.items() if name not in recorded
    ]
    if rows:
        transaction.run(insert(pairs), rows)


class TaskProgress(NamedTuple):
    """The counts of a task: answers wanted, answers given, and leases held."""

    id: int
    dialogue: str
    turn: int | None
    wanted: int
    answered: int
    leased: int


def list_answered_tasks(
    transaction: Transaction, project: str, dialogues: Collection[str] | None = None
) -> list[TaskProgress]:
    """The main-pool tasks of a project, on all or some dialogues, that have answers and are not withdrawn;
    permissions are checked by the caller."""
    columns = [getattr(tasks.c, name) for name in TaskProgress._fields]
    rows = select(*columns).where(tasks.c.project == project, tasks.c.pool == "main", tasks.c.answered > 0)
    if dialogues is not None:
        rows = rows.where(tasks.c.dialogue.in_(dialogues))
    return [
        TaskProgress(*tuple(row))
        for row in transaction.run(rows.where(tasks.c.wanted > 0).order_by(tasks.c.id))
    ]


@write_operation("plan")
def set_wanted_if_unchanged(transaction: Transaction, actor: str, task: TaskProgress, n: int) -> None:
    """As `set_wanted`, unless the task was answered or changed since it was read."""
    now = lock_task(transaction, task.id)
    if (now.wanted, now.answered) == (task.wanted, task.answered):
        set_wanted(transaction, actor, task.id, n)


def iterate_reasons(store: Store, project: str) -> Iterator[tuple[str, str]]:
    """Dialogue and reason (`why`) of every task of a project, read in pages; permissions are checked by the
    caller."""
    columns = (tasks.c.dialogue, tasks.c.why)
    for row in read_pages(store, (tasks.c.id,), columns, tasks.c.project == project):
        yield row.dialogue, row.why


def load_sampling_frame(
    transaction: Transaction, actor: str, project: str, design: Design
) -> list[SamplingUnit]:
    """Load every dialogue that a design covers and that has no task in the project yet, in order of id.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
    """
    require_permission(transaction, actor, "plan")
    get_project(transaction, project)
    has_task = exists().where(tasks.c.project == project, tasks.c.dialogue == dialogues.c.id)
    columns = (dialogues.c.id, dialogues.c.agent, dialogues.c.team, dialogues.c.channel)
    query = select(*columns).where(~has_task)
    if design in ("risk", "uncertain"):
        risk = select(verdicts.c.dialogue, func.avg(verdicts.c.risk).label("risk"))
        mean = risk.group_by(verdicts.c.dialogue).subquery()
        query = query.add_columns(mean.c.risk).join(mean, mean.c.dialogue == dialogues.c.id)
    if design == "audit":
        has_verdict = exists().where(verdicts.c.dialogue == dialogues.c.id)
        is_flagged = has_verdict.where(verdicts.c.flagged != false())
        query = query.where(has_verdict, ~is_flagged)
    return [SamplingUnit(*tuple(row)) for row in transaction.run(query.order_by(dialogues.c.id))]


def get_dialogue_id(store: Store, task: int) -> str:
    """The id of a task's dialogue; the caller checks permissions and does not display it to labelers."""
    query = select(tasks.c.dialogue).where(tasks.c.id == task)
    return str(store.read(lambda transaction: transaction.run(query).scalar_one()))
