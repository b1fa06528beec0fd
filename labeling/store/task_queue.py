"""The queue of a pool: the counts of each task, and the search for the next open task of an account.

`update_task` is the only function that changes a task's counts (wanted, answered and leased) and the
state that follows from them. Tasks are ordered by priority, then age. A search walks the open tasks in this
order, past those that the account has had: 1.1 ms for each 1,000 of them (SQLite, 2026-11-28). Permissions
are checked by the caller.
"""

from __future__ import annotations

import time
from random import uniform
from typing import Any

from sqlalchemy import ColumnElement, Row, bindparam, func, select, update

from dialint.labeling.store.database.schema import annotation_rows, leases, participants, tasks
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.records import Account, DialogueMissing, Pool, Project, TaskState

UNLIMITED = 1_000_000
"""Wanted answers of tasks that everybody may answer: training, exam and control tasks."""

_LOCK = select(tasks).where(tasks.c.id == bindparam("task")).with_for_update(key_share=True)


def lock_task(transaction: Transaction, task: int) -> Row[Any]:
    """Lock and return the task's row until the transaction ends.

    Raises:
        DialogueMissing: there is no such task.
    """
    row = transaction.run(_LOCK, {"task": task}).one_or_none()
    if row is None:
        raise DialogueMissing("E_TASK", "there is no such task; its dialogue may have been erased")
    return row


def update_task(transaction: Transaction, row: Row[Any], **changes: int) -> TaskState:
    """Set columns (`wanted`, `answered`, `leased`, `token`) of a locked task, and update its state."""
    values = {name: getattr(row, name) for name in ("wanted", "answered", "leased")} | changes
    state = _state(values["wanted"], values["answered"], values["leased"])
    transaction.run(_UPDATE_TASK, {"task": row.id, "token": row.token, **values, "state": state})
    return state


_UPDATE_TASK = (
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


def end_lease(transaction: Transaction, row: Row[Any], account: str, state: str, reason: str | None) -> None:
    """End a held lease of a locked task without an answer."""
    parameters = {"its_task": row.id, "its_account": account, "its_state": state, "its_reason": reason}
    if transaction.run(_END_LEASE, parameters).rowcount:
        update_task(transaction, row, leased=row.leased - 1)


_SET_LEASE_STATE = (
    update(leases)
    .where(leases.c.task == bindparam("its_task"), leases.c.account == bindparam("its_account"))
    .values(state=bindparam("its_state"))
)
_END_LEASE = _SET_LEASE_STATE.where(leases.c.state == "held").values(reason=bindparam("its_reason"))


def set_lease_state(transaction: Transaction, task: int, account: str, state: str) -> None:
    """Set the state of a lease; the caller updates the task."""
    transaction.run(_SET_LEASE_STATE, {"its_task": task, "its_account": account, "its_state": state})


def withdraw(transaction: Transaction, dialogue: str, pool: Pool) -> int:
    """Withdraw the tasks of a pool on a dialogue in all projects; return how many. Held ones may still be
    answered."""
    query = select(tasks).where(tasks.c.dialogue == dialogue, tasks.c.pool == pool, tasks.c.wanted > 0)
    rows = transaction.run(query.order_by(tasks.c.id).with_for_update(key_share=True)).all()
    for row in rows:
        update_task(transaction, row, wanted=0)
    return len(rows)


def count_by_state(transaction: Transaction, project: str) -> dict[tuple[Pool, TaskState], int]:
    """The number of tasks of a project by pool and state; pools and states without any are left out."""
    return {(row.pool, row.state): row.n for row in transaction.run(_COUNTS, {"project": project})}


_COUNTS = (
    select(tasks.c.pool, tasks.c.state, func.count().label("n"))
    .where(tasks.c.project == bindparam("project"))
    .group_by(tasks.c.pool, tasks.c.state)
)


def count_answered(transaction: Transaction, account: str, project: str, *pools: Pool) -> int:
    """Count the tasks of these pools of a project that an account has answered."""
    parameters = {"account": account, "project": project, "pools": pools}
    return int(transaction.run(_ANSWERED, parameters).scalar_one())


_ANSWERED = (
    select(func.count())
    .select_from(annotation_rows.join(tasks, tasks.c.id == annotation_rows.c.task))
    .where(annotation_rows.c.labeler == bindparam("account"), annotation_rows.c.supersedes.is_(None))
    .where(tasks.c.project == bindparam("project"), tasks.c.pool.in_(bindparam("pools", expanding=True)))
)

MAX_RETRIES, RETRY_PAUSE_S = 4, (0.005, 0.05)
"""Repetitions of a search while all matching tasks are locked by others, and the range of the pause."""
TOUCHED = ("held", "answered", "skipped", "discarded")
"""States of a lease after which the account does not get the task again."""


def find_next_open(
    transaction: Transaction, account: Account, project: Project, pool: Pool
) -> Row[Any] | None:
    """Lock and return the first task that the account may claim, or none. While all of them are locked by
    concurrent claims or answers, the search is repeated without holding a lock: they may still be open when
    those transactions end."""
    parameters = {"project": project.id, "pool": pool, "account": account.id, "agent": account.agent}
    row = transaction.run(_LOCK_NEXT, parameters).one_or_none()
    for _ in range(0 if transaction.on_sqlite else MAX_RETRIES):
        if row is not None or transaction.run(_NEXT, parameters).one_or_none() is None:
            break
        time.sleep(uniform(*RETRY_PAUSE_S))
        row = transaction.run(_LOCK_NEXT, parameters).one_or_none()
    return row


def is_not_own() -> ColumnElement[bool]:
    """Condition that `agent`, if there is one, did not speak in a task's dialogue. A scalar subquery:
    PostgreSQL would join an EXISTS with all rows of the agent."""
    own = select(participants.c.person).where(
        participants.c.dialogue == tasks.c.dialogue, participants.c.person == bindparam("agent")
    )
    return own.scalar_subquery().is_(None)


def _find_claimable() -> tuple[ColumnElement[bool], ...]:
    """Conditions on open tasks that the account did not have before; none of an agent's own dialogues."""
    touched = select(leases.c.task).where(
        leases.c.task == tasks.c.id, leases.c.account == bindparam("account"), leases.c.state.in_(TOUCHED)
    )
    return (
        tasks.c.project == bindparam("project"),
        tasks.c.pool == bindparam("pool"),
        tasks.c.state == "open",
        func.coalesce(touched.scalar_subquery(), 0) == 0,
        is_not_own(),
    )


def count_claimable(transaction: Transaction, account: Account, project: str, pool: Pool) -> int:
    """Count the tasks that `find_next_open` may still return, one after the other."""
    parameters = {"project": project, "pool": pool, "account": account.id, "agent": account.agent}
    return int(transaction.run(_N_CLAIMABLE, parameters).scalar_one())


_N_CLAIMABLE = select(func.count()).select_from(tasks).where(*_find_claimable())
_NEXT = select(tasks).where(*_find_claimable()).order_by(tasks.c.rank, tasks.c.id).limit(1)
_LOCK_NEXT = _NEXT.with_for_update(key_share=True, skip_locked=True, of=tasks)
