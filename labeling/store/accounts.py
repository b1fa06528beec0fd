"""Accounts: roles, skills and status; bans.

A password that an admin sets is temporary: it only lets its owner choose another one (see `passwords`).
Commands ask for no password, so that rule binds whoever signs in, not them.

A ban is a decision of a person and needs a reason. The annotations of a banned account stay, as everything
append-only does; `counted_annotations` leaves them out, and the tasks in open projects that the account
answered are opened again. Lifting a ban does not take tasks from those who answer them anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, bindparam, func, insert, select, update

from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import accounts, annotation_rows, leases, projects, tasks
from dialint.labeling.store.database.transactions import Store, Transaction, read_operation, write_operation
from dialint.labeling.store.errors import NotAllowed, StoreRefused
from dialint.labeling.store.passwords import CLOSED, hash_temporary
from dialint.labeling.store.permissions import ROLES, find_account, require_permission
from dialint.labeling.store.records import Account, Status
from dialint.labeling.store.task_queue import end_lease, update_task

if TYPE_CHECKING:
    pass


@write_operation()
def create_first(transaction: Transaction, name: str, password: str) -> Account:
    """Make the first account, an admin, with a password for one time. No account acts: there is none.

    Raises:
        StoreRefused: there are accounts.
    """
    if transaction.run(select(func.count()).select_from(accounts)).scalar_one():
        raise StoreRefused("E_ACCOUNT", "there are accounts; an admin makes the others")
    account = Account(id=name, role="admin")
    _insert(transaction, name, account, password)
    return account


@write_operation()
def create(transaction: Transaction, actor: str, account: Account, password: str | None = None) -> Account:
    """Make an account, with a password for one time; without one nobody can sign in to it.

    Raises:
        NotAllowed: the actor is no admin.
        StoreRefused: the name is taken, or the password too short.
    """
    require_permission(transaction, actor, "administer")
    if find_account(transaction, account.id) is not None:
        raise StoreRefused("E_ACCOUNT", f"{account.id}: the name is taken")
    _insert(transaction, actor, account, password)
    return account


def _insert(transaction: Transaction, actor: str, account: Account, password: str | None) -> None:
    row = {
        **account.model_dump(),
        "skills": canonical_json(sorted(account.skills)),
        "password_hash": None if password is None else hash_temporary(password),
        "created_ms": transaction.now_ms,
    }
    transaction.run(insert(accounts), row)
    transaction.log(actor, "account.create", account.id, **account.model_dump(mode="json"))


@write_operation(repeatable=True)
def set_status(transaction: Transaction, actor: str, name: str, status: Status) -> None:
    """Suspend, ban, send to training or take back in; tasks in the account's hands go back to the queue.
    What it answered from now on is what its standing goes by. A ban alone leaves tasks answered by it
    answered: `exclusion.ban` opens them again.

    Raises:
        NotAllowed: a lead may do this to labelers, an admin to everybody but themselves.
    """
    require_changeable(transaction, actor, name, own=False)
    write_status(transaction, actor, name, status)


def write_status(transaction: Transaction, actor: str, name: str, status: Status, **why: Any) -> None:
    """As `set_status`, inside another operation, with what the audit log shall know; permissions are
    checked by the caller."""
    last = select(func.coalesce(func.max(annotation_rows.c.id), 0)).scalar_subquery()
    changed = update(accounts).where(accounts.c.id == name).values(status=status, since=last)
    transaction.run(changed)
    if status in CLOSED:
        held = select(leases.c.task).where(leases.c.account == name, leases.c.state == "held")
        rows = transaction.run(
            select(tasks).where(tasks.c.id.in_(held)).order_by(tasks.c.id).with_for_update()
        )
        for task in rows.all():
            end_lease(transaction, task, name, "released", None)
    transaction.log(actor, "account.status", name, status=status, **why)


@write_operation(repeatable=True)
def set_skills(transaction: Transaction, actor: str, name: str, skills: tuple[str, ...]) -> None:
    """Say what an account can do; projects may ask for it.

    Raises:
        NotAllowed: as for `set_status`.
    """
    account = require_changeable(transaction, actor, name, own=False)
    sorted_skills = Account(**{**account.model_dump(), "skills": skills}).skills
    transaction.run(
        update(accounts).where(accounts.c.id == name).values(skills=canonical_json(sorted(sorted_skills)))
    )
    transaction.log(actor, "account.skills", name, skills=sorted(sorted_skills))


def require_changeable(transaction: Transaction, actor: str, name: str, *, own: bool) -> Account:
    """The account `name`, if the actor may change it: `own` says that one may change oneself.

    Raises:
        NotAllowed: the actor may not.
        StoreRefused: there is no such account.
    """
    if own and actor == name:
        return require_permission(transaction, actor, "label")
    acting = require_permission(transaction, actor, "discipline")
    account = find_account(transaction, name)
    if account is None:
        raise StoreRefused("E_ACCOUNT", "there is no such account")
    if actor == name or (acting.role != "admin" and account.role != ROLES[0]):
        raise NotAllowed("E_RIGHT", f"{actor} has no right to change {name}")
    if own and acting.role != "admin":
        raise NotAllowed("E_RIGHT", "only an admin sets the passwords of others")
    return account


@read_operation
def list_accounts(transaction: Transaction, actor: str) -> list[Account]:
    """All accounts by name; for leads."""
    require_permission(transaction, actor, "discipline")
    names = transaction.run(select(accounts.c.id).order_by(accounts.c.id)).scalars().all()
    return [account for name in names if (account := find_account(transaction, name)) is not None]


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


@write_operation(repeatable=True)
def _ban(transaction: Transaction, actor: str, name: str, reason: str) -> None:
    account = require_changeable(transaction, actor, name, own=False)
    if not reason.strip():
        raise StoreRefused("E_BAN", "a ban needs a reason")
    if account.status != "banned":
        write_status(transaction, actor, name, "banned", reason=reason)


@write_operation(repeatable=True)
def _reopen(transaction: Transaction, actor: str, name: str, after: int) -> tuple[int, int] | None:
    """Take the answers of one piece out of the books: the last annotation of it and how many, or none."""
    if require_changeable(transaction, actor, name, own=False).status != "banned":
        raise StoreRefused("E_BAN", f"{name} is not banned any more")
    rows = transaction.run(_ANSWERED, {"account": name, "after": after, "piece": PIECE}).all()
    if not rows:
        return None
    for row in sorted(rows, key=_task):
        transaction.run(_DISCARDED, {"its_task": row.id, "its_account": name})
        update_task(transaction, row, answered=row.answered - 1)
    transaction.log(actor, "account.exclude", name, n=len(rows))
    return rows[-1].number, len(rows)


def _task(row: Row[Any]) -> int:
    return int(row.id)


@write_operation(repeatable=True)
def set_password(transaction: Transaction, actor: str, name: str, password: str) -> None:
    """Give oneself, or as an admin anybody, a new password for one time.

    Raises:
        NotAllowed: somebody else's.
        StoreRefused: too short.
    """
    require_changeable(transaction, actor, name, own=True)
    hashed = hash_temporary(password)
    transaction.run(update(accounts).where(accounts.c.id == name).values(password_hash=hashed))
    transaction.log(actor, "account.password", name)


@read_operation
def has_accounts(transaction: Transaction) -> bool:
    """Whether there is any account; no account asks, as there may be none."""
    return transaction.run(select(accounts.c.id).limit(1)).first() is not None
