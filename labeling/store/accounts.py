"""Accounts: roles, skills and status; bans.

A password that an admin sets is temporary: it only lets its owner choose another one (`authentication`).
Commands do not ask for a password, so this applies to signing in only.

A ban is a decision of a person and needs a reason. The annotations of a banned account stay in the store,
which is append-only; `iterate_counted` leaves them out, and the tasks in open projects that the account
answered are opened again. Lifting a ban does not withdraw tasks from those who answer them in the meantime.
"""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import bindparam, func, insert, select, update

from dialint.detector.records import Record
from dialint.labeling.store.authentication import CLOSED_STATUSES, hash_temporary
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.derived import refresh
from dialint.labeling.store.database.schema import (
    accounts,
    annotation_rows,
    leases,
    preferences,
    projects,
    tasks,
)
from dialint.labeling.store.database.transactions import Store, Transaction, upsert
from dialint.labeling.store.permissions import (
    ROLES,
    find_account,
    read_operation,
    require_permission,
    to_account,
    write_operation,
)
from dialint.labeling.store.records import Account, AccountRole, NotAllowed, Status, StoreRefused
from dialint.labeling.store.task_queue import end_lease, set_lease_state, update_task

MAX_REASON = 500


@write_operation(repeatable=False)
def create_first(transaction: Transaction, name: str, password: str) -> Account:
    """Create the first account, an admin, with a temporary password. It needs no acting account.

    Raises:
        StoreRefused: the store has accounts already.
    """
    if transaction.run(select(func.count()).select_from(accounts)).scalar_one():
        raise StoreRefused("E_ACCOUNT", "there are accounts; an admin makes the others")
    return _insert(transaction, name, Account(id=name, role="admin"), password)


@write_operation("administer", repeatable=False)
def create(transaction: Transaction, actor: str, account: Account, password: str | None = None) -> Account:
    """Create an account with a temporary password; without a password nobody can sign in to it.

    Raises:
        StoreRefused: the name is taken, or the password too short.
    """
    if find_account(transaction, account.id) is not None:
        raise StoreRefused("E_ACCOUNT", "{account}: the name is taken", account=account.id)
    return _insert(transaction, actor, account, password)


def _insert(transaction: Transaction, actor: str, account: Account, password: str | None) -> Account:
    row = {
        **account.model_dump(),
        "skills": canonical_json(sorted(account.skills)),
        "password_hash": None if password is None else hash_temporary(password),
        "created_ms": transaction.now_ms,
    }
    transaction.run(insert(accounts), row)
    transaction.log(actor, "account.create", account.id, **account.model_dump(mode="json"))
    return account


@write_operation()
def set_status(
    transaction: Transaction, actor: str, name: str, status: Status, reason: str | None = None
) -> None:
    """Set the status of an account, with a reason for the audit log. Tasks that a suspended or banned account
    holds return to the queue; those that it answered stay as they are (`ban` opens them again). The account
    is evaluated by its answers after the change.

    Raises:
        NotAllowed: a lead may do this to labelers, an admin to everybody but themselves.
        StoreRefused: an empty or too long reason.
    """
    require_changeable(transaction, actor, name, own=False)
    if reason is not None and (not 0 < len(reason.strip()) <= MAX_REASON or "\x00" in reason):
        raise StoreRefused(
            "E_STATUS", "a change of status needs a reason of 1 to {most} characters", most=MAX_REASON
        )
    write_status(transaction, actor, name, status, **({} if reason is None else {"reason": reason.strip()}))


def write_status(transaction: Transaction, actor: str, name: str, status: Status, **content: Any) -> None:
    """As `set_status`, inside another operation, with further `content` for the audit log; permissions are
    checked by the caller."""
    last = select(func.coalesce(func.max(annotation_rows.c.id), 0)).scalar_subquery()
    transaction.run(update(accounts).where(accounts.c.id == name).values(status=status, since=last))
    if status in CLOSED_STATUSES:
        held = select(leases.c.task).where(leases.c.account == name, leases.c.state == "held")
        rows = select(tasks).where(tasks.c.id.in_(held)).order_by(tasks.c.id).with_for_update()
        for task in transaction.run(rows).all():
            end_lease(transaction, task, name, "released", None)
    transaction.log(actor, "account.status", name, status=status, **content)


@write_operation()
def set_skills(transaction: Transaction, actor: str, name: str, skills: tuple[str, ...]) -> None:
    """Replace the skills of an account; projects may require skills."""
    account = require_changeable(transaction, actor, name, own=False)
    listed = sorted(Account(**{**account.model_dump(), "skills": skills}).skills)
    transaction.run(update(accounts).where(accounts.c.id == name).values(skills=canonical_json(listed)))
    transaction.log(actor, "account.skills", name, skills=listed)


