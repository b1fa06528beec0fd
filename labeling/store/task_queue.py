"""The queue of a pool: the counts of each task, and the search for the next open task of an account.

`update_task` is the only function that changes a task's numbers (answers wanted, given and leased) and the
state that follows from them. The queue goes by priority, then age. To keep a search short however much an
account has done, its position in the queue is stored (`shares.cursor_*`): everything before it is answered,
skipped or full. A task that opens again moves the cursors behind it back. In PostgreSQL a search can miss a
task that opens at the same moment, so a search without result starts over from the beginning, once in
`WRAP_MS`. Permissions are checked by the caller.
"""

from __future__ import annotations

import time
from random import uniform
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, bindparam, func, or_, select, tuple_, update

from dialint.labeling.store.database.schema import counts, leases, participants, shares, tasks
from dialint.labeling.store.database.transactions import Transaction, upsert_adding
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.records import Account, Pool, Project, TaskState

ENDLESS = 1_000_000
"""Answers wanted where everybody may give one: training, exam and control tasks."""

_LOCKED = select(tasks).where(tasks.c.id == bindparam("task")).with_for_update(key_share=True)


def lock_task(transaction: Transaction, task: int) -> Row[Any]:
    """The task's row, ours to change until the transaction ends.

    Raises:
        StoreRefused: there is none.
    """
    row = transaction.run(_LOCKED, {"task": task}).one_or_none()
    if row is None:
        raise StoreRefused("E_TASK", "there is no such task")
    return row


def update_task(transaction: Transaction, row: Row[Any], **changed: int) -> TaskState:
    """Set numbers (`wanted`, `answered`, `leased`, `token`) of a locked task, and all that follows."""
    now = {name: getattr(row, name) for name in ("wanted", "answered", "leased")} | changed
    state = _state(now["wanted"], now["answered"], now["leased"])
    transaction.run(_SETTLE, {"task": row.id, "token": row.token, **now, "state": state})
    if state != row.state:
        add_to_count(transaction, row.project, row.pool, row.state, -1)
        add_to_count(transaction, row.project, row.pool, state, 1)
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


def end_lease(transaction: Transaction, row: Row[Any], account: str, state: str, reason: str | None) -> None:
    """End a held lease of a locked task without an answer."""
    end = {"its_task": row.id, "its_account": account, "its_state": state, "its_reason": reason}
    if transaction.run(_ENDED, end).rowcount:
        update_task(transaction, row, leased=row.leased - 1)


_ENDED = (
    update(leases)
    .where(leases.c.task == bindparam("its_task"), leases.c.account == bindparam("its_account"))
    .where(leases.c.state == "held")
    .values(state=bindparam("its_state"), reason=bindparam("its_reason"))
)


def add_to_count(transaction: Transaction, project: str, pool: str, state: str, n: int) -> None:
    """Add `n` to a queue's count, at the end of the transaction."""
    row = {"project": project, "pool": pool, "state": state, "n": n}
    transaction.at_end(upsert_adding(counts, transaction.on_sqlite, "n"), row)


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
    query = select(tasks).where(tasks.c.dialogue == dialogue, tasks.c.pool == pool, tasks.c.wanted > 0)
    rows = transaction.run(query.order_by(tasks.c.id).with_for_update(key_share=True)).all()
    for row in rows:
        update_task(transaction, row, wanted=0)
    return len(rows)


WRAP_MS = 60_000
WAITS, PAUSE_S = 4, (0.005, 0.05)
"""How often a search looks again where all tasks are in others' hands for a moment, and how soon."""
TOUCHED = ("held", "answered", "skipped", "discarded")
"""States of a lease that keep a task from being given to the account again."""

_SHARE = select(shares).where(
    shares.c.project == bindparam("project"),
    shares.c.pool == bindparam("pool"),
    shares.c.account == bindparam("account"),
)
_THEIR_SHARE = update(shares).where(
    shares.c.project == bindparam("its_project"),
    shares.c.pool == bindparam("its_pool"),
    shares.c.account == bindparam("its_account"),
)
_CURSOR = _THEIR_SHARE.values(cursor_rank=bindparam("its_rank"), cursor_task=bindparam("before"))
_WRAPPED = _THEIR_SHARE.values(wrapped_ms=bindparam("now_ms"))


def find_share(transaction: Transaction, project: Project, pool: Pool, account: Account) -> Row[Any] | None:
    """What the account has done in a pool of the project, and how far it has searched; none at first."""
    place = {"project": project.id, "pool": pool, "account": account.id}
    return transaction.run(_SHARE, place).one_or_none()


