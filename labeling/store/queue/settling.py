"""The books of a task: answers wanted, given and on their way; its state, and the counts of its queue.

Every change of these numbers goes through `settle`. Rights are the caller's care.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, and_, bindparam, or_, select, update

from dialint.labeling.store.database.refusals import StoreRefused
from dialint.labeling.store.database.schema import counts, shares, tasks
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.database.upsert import adding
from dialint.labeling.store.records import Pool, TaskState

ENDLESS = 1_000_000
"""Answers wanted where everybody may give one: training, exam and control tasks."""

_LOCKED = select(tasks).where(tasks.c.id == bindparam("task")).with_for_update(key_share=True)


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
            restart_cursors(transaction, row.project, row.pool, row.rank, row.id)
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


def restart_cursors(transaction: Transaction, project: str, pool: str, rank: float, task: int) -> None:
    """A task became open: everybody who has searched past it searches from it again. See `search`."""
    place = {"its_project": project, "its_pool": pool, "its_rank": rank, "its_task": task}
    transaction.at_end(_RESTART, {**place, "before": task - 1})


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


def withdraw(transaction: Transaction, dialogue: str, pool: Pool) -> int:
    """Give the tasks of a pool on a dialogue to nobody any more, in all projects; how many. Who holds one
    may still answer it."""
    asked = select(tasks).where(tasks.c.dialogue == dialogue, tasks.c.pool == pool, tasks.c.wanted > 0)
    rows = transaction.run(asked.order_by(tasks.c.id).with_for_update(key_share=True)).all()
    for row in rows:
        settle(transaction, row, wanted=0)
    return len(rows)