@write_operation("administer")
def change(transaction: Transaction, actor: str, name: str, role: AccountRole, agent: str | None) -> None:
    """Set the role of an account, and which agent of the dialogues it is; never the actor's own."""
    account = require_changeable(transaction, actor, name, own=False)
    changed = Account(**{**account.model_dump(), "role": role, "agent": agent})
    values = {"role": changed.role, "agent": changed.agent}
    transaction.run(update(accounts).where(accounts.c.id == name).values(values))
    transaction.log(actor, "account.change", name, **values)


def require_changeable(transaction: Transaction, actor: str, name: str, *, own: bool) -> Account:
    """Return the account `name` if the actor may change it; with `own`, also the actor's own account.

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
        raise NotAllowed("E_RIGHT", "{actor} has no right to change {name}", actor=actor, name=name)
    if own and acting.role != "admin":
        raise NotAllowed("E_RIGHT", "only an admin sets the passwords of others")
    return account


@read_operation("discipline")
def list_accounts(transaction: Transaction, actor: str) -> list[Account]:
    """All accounts by name; for leads."""
    return list(map(to_account, transaction.run(select(accounts).order_by(accounts.c.id))))


BATCH_SIZE = 500
"""Tasks that one transaction reopens at most, since it blocks other writers."""

_ANSWERED = (
    select(annotation_rows.c.id.label("number"), tasks)
    .join(tasks, tasks.c.id == annotation_rows.c.task)
    .join(leases, (leases.c.task == tasks.c.id) & (leases.c.account == annotation_rows.c.labeler))
    .join(projects, projects.c.id == tasks.c.project)
    .where(annotation_rows.c.labeler == bindparam("account"), annotation_rows.c.id > bindparam("after"))
    .where(annotation_rows.c.supersedes.is_(None), leases.c.state == "answered")
    .where(projects.c.state == "open", tasks.c.pool == "main", tasks.c.wanted > 0)
    .order_by(annotation_rows.c.id)
    .limit(bindparam("limit"))
    .with_for_update(key_share=True, of=tasks)
)


def ban(store: Store, actor: str, name: str, reason: str) -> int:
    """Ban an account and reopen the tasks that it answered in open projects; return how many. A call that was
    interrupted can be repeated.

    Raises:
        NotAllowed: as for `set_status`.
        StoreRefused: no such account, or no reason.
    """
    if not reason.strip():
        raise StoreRefused("E_BAN", "a ban needs a reason")
    total, after = 0, 0
    while (batch := _ban(store, actor, name, reason, after)) is not None:
        after, n = batch
        total += n
    return total


@write_operation()
def _ban(transaction: Transaction, actor: str, name: str, reason: str, after: int) -> tuple[int, int] | None:
    """Ban an account, discard one batch of its answers after the number `after` and reopen their tasks; the
    number of the last annotation and how many, or none if no answers are left."""
    account = require_changeable(transaction, actor, name, own=False)
    if after and account.status != "banned":
        raise StoreRefused("E_BAN", "{name} is not banned any more", name=name)
    if account.status != "banned":
        write_status(transaction, actor, name, "banned", reason=reason)
    rows = transaction.run(_ANSWERED, {"account": name, "after": after, "limit": BATCH_SIZE}).all()
    if not rows:
        return None
    for row in sorted(rows, key=lambda row: int(row.id)):
        set_lease_state(transaction, row.id, name, "discarded")
        update_task(transaction, row, answered=row.answered - 1)
    refresh(transaction, (row.dialogue for row in rows))
    transaction.log(actor, "account.exclude", name, n=len(rows))
    return rows[-1].number, len(rows)


@write_operation()
def set_password(transaction: Transaction, actor: str, name: str, password: str) -> None:
    """Set a temporary password for the actor's own account or, as an admin, for any account.

    Raises:
        NotAllowed: another account, and the actor is no admin.
        StoreRefused: the password is too short.
    """
    require_changeable(transaction, actor, name, own=True)
    hashed = hash_temporary(password)
    transaction.run(update(accounts).where(accounts.c.id == name).values(password_hash=hashed))
    transaction.log(actor, "account.password", name)


@read_operation()
def has_accounts(transaction: Transaction) -> bool:
    """Returns whether the store has any account; needs no acting account."""
    return transaction.run(select(accounts.c.id).limit(1)).first() is not None


class Preferences(Record):
    """Settings of an account. With `auto_save`, Review and Label save an answer after its last decision."""

    language: Literal["en", "es", "ru"] | None = None
    auto_save: bool = False


@read_operation("label")
def load_preferences(transaction: Transaction, actor: str) -> Preferences:
    """The actor's preferences; the usual ones if nothing was chosen."""
    query = select(preferences.c.content).where(preferences.c.account == actor)
    content = transaction.run(query).scalar_one_or_none()
    return Preferences() if content is None else Preferences.model_validate_json(content)


@write_operation("label")
def save_preferences(transaction: Transaction, actor: str, chosen: Preferences) -> None:
    """Save the actor's preferences."""
    content = canonical_json(chosen.model_dump(mode="json"))
    upsert(transaction, preferences, {"account": actor, "content": content})
    transaction.log(actor, "preferences.save", actor)
