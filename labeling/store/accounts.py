"""Accounts: who signs in, with which role, skills and status. Passwords are kept as argon2id only."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import func, insert, select, update

from labeling.store.database.audit import canonical
from labeling.store.database.refusals import NotAllowed, StoreRefused
from labeling.store.database.schema import accounts, annotation_rows, leases, tasks
from labeling.store.database.transactions import Store, Transaction, reading, writing
from labeling.store.leases import give_back
from labeling.store.records import Account, Status
from labeling.store.rights import ROLES, account_of, authorised

MIN_PASSWORD = 12


@writing()
def create_first(transaction: Transaction, name: str, password: str) -> Account:
    """Make the first account, an admin. No account acts: there is none.

    Raises:
        StoreRefused: there are accounts.
    """
    if transaction.run(select(func.count()).select_from(accounts)).scalar_one():
        raise StoreRefused("E_ACCOUNT", "there are accounts; an admin makes the others")
    account = Account(id=name, role="admin")
    _insert(transaction, name, account, password)
    return account


@writing()
def create(transaction: Transaction, actor: str, account: Account, password: str | None = None) -> Account:
    """Make an account; without a password nobody can sign in to it.

    Raises:
        NotAllowed: the actor is no admin.
        StoreRefused: the name is taken, or the password too short.
    """
    authorised(transaction, actor, "administer")
    if account_of(transaction, account.id) is not None:
        raise StoreRefused("E_ACCOUNT", f"{account.id}: the name is taken")
    _insert(transaction, actor, account, password)
    return account


def _insert(transaction: Transaction, actor: str, account: Account, password: str | None) -> None:
    row = {
        **account.model_dump(),
        "skills": canonical(sorted(account.skills)),
        "password_hash": None if password is None else _hashed(password),
        "created_ms": transaction.now_ms,
    }
    transaction.run(insert(accounts), row)
    transaction.log(actor, "account.create", account.id, **account.model_dump(mode="json"))


@writing(repeatable=True)
def set_password(transaction: Transaction, actor: str, name: str, password: str) -> None:
    """Change one's own password, or as an admin anybody's.

    Raises:
        NotAllowed: somebody else's.
        StoreRefused: too short.
    """
    changeable(transaction, actor, name, own=True)
    hashed = _hashed(password)
    transaction.run(update(accounts).where(accounts.c.id == name).values(password_hash=hashed))
    transaction.log(actor, "account.password", name)


def sign_in(store: Store, name: str, password: str) -> Account:
    """The account, if the password is right and the account may be used.

    Raises:
        NotAllowed: the same message whether the name or the password is wrong, after the same time.
    """
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError

    found = store.read(lambda transaction: _with_hash(transaction, name))
    account, hashed = found if found else (None, None)
    try:
        PasswordHasher().verify(hashed or _nobody(), password)
        right = hashed is not None
    except (Argon2Error, InvalidHashError):
        right = False
    if account is None or not right or account.status in ("suspended", "banned"):
        raise NotAllowed("E_SIGN_IN", "the name or the password is wrong, or the account is closed")
    return account


def _with_hash(transaction: Transaction, name: str) -> tuple[Account, str | None] | None:
    account = account_of(transaction, name)
    if account is None:
        return None
    hashed = transaction.run(select(accounts.c.password_hash).where(accounts.c.id == name)).scalar_one()
    return account, hashed


@cache
def _nobody() -> str:
    """A hash that no password has, so that an unknown name takes as long as a known one."""
    from argon2 import PasswordHasher

    return PasswordHasher().hash("")


def _hashed(password: str) -> str:
    from argon2 import PasswordHasher

    if len(password) < MIN_PASSWORD:
        raise StoreRefused("E_PASSWORD", f"a password needs {MIN_PASSWORD} characters")
    return PasswordHasher().hash(password)


@writing(repeatable=True)
def set_status(transaction: Transaction, actor: str, name: str, status: Status) -> None:
    """Suspend, ban, send to training or take back in; tasks in the account's hands go back to the queue.
    What it answered from now on is what its standing goes by. A ban alone leaves tasks answered by it
    answered: `exclusion.ban` opens them again.

    Raises:
        NotAllowed: a lead may do this to labelers, an admin to everybody but themselves.
    """
    changeable(transaction, actor, name, own=False)
    put_status(transaction, actor, name, status)


def put_status(transaction: Transaction, actor: str, name: str, status: Status, **why: Any) -> None:
    """As `set_status`, inside another operation, with what the audit log shall know; rights are the
    caller's care."""
    last = select(func.coalesce(func.max(annotation_rows.c.id), 0)).scalar_subquery()
    changed = update(accounts).where(accounts.c.id == name).values(status=status, since=last)
    transaction.run(changed)
    if status in ("suspended", "banned"):
        held = select(leases.c.task).where(leases.c.account == name, leases.c.state == "held")
        rows = transaction.run(
            select(tasks).where(tasks.c.id.in_(held)).order_by(tasks.c.id).with_for_update()
        )
        for task in rows.all():
            give_back(transaction, task, name, "released", None)
    transaction.log(actor, "account.status", name, status=status, **why)


@writing(repeatable=True)
def set_skills(transaction: Transaction, actor: str, name: str, skills: tuple[str, ...]) -> None:
    """Say what an account can do; projects may ask for it.

    Raises:
        NotAllowed: as for `set_status`.
    """
    account = changeable(transaction, actor, name, own=False)
    kept = Account(**{**account.model_dump(), "skills": skills}).skills
    transaction.run(update(accounts).where(accounts.c.id == name).values(skills=canonical(sorted(kept))))
    transaction.log(actor, "account.skills", name, skills=sorted(kept))


def changeable(transaction: Transaction, actor: str, name: str, *, own: bool) -> Account:
    """The account `name`, if the actor may change it: `own` says that one may change oneself.

    Raises:
        NotAllowed: the actor may not.
        StoreRefused: there is no such account.
    """
    if own and actor == name:
        return authorised(transaction, actor, "label")
    acting = authorised(transaction, actor, "discipline")
    account = account_of(transaction, name)
    if account is None:
        raise StoreRefused("E_ACCOUNT", "there is no such account")
    if actor == name or (acting.role != "admin" and account.role != ROLES[0]):
        raise NotAllowed("E_RIGHT", f"{actor} has no right to change {name}")
    if own and acting.role != "admin":
        raise NotAllowed("E_RIGHT", "only an admin sets the passwords of others")
    return account


@reading
def listed(transaction: Transaction, actor: str) -> list[Account]:
    """All accounts by name; for leads."""
    authorised(transaction, actor, "discipline")
    names = transaction.run(select(accounts.c.id).order_by(accounts.c.id)).scalars().all()
    return [account for name in names if (account := account_of(transaction, name)) is not None]
