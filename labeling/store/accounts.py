"""Accounts: who signs in, with which role, skills and status. Passwords are kept as argon2id only.

A password that its owner did not choose (of a new account, or given later) opens nothing: all it is good
for is to choose another one. The mark of that stands before its hash. Commands ask for no password (see
the right of an account, `rights`), so the mark binds whoever signs in, not them.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, insert, select, update

from dialint.detector.errors import WorldError
from dialint.labeling.store.database.audit import canonical
from dialint.labeling.store.database.refusals import MustChoose, NotAllowed, StoreRefused
from dialint.labeling.store.database.schema import accounts, annotation_rows, leases, tasks
from dialint.labeling.store.database.transactions import Store, Transaction, reading, writing
from dialint.labeling.store.leases import give_back
from dialint.labeling.store.records import Account, Status
from dialint.labeling.store.rights import ROLES, account_of, authorised

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_PASSWORD = 12
MAX_PASSWORD = 1000
HASHES_AT_ONCE = 2
"""Passwords that one process hashes at a time, each in 64 MB; the others wait."""
HASH_WAIT_S = 10.0
_HASHING = BoundedSemaphore(HASHES_AT_ONCE)
GIVEN = "given:"
"""Before the hash of a password that its owner did not choose."""
CLOSED = ("suspended", "banned")

_HASH = select(accounts.c.password_hash).where(accounts.c.id == bindparam("id"))


@writing()
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


@writing()
def create(transaction: Transaction, actor: str, account: Account, password: str | None = None) -> Account:
    """Make an account, with a password for one time; without one nobody can sign in to it.

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
        "password_hash": None if password is None else GIVEN + _hashed(password),
        "created_ms": transaction.now_ms,
    }
    transaction.run(insert(accounts), row)
    transaction.log(actor, "account.create", account.id, **account.model_dump(mode="json"))


@writing(repeatable=True)
def set_password(transaction: Transaction, actor: str, name: str, password: str) -> None:
    """Give oneself, or as an admin anybody, a new password for one time.

    Raises:
        NotAllowed: somebody else's.
        StoreRefused: too short.
    """
    changeable(transaction, actor, name, own=True)
    given = GIVEN + _hashed(password)
    transaction.run(update(accounts).where(accounts.c.id == name).values(password_hash=given))
    transaction.log(actor, "account.password", name)


def choose_password(store: Store, name: str, old: str, new: str) -> Account:
    """Choose one's own password, which signs in from now on.

    Raises:
        NotAllowed: `old` is wrong, or the account is closed: as for `sign_in`.
        StoreRefused: too short, or the same again.
    """
    account, hashed = _proven(store, name, old)
    if new == old:
        raise StoreRefused("E_PASSWORD", "choose another password than the one before")
    with _few_at_once():
        chosen = _hashed(new)

    def put(transaction: Transaction) -> None:
        mine = (accounts.c.id == name, accounts.c.password_hash.in_((hashed, chosen)))
        if not transaction.run(update(accounts).where(*mine).values(password_hash=chosen)).rowcount:
            raise _refused()  # somebody has given another one in the meantime
        transaction.log(name, "account.password", name)

    store.write(put, repeatable=True)
    return account


def sign_in(store: Store, name: str, password: str) -> Account:
    """The account, if the password is right and its owner's own, and the account may be used.

    Raises:
        NotAllowed: the same message whether the name or the password is wrong, after the same time.
        MustChoose: the password is right, and was for one time.
    """
    account, hashed = _proven(store, name, password)
    if hashed.startswith(GIVEN):
        raise MustChoose("E_PASSWORD_ONCE", "this password was for one time: choose your own")
    return account


@reading
def signed_in(transaction: Transaction, name: str) -> Account | None:
    """The account of somebody who signed in before, as it is now; none if they would have to do it again:
    it was closed, or somebody has given it another password."""
    account = account_of(transaction, name)
    if account is None or account.status in CLOSED:
        return None
    hashed = transaction.run(_HASH, {"id": name}).scalar_one()
    return None if hashed is None or hashed.startswith(GIVEN) else account


def _proven(store: Store, name: str, password: str) -> tuple[Account, str]:
    """The account and the marked hash of its password, if that is the password.

    Raises:
        NotAllowed: it is not, there is no such account, or it is closed.
    """
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError

    account, hashed = store.read(lambda transaction: _with_hash(transaction, name))
    hasher = PasswordHasher()
    expected = (hashed or _nobody(hasher)).removeprefix(GIVEN)
    try:
        with _few_at_once():
            hasher.verify(expected, password[: MAX_PASSWORD + 1])
    except (Argon2Error, InvalidHashError):
        raise _refused() from None
    if account is None or hashed is None or account.status in CLOSED:
        raise _refused()
    return account, hashed


def _refused() -> NotAllowed:
    return NotAllowed("E_SIGN_IN", "the name or the password is wrong, or the account is closed")


def _with_hash(transaction: Transaction, name: str) -> tuple[Account | None, str | None]:
    return account_of(transaction, name), transaction.run(_HASH, {"id": name}).scalar_one_or_none()


@contextmanager
def _few_at_once() -> Iterator[None]:
    """While at most `HASHES_AT_ONCE` others do what strangers can ask for: hash a password.

    Raises:
        WorldError: too many wait for longer than `HASH_WAIT_S`.
    """
    if not _HASHING.acquire(timeout=HASH_WAIT_S):
        raise WorldError("E_BUSY", "too many people are signing in at once; try again in a moment")
    try:
        yield
    finally:
        _HASHING.release()


def _nobody(hasher: PasswordHasher) -> str:
    """A hash that no password has, made without hashing: an unknown name costs what a known one does."""
    salt, value = (
        base64.b64encode(os.urandom(n)).rstrip(b"=").decode() for n in (hasher.salt_len, hasher.hash_len)
    )
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${value}"


def _hashed(password: str) -> str:
    from argon2 import PasswordHasher

    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise StoreRefused(
            "E_PASSWORD", f"a password needs {MIN_PASSWORD} characters, and {MAX_PASSWORD} at most"
        )
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
    if status in CLOSED:
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
