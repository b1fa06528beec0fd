"""Leases: a task is in one pair of hands for a while, and the hands that lost it cannot write any more.

Each claim of a task takes the next fencing token, and an answer must show the token of a lease that is
still held. Leases run by lease time (see `clock`), so a step of the wall clock ends none early. One that
ran out is taken away when somebody claims; until then its holder may still answer or renew.

The queue goes by priority, then age. So that a search stays short however much one account has done, its
place in the queue is kept (`shares.cursor_*`): everything before it was done, skipped or full. A task
that opens again puts the cursors behind it back. In PostgreSQL a search can miss a task that opens at
the same moment, so a search without result starts over from the beginning, once in `WRAP_MS`.
"""

from __future__ import annotations

import math
from typing import Any

from sqlalchemy import Row, Select, bindparam, func, or_, select, tuple_, update

from labeling.store.database.refusals import NotAllowed, StaleLease, StoreRefused
from labeling.store.database.schema import counts, dialogues, leases, shares, tasks
from labeling.store.database.transactions import Transaction, writing
from labeling.store.database.upsert import adding, put_row
from labeling.store.projects import working
from labeling.store.records import Account, Lease, Pool, Project
from labeling.store.rights import authorised
from labeling.store.tasks import locked, settle

SWEEP = 100
"""Leases that ran out and are taken away by one claim, at most."""
WRAP_MS = 60_000
TOUCHED = ("held", "answered", "skipped")
"""States of a lease that keep a task from being given to the account again."""

_MINE = (leases.c.task == bindparam("its_task"), leases.c.account == bindparam("its_account"))
_LEASE = select(leases).where(*_MINE)
_END = update(leases).where(*_MINE, leases.c.state == "held")
_ENDED = _END.values(state=bindparam("its_state"), reason=bindparam("its_reason"))
_RENEWED = _END.values(expires_ms=bindparam("its_end"))
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
_HELD = (
    select(tasks, leases.c.token.label("lease_token"), leases.c.expires_ms)
    .join(tasks, tasks.c.id == leases.c.task)
    .where(leases.c.account == bindparam("account"), leases.c.state == "held")
    .where(tasks.c.project == bindparam("project"), tasks.c.pool == bindparam("pool"))
)
_FIRST_HELD = _HELD.order_by(tasks.c.rank, tasks.c.id).limit(1)
_N_HELD = select(func.count()).select_from(_HELD.subquery())
_LATE = (leases.c.state == "held", leases.c.expires_ms < bindparam("now_ms"))
_LATE_TASKS = select(leases.c.task).where(*_LATE).order_by(leases.c.expires_ms).limit(SWEEP)


@writing(repeatable=True)
def claim(
    transaction: Transaction, actor: str, project: str, *, pool: Pool = "main", at_once: int = 1
) -> Lease | None:
    """The next task for the actor, or none. Who holds `at_once` tasks of this project and pool gets the
    first of them again, so that a lost connection loses nothing.

    Raises:
        NotAllowed: the actor lacks the right, the skills or the standing for this pool.
        StoreRefused: the project is closed or past its deadline.
    """
    account = authorised(transaction, actor, "label")
    asked = working(transaction, project)
    _fit(account, asked, pool)
    _sweep(transaction)
    place = {"project": project, "pool": pool, "account": actor}
    n_held = transaction.run(_N_HELD, place).scalar_one()
    if n_held >= at_once:
        first = transaction.run(_FIRST_HELD, place).one()
        return _lease(first, first.lease_token, first.expires_ms)
    share = transaction.run(_SHARE, place).one_or_none()
    given = n_held + (0 if share is None else share.answered)
    if asked.fair_share is not None and given >= _most(transaction, asked, pool):
        return None
    row = _next(transaction, account, asked, pool, share)
    return None if row is None else _take(transaction, account, asked, row)


def _fit(account: Account, project: Project, pool: Pool) -> None:
    if account.status == "training" and pool == "main":
        raise NotAllowed("E_POOL", f"{account.id} is in training and has no part in the main pool yet")
    if missing := set(project.skills) - set(account.skills):
        raise NotAllowed("E_SKILL", f"{account.id} lacks {', '.join(sorted(missing))}")


def _most(transaction: Transaction, project: Project, pool: Pool) -> int:
    """Answers that one account may give at most."""
    n = select(func.sum(counts.c.n)).where(
        counts.c.project == project.id, counts.c.pool == pool, counts.c.state != "withdrawn"
    )
    wanted = int(transaction.run(n).scalar_one() or 0) * project.overlap
    return max(1, math.ceil((project.fair_share or 1.0) * wanted - 1e-9))


