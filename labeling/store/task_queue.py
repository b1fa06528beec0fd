"""The queue of a pool: the counts of each task, and the search for the next open task of an account.

`update_task` is the only function that changes a task's counts (answers wanted, given and leased) and the
state that follows from them. Tasks are ordered by priority, then age. To keep a search short however much an
account has answered, its position in the queue is stored (`shares.cursor_*`): everything before it is
answered, skipped or full. A task that opens again moves the cursors past it back. In PostgreSQL a search can
miss a task that opens concurrently, so a search without result restarts from the beginning, at most once in
`WRAP_MS`. Permissions are checked by the caller.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from random import uniform
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, bindparam, func, or_, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import counts, leases, participants, shares, tasks
from dialint.labeling.store.database.transactions import Transaction, upsert_adding
from dialint.labeling.store.records import Account, DialogueMissing, Pool, Project, TaskState

ENDLESS = 1_000_000
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
    """Set columns (`wanted`, `answered`, `leased`, `token`) of a locked task, and update its state, the
    counts of the queue and the cursors."""
    values = {name: getattr(row, name) for name in ("wanted", "answered", "leased")} | changes
    state = _state(values["wanted"], values["answered"], values["leased"])
    transaction.run(_UPDATE_TASK, {"task": row.id, "token": row.token, **values, "state": state})
    if state != row.state:
        add_to_count(transaction, row.project, row.pool, row.state, -1)
        add_to_count(transaction, row.project, row.pool, state, 1)
        if state == "open":
            restart_cursors(transaction, row.project, row.pool, row.rank, row.id)
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


def add_to_count(transaction: Transaction, project: str, pool: str, state: str, n: int) -> None:
    """Add `n` to a queue's count, at the end of the transaction."""
    row = {"project": project, "pool": pool, "state": state, "n": n}
    transaction.at_end(upsert_adding(counts, transaction.on_sqlite, ("n",)), row)


def restart_cursors(transaction: Transaction, project: str, pool: str, rank: float, task: int) -> None:
    """Move the cursors that are past a task back to it, after it opened."""
    parameters = {"its_project": project, "its_pool": pool, "its_rank": rank, "its_task": task}
    transaction.at_end(_RESTART, {**parameters, "before": task - 1})


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
    """Withdraw the tasks of a pool on a dialogue in all projects; return how many. Held ones may still be
    answered."""
    query = select(tasks).where(tasks.c.dialogue == dialogue, tasks.c.pool == pool, tasks.c.wanted > 0)
    rows = transaction.run(query.order_by(tasks.c.id).with_for_update(key_share=True)).all()
    for row in rows:
        update_task(transaction, row, wanted=0)
    return len(rows)


WRAP_MS = 60_000
"""Least time between two searches of an account that restart from the beginning of a queue."""
MAX_RETRIES, RETRY_PAUSE_S = 4, (0.005, 0.05)
"""How often a search is repeated while all matching tasks are locked by others, and the range of the
pause."""
TOUCHED = ("held", "answered", "skipped", "discarded")
"""States of a lease after which the account does not get the task again."""

IS_SHARE = (shares.c.pool == bindparam("pool")) & (shares.c.account == bindparam("account"))
"""Condition of the share of an account in a pool, besides the project."""


@dataclass
class _ShareChange:
    """What a transaction changes of an account's share, in one statement at its end."""

    key: dict[str, str]
    answered: int = 0
    values: dict[str, float] = field(default_factory=dict)

    def __call__(self, transaction: Transaction) -> None:
        into = sqlite.insert(shares) if transaction.on_sqlite else postgresql.insert(shares)
        row = {**self.key, **self.values, "answered": self.answered}
        upsert = into.values(row).on_conflict_do_update(
            index_elements=list(shares.primary_key),
            set_={**self.values, "answered": shares.c.answered + self.answered},
        )
        transaction.run(upsert)


def change_share(
    transaction: Transaction, project: str, pool: str, account: str, *, answered: int = 0, **values: float
) -> None:
    """Add to the tasks of a pool that an account has answered, and set other columns of its share."""
    key = {"project": project, "pool": pool, "account": account}
    change = transaction.final.setdefault(f"share {canonical_json(key)}", _ShareChange(key))
    assert isinstance(change, _ShareChange)
    change.answered += answered
    change.values |= values


