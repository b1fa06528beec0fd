"""A ban: a person's act, with a reason. What the banned have answered counts no more, and others do it again.

Their annotations stay, as everything append-only does; whoever builds truth reads `annotations.counted`,
which leaves them out. Taking the ban back does not take tasks from those who answer them anew.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, bindparam, select, update

from dialint.labeling.store.accounts import changeable, put_status
from dialint.labeling.store.database.refusals import StoreRefused
from dialint.labeling.store.database.schema import annotation_rows, leases, projects, tasks
from dialint.labeling.store.database.transactions import Store, Transaction, writing
from dialint.labeling.store.queue.settling import settle

PIECE = 500
"""Tasks that one transaction opens again, at most: others wait for it."""

_ANSWERED = (
    select(annotation_rows.c.id.label("number"), tasks)
    .join(tasks, tasks.c.id == annotation_rows.c.task)
    .join(leases, (leases.c.task == tasks.c.id) & (leases.c.account == annotation_rows.c.labeler))
    .join(projects, projects.c.id == tasks.c.project)
    .where(annotation_rows.c.labeler == bindparam("account"), annotation_rows.c.id > bindparam("after"))
    .where(annotation_rows.c.supersedes.is_(None), leases.c.state == "answered")
    .where(projects.c.state == "open", tasks.c.pool == "main", tasks.c.wanted > 0)
    .order_by(annotation_rows.c.id)
    .limit(bindparam("piece"))
    .with_for_update(key_share=True, of=tasks)
)
_DISCARDED = (
    update(leases)
    .where(leases.c.task == bindparam("its_task"), leases.c.account == bindparam("its_account"))
    .values(state="discarded")
)


def ban(store: Store, actor: str, name: str, reason: str) -> int:
    """Ban an account, and open again what it answered in open projects; how many tasks that were. Cut off
    halfway, the same call goes on where it stopped.

    Raises:
        NotAllowed: a lead may do this to labelers, an admin to everybody but themselves.
        StoreRefused: no such account, or no reason.
    """
    _ban(store, actor, name, reason)
    total, after = 0, 0
    while (piece := _reopen(store, actor, name, after)) is not None:
        after, n = piece
        total += n
    return total


@writing(repeatable=True)
def _ban(transaction: Transaction, actor: str, name: str, reason: str) -> None:
    account = changeable(transaction, actor, name, own=False)
    if not reason.strip():
        raise StoreRefused("E_BAN", "a ban needs a reason")
    if account.status != "banned":
        put_status(transaction, actor, name, "banned", reason=reason)


@writing(repeatable=True)
def _reopen(transaction: Transaction, actor: str, name: str, after: int) -> tuple[int, int] | None:
    """Take the answers of one piece out of the books: the last annotation of it and how many, or none."""
    if changeable(transaction, actor, name, own=False).status != "banned":
        raise StoreRefused("E_BAN", f"{name} is not banned any more")
    rows = transaction.run(_ANSWERED, {"account": name, "after": after, "piece": PIECE}).all()
    if not rows:
        return None
    for row in sorted(rows, key=_task):
        transaction.run(_DISCARDED, {"its_task": row.id, "its_account": name})
        settle(transaction, row, answered=row.answered - 1)
    transaction.log(actor, "account.exclude", name, n=len(rows))
    return rows[-1].number, len(rows)


def _task(row: Row[Any]) -> int:
    return int(row.id)