def _next(
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
    if row is not None:
        first = row if transaction.on_sqlite else transaction.run(question, given).one_or_none() or row
        cursor = {"its_rank": first.rank, "before": first.id - 1}
        transaction.at_end(_CURSOR, {**_place(project, pool, account.id), **cursor})
    return row


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
        others = or_(dialogues.c.agent.is_(None), dialogues.c.agent != bindparam("agent"))
        question = question.join(dialogues, dialogues.c.id == tasks.c.dialogue).where(others)
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


def _take(transaction: Transaction, account: Account, project: Project, row: Row[Any]) -> Lease:
    expires_ms = transaction.lease_ms + project.lease_s * 1000
    lease = {"token": row.token + 1, "state": "held", "expires_ms": expires_ms, "reason": None}
    put_row(transaction, leases, {"task": row.id, "account": account.id, **lease})
    settle(transaction, row, leased=row.leased + 1, token=row.token + 1)
    transaction.log(account.id, "task.claim", f"task {row.id}", token=row.token + 1)
    return _lease(row, row.token + 1, expires_ms)


def _lease(row: Row[Any], token: int, expires_ms: int) -> Lease:
    kept = {"project": row.project, "dialogue": row.dialogue, "turn": row.turn, "pool": row.pool}
    return Lease(task=row.id, token=token, expires_ms=expires_ms, **kept)


@writing(repeatable=True)
def renew(transaction: Transaction, actor: str, task: int, token: int) -> Lease:
    """Start the lease's time anew. Not in the audit log: it is a heartbeat.

    Raises:
        StaleLease: the actor does not hold it any more.
    """
    authorised(transaction, actor, "label")
    row = holding(transaction, actor, task, token)
    expires_ms = transaction.lease_ms + working(transaction, row.project).lease_s * 1000
    transaction.run(_RENEWED, {"its_task": task, "its_account": actor, "its_end": expires_ms})
    return _lease(row, token, expires_ms)


@writing()
def release(transaction: Transaction, actor: str, task: int, token: int) -> None:
    """Give a task back, for anybody, also for oneself later.

    Raises:
        StaleLease: the actor does not hold it any more.
    """
    authorised(transaction, actor, "label")
    row = holding(transaction, actor, task, token)
    give_back(transaction, row, actor, "released", None)
    transaction.log(actor, "task.release", f"task {task}", token=token)


@writing()
def skip(transaction: Transaction, actor: str, task: int, token: int, reason: str) -> None:
    """Give a task back for good: the actor does not get it again.

    Raises:
        StaleLease: the actor does not hold it any more.
        StoreRefused: no reason.
    """
    authorised(transaction, actor, "label")
    if not reason.strip():
        raise StoreRefused("E_SKIP", "say why, so that somebody can mend it")
    row = holding(transaction, actor, task, token)
    give_back(transaction, row, actor, "skipped", reason)
    transaction.log(actor, "task.skip", f"task {task}", token=token)


def holding(transaction: Transaction, actor: str, task: int, token: int) -> Row[Any]:
    """The task's row, locked, if the actor's lease of it is good.

    Raises:
        StaleLease: it is not.
    """
    row = locked(transaction, task)
    lease = transaction.run(_LEASE, {"its_task": task, "its_account": actor}).one_or_none()
    if lease is None or lease.state != "held" or lease.token != token:
        raise StaleLease("E_LEASE", f"task {task}: the lease ran out or was given back")
    return row


def give_back(transaction: Transaction, row: Row[Any], account: str, state: str, reason: str | None) -> None:
    """End a held lease of a locked task without an answer."""
    end = {"its_task": row.id, "its_account": account, "its_state": state, "its_reason": reason}
    if transaction.run(_ENDED, end).rowcount:
        settle(transaction, row, leased=row.leased - 1)


def _sweep(transaction: Transaction) -> None:
    """Take leases away that ran out, in all projects."""
    now = {"now_ms": transaction.lease_ms}
    ids = set(transaction.run(_LATE_TASKS, now).scalars())
    if not ids:
        return
    rows = select(tasks).where(tasks.c.id.in_(ids)).order_by(tasks.c.id)
    for row in transaction.run(rows.with_for_update(key_share=True, skip_locked=True)).all():
        ended = update(leases).where(leases.c.task == row.id, *_LATE).values(state="expired")
        if n := transaction.run(ended, now).rowcount:
            settle(transaction, row, leased=row.leased - n)
            transaction.log("system", "task.expire", f"task {row.id}", n=n)