def find_next_open(
    transaction: Transaction, account: Account, project: Project, pool: Pool, share: Row[Any] | None
) -> Row[Any] | None:
    """The first task that the account may have, locked."""
    if share is None:
        begun = {"project": project.id, "pool": pool, "account": account.id, "answered": 0}
        transaction.at_end(upsert_adding(shares, transaction.on_sqlite, "answered"), begun)
    after = None if share is None or share.cursor_rank is None else (share.cursor_rank, share.cursor_task)
    row = _search(transaction, account, project.id, pool, after)
    if row is None and after and _may_wrap(transaction, share):
        row = _search(transaction, account, project.id, pool, None)
    return row


def _may_wrap(transaction: Transaction, share: Row[Any] | None) -> bool:
    if transaction.on_sqlite or share is None:
        return False
    if share.wrapped_ms is not None and transaction.lease_ms < share.wrapped_ms + WRAP_MS:
        return False
    place = _place(share.project, share.pool, share.account)
    transaction.at_end(_WRAPPED, {**place, "now_ms": transaction.lease_ms})
    return True


def _place(project: str, pool: str, account: str) -> dict[str, Any]:
    return {"its_project": project, "its_pool": pool, "its_account": account}


def _search(
    transaction: Transaction, account: Account, project: str, pool: Pool, after: tuple[float, int] | None
) -> Row[Any] | None:
    parameters: dict[str, Any] = {
        "project": project,
        "pool": pool,
        "account": account.id,
        "agent": account.agent,
    }
    if after is not None:
        parameters |= {"cursor_rank": after[0], "cursor_task": after[1]}
    question = _QUESTIONS[after is not None, account.agent is not None]
    row = transaction.run(_LOCKING[question], parameters).one_or_none()
    if row is None and not transaction.on_sqlite:
        row = _waited_for(transaction, question, parameters)
    if row is not None:
        first = row if transaction.on_sqlite else transaction.run(question, parameters).one_or_none() or row
        cursor = {"its_rank": first.rank, "before": first.id - 1}
        transaction.at_end(_CURSOR, {**_place(project, pool, account.id), **cursor})
    return row


def _waited_for(
    transaction: Transaction, question: Select[Any], parameters: dict[str, Any]
) -> Row[Any] | None:
    """The first task, where all that are left are being claimed or answered at this moment: skipped as
    locked they may be open still when those who hold the locks are done. Waits without a lock of its own."""
    for _ in range(WAITS):
        if transaction.run(question, parameters).one_or_none() is None:
            return None
        time.sleep(uniform(*PAUSE_S))
        row = transaction.run(_LOCKING[question], parameters).one_or_none()
        if row is not None:
            return row
    return None


def is_not_own() -> ColumnElement[bool]:
    """That `agent` did not speak in a task's dialogue; a value as well, and for the same reason."""
    own = select(participants.c.person).where(
        participants.c.dialogue == tasks.c.dialogue, participants.c.person == bindparam("agent")
    )
    return own.scalar_subquery().is_(None)


def _question(*, cursor: bool, agent: bool) -> Select[Any]:
    """Open tasks in order that the account has not had; none of an agent's own dialogues."""
    touched = select(leases.c.task).where(
        leases.c.task == tasks.c.id, leases.c.account == bindparam("account"), leases.c.state.in_(TOUCHED)
    )
    # a value, not an EXISTS: PostgreSQL would join that with all leases of the account, 5 ms at 150,000
    question = select(tasks).where(
        tasks.c.project == bindparam("project"),
        tasks.c.pool == bindparam("pool"),
        tasks.c.state == "open",
        func.coalesce(touched.scalar_subquery(), 0) == 0,
    )
    if cursor:
        place = tuple_(bindparam("cursor_rank"), bindparam("cursor_task"))
        question = question.where(tuple_(tasks.c.rank, tasks.c.id) > place)
    if agent:
        question = question.where(is_not_own())
    return question.order_by(tasks.c.rank, tasks.c.id).limit(1)


_QUESTIONS = {
    (cursor, agent): _question(cursor=cursor, agent=agent)
    for cursor in (False, True)
    for agent in (False, True)
}


_LOCKING = {
    question: question.with_for_update(key_share=True, skip_locked=True, of=tasks)
    for question in _QUESTIONS.values()
}
