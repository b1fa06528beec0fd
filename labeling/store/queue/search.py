"""What is next: the first open task of a pool that an account may have.

The queue goes by priority, then age. So that a search stays short however much one account has done, its
place in the queue is kept (`shares.cursor_*`): everything before it was done, skipped or full. A task
that opens again puts the cursors behind it back. In PostgreSQL a search can miss a task that opens at
the same moment, so a search without result starts over from the beginning, once in `WRAP_MS`.
"""

from __future__ import annotations

import time
from random import uniform
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, bindparam, func, select, tuple_, update

from dialint.labeling.store.database.schema import leases, participants, shares, tasks
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.database.upsert import adding
from dialint.labeling.store.records import Account, Pool, Project

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


def share_of(transaction: Transaction, project: Project, pool: Pool, account: Account) -> Row[Any] | None:
    """What the account has done in a pool of the project, and how far it has searched; none at first."""
    place = {"project": project.id, "pool": pool, "account": account.id}
    return transaction.run(_SHARE, place).one_or_none()


def next_open(
    transaction: Transaction, account: Account, project: Project, pool: Pool, share: Row[Any] | None
) -> Row[Any] | None:
    """The first task that the account may have, locked."""
    if share is None:
        begun = {"project": project.id, "pool": pool, "account": account.id, "answered": 0}
        transaction.at_end(adding(shares, transaction.on_sqlite, "answered"), begun)
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
    given: dict[str, Any] = {"project": project, "pool": pool, "account": account.id, "agent": account.agent}
    if after is not None:
        given |= {"cursor_rank": after[0], "cursor_task": after[1]}
    question = _QUESTIONS[after is not None, account.agent is not None]
    row = transaction.run(_LOCKING[question], given).one_or_none()
    if row is None and not transaction.on_sqlite:
        row = _waited_for(transaction, question, given)
    if row is not None:
        first = row if transaction.on_sqlite else transaction.run(question, given).one_or_none() or row
        cursor = {"its_rank": first.rank, "before": first.id - 1}
        transaction.at_end(_CURSOR, {**_place(project, pool, account.id), **cursor})
    return row


def _waited_for(transaction: Transaction, question: Select[Any], given: dict[str, Any]) -> Row[Any] | None:
    """The first task, where all that are left are being claimed or answered at this moment: skipped as
    locked they may be open still when those who hold the locks are done. Waits without a lock of its own."""
    for _ in range(WAITS):
        if transaction.run(question, given).one_or_none() is None:
            return None
        time.sleep(uniform(*PAUSE_S))
        row = transaction.run(_LOCKING[question], given).one_or_none()
        if row is not None:
            return row
    return None


def not_own() -> ColumnElement[bool]:
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
        question = question.where(not_own())
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