def find_next_open(
    transaction: Transaction, account: Account, project: Project, pool: Pool, share: Row[Any] | None
) -> Row[Any] | None:
    """Lock and return the first task that the account may claim, or none."""
    if share is None:
        change_share(transaction, project.id, pool, account.id)
    after = None if share is None or share.cursor_rank is None else (share.cursor_rank, share.cursor_task)
    row = _search(transaction, account, project.id, pool, after)
    if row is None and after and _may_wrap(transaction, share):
        row = _search(transaction, account, project.id, pool, None)
    return row


def _may_wrap(transaction: Transaction, share: Row[Any] | None) -> bool:
    """Whether a search may restart from the beginning; if so, its time is recorded."""
    if transaction.on_sqlite or share is None:
        return False
    if share.wrapped_ms is not None and transaction.now_ms < share.wrapped_ms + WRAP_MS:
        return False
    change_share(transaction, share.project, share.pool, share.account, wrapped_ms=transaction.now_ms)
    return True


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
    query = _QUERIES[after is not None, account.agent is not None]
    if transaction.on_sqlite:  # nobody else writes meanwhile
        row = transaction.run(query, parameters).one_or_none()
    else:
        row = transaction.run(_LOCKING[query], parameters).one_or_none()
        row = row or _retry_locked(transaction, query, parameters)
    if row is not None:
        rank, task = (row.rank, row.id) if transaction.on_sqlite else (row.first_rank, row.first_id)
        change_share(transaction, project, pool, account.id, cursor_rank=rank, cursor_task=task - 1)
    return row


def _retry_locked(
    transaction: Transaction, query: Select[Any], parameters: dict[str, Any]
) -> Row[Any] | None:
    """Repeat a search whose matching tasks are all locked by concurrent claims or answers: they may still be
    open when those transactions end. Waits without holding a lock."""
    for _ in range(MAX_RETRIES):
        if transaction.run(query, parameters).one_or_none() is None:
            return None
        time.sleep(uniform(*RETRY_PAUSE_S))
        row = transaction.run(_LOCKING[query], parameters).one_or_none()
        if row is not None:
            return row
    return None


def is_not_own() -> ColumnElement[bool]:
    """Condition that `agent` did not speak in a task's dialogue; a scalar subquery for the reason given in
    `_open_tasks`."""
    own = select(participants.c.person).where(
        participants.c.dialogue == tasks.c.dialogue, participants.c.person == bindparam("agent")
    )
    return own.scalar_subquery().is_(None)


def _open_tasks(*, cursor: bool, agent: bool) -> Select[Any]:
    """Select the first open task that the account did not have before; none of an agent's own dialogues."""
    touched = select(leases.c.task).where(
        leases.c.task == tasks.c.id, leases.c.account == bindparam("account"), leases.c.state.in_(TOUCHED)
    )
    # a scalar subquery: PostgreSQL would join an EXISTS with all leases of the account, 5 ms at 150,000
    query = select(tasks).where(
        tasks.c.project == bindparam("project"),
        tasks.c.pool == bindparam("pool"),
        tasks.c.state == "open",
        func.coalesce(touched.scalar_subquery(), 0) == 0,
    )
    if cursor:
        position = tuple_(bindparam("cursor_rank"), bindparam("cursor_task"))
        query = query.where(tuple_(tasks.c.rank, tasks.c.id) > position)
    if agent:
        query = query.where(is_not_own())
    return query.order_by(tasks.c.rank, tasks.c.id).limit(1)


_QUERIES = {
    (cursor, agent): _open_tasks(cursor=cursor, agent=agent)
    for cursor in (False, True)
    for agent in (False, True)
}


def _locking(query: Select[Any]) -> Select[Any]:
    """Lock the first task that nobody else has locked, and name the first one of all (`first_rank`,
    `first_id`), at which the cursor must stay."""
    first = query.subquery()
    names = (select(first.c[name]).scalar_subquery().label(f"first_{name}") for name in ("rank", "id"))
    return query.add_columns(*names).with_for_update(key_share=True, skip_locked=True, of=tasks)


_LOCKING = {query: _locking(query) for query in _QUERIES.values()}
