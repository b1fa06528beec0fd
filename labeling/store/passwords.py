"""Passwords: hashed with argon2id, checked at sign-in, chosen by their owner.

A temporary password (of a new account, or set by an admin) signs nobody in: it only allows choosing another
one. Its hash is stored with the prefix `TEMPORARY`.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select, update

from dialint.detector.errors import WorldError
from dialint.labeling.store.database.schema import accounts
from dialint.labeling.store.database.transactions import Store, Transaction, read_operation
from dialint.labeling.store.errors import MustChangePassword, NotAllowed, StoreRefused
from dialint.labeling.store.permissions import find_account
from dialint.labeling.store.records import Account

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_PASSWORD = 12
MAX_PASSWORD = 1000
HASHES_AT_ONCE = 2
"""Passwords that one process hashes at a time, each in 64 MB; the others wait."""
HASH_WAIT_S = 10.0
_HASHING = BoundedSemaphore(HASHES_AT_ONCE)
TEMPORARY = "given:"
"""Before the hash of a password that its owner did not choose."""
CLOSED = ("suspended", "banned")

_HASH = select(accounts.c.password_hash).where(accounts.c.id == bindparam("id"))


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
        chosen = _hash_password(new)

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
    if hashed.startswith(TEMPORARY):
        raise MustChangePassword("E_PASSWORD_ONCE", "this password was for one time: choose your own")
    return account


@read_operation
def find_signed_in(transaction: Transaction, name: str) -> Account | None:
    """The account of somebody who signed in before, as it is now; none if they would have to do it again:
    it was closed, or somebody has given it another password."""
    account = find_account(transaction, name)
    if account is None or account.status in CLOSED:
        return None
    hashed = transaction.run(_HASH, {"id": name}).scalar_one()
    return None if hashed is None or hashed.startswith(TEMPORARY) else account


def _proven(store: Store, name: str, password: str) -> tuple[Account, str]:
    """The account and the marked hash of its password, if that is the password.

    Raises:
        NotAllowed: it is not, there is no such account, or it is closed.
    """
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError

    account, hashed = store.read(lambda transaction: _with_hash(transaction, name))
    hasher = PasswordHasher()
    expected = (hashed or _nobody(hasher)).removeprefix(TEMPORARY)
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
    return find_account(transaction, name), transaction.run(_HASH, {"id": name}).scalar_one_or_none()


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


def hash_temporary(password: str) -> str:
    """The hash of a password for one time: its owner must choose another before anything else.

    Raises:
        StoreRefused: too short or too long.
    """
    return TEMPORARY + _hash_password(password)


def _hash_password(password: str) -> str:
    from argon2 import PasswordHasher

    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise StoreRefused(
            "E_PASSWORD", f"a password needs {MIN_PASSWORD} characters, and {MAX_PASSWORD} at most"
        )
    return PasswordHasher().hash(password)
