"""Passwords: hashed with argon2id, verified at sign-in, chosen by their owner.

A temporary password (of a new account, or set by an admin) does not sign in: it only allows choosing another
one. Its hash is stored with the prefix `TEMPORARY`.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, select, update

from dialint.detector.errors import WorldError
from dialint.labeling.store.database.schema import accounts
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.errors import MustChangePassword, NotAllowed, StoreRefused
from dialint.labeling.store.permissions import find_account
from dialint.labeling.store.records import Account

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_PASSWORD = 12
MAX_PASSWORD = 1000
MAX_CONCURRENT_HASHES = 2
"""Passwords that one process hashes concurrently, each in 64 MB; further ones wait."""
HASH_WAIT_S = 10.0
_HASHING = BoundedSemaphore(MAX_CONCURRENT_HASHES)
TEMPORARY = "given:"
"""Prefix of the hash of a password that its owner did not choose."""
CLOSED_STATUSES = ("suspended", "banned")

_HASH = select(accounts.c.password_hash).where(accounts.c.id == bindparam("id"))


class SignedIn(NamedTuple):
    """Somebody who proved a password. Its stored hash tells later whether it is still the account's
    (`identities.find_signed_in`)."""

    account: Account
    password_hash: str


def choose_password(store: Store, name: str, old: str, new: str) -> SignedIn:
    """Replace the password of an account, temporary or not, by one that its owner chooses.

    Raises:
        NotAllowed: `old` is wrong, or the account is closed: as for `sign_in`.
        StoreRefused: the new password is too short, or equals the old one.
    """
    account, hashed = _verify(store, name, old)
    if new == old:
        raise StoreRefused("E_PASSWORD", "choose another password than the one before")
    with _limit_concurrency():
        chosen = _hash_password(new)

    def write(transaction: Transaction) -> None:
        unchanged = (accounts.c.id == name, accounts.c.password_hash.in_((hashed, chosen)))
        if not transaction.run(update(accounts).where(*unchanged).values(password_hash=chosen)).rowcount:
            raise _sign_in_error()  # the password was changed since it was verified
        transaction.log(name, "account.password", name)

    store.write(write, repeatable=True)
    return SignedIn(account, chosen)


def sign_in(store: Store, name: str, password: str) -> SignedIn:
    """The account, if the password is right and not temporary, and the account is not closed.

    Raises:
        NotAllowed: the same message whether the name or the password is wrong, after the same time.
        MustChangePassword: the password is right but temporary.
    """
    account, hashed = _verify(store, name, password)
    if hashed.startswith(TEMPORARY):
        raise MustChangePassword("E_PASSWORD_ONCE", "this password was for one time: choose your own")
    return SignedIn(account, hashed)


def _verify(store: Store, name: str, password: str) -> tuple[Account, str]:
    """The account and the stored hash of its password, if the password is right.

    Raises:
        NotAllowed: the password is wrong, there is no such account, or it is closed.
    """
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError

    account, hashed = store.read(
        lambda transaction: (
            find_account(transaction, name),
            transaction.run(_HASH, {"id": name}).scalar_one_or_none(),
        )
    )
    hasher = PasswordHasher()
    expected = (hashed or _random_hash(hasher)).removeprefix(TEMPORARY)
    try:
        with _limit_concurrency():
            hasher.verify(expected, password[: MAX_PASSWORD + 1])
    except (Argon2Error, InvalidHashError):
        raise _sign_in_error() from None
    if account is None or hashed is None or account.status in CLOSED_STATUSES:
        raise _sign_in_error()
    return account, hashed


def _sign_in_error() -> NotAllowed:
    return NotAllowed("E_SIGN_IN", "the name or the password is wrong, or the account is closed")


@contextmanager
def _limit_concurrency() -> Iterator[None]:
    """Limit hashing, which needs no sign-in, to `MAX_CONCURRENT_HASHES` threads of the process.

    Raises:
        WorldError: no slot became free within `HASH_WAIT_S`.
    """
    if not _HASHING.acquire(timeout=HASH_WAIT_S):
        raise WorldError("E_BUSY", "too many people are signing in at once; try again in a moment")
    try:
        yield
    finally:
        _HASHING.release()


def _random_hash(hasher: PasswordHasher) -> str:
    """A hash of no password, made without hashing: verifying takes as long for an unknown name as for an
    existing one."""
    salt, value = (
        base64.b64encode(os.urandom(n)).rstrip(b"=").decode() for n in (hasher.salt_len, hasher.hash_len)
    )
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${value}"


def hash_temporary(password: str) -> str:
    """The hash of a temporary password: its owner has to choose another one at the first sign-in.

    Raises:
        StoreRefused: too short or too long.
    """
    return TEMPORARY + _hash_password(password)


def _hash_password(password: str) -> str:
    from argon2 import PasswordHasher

    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise StoreRefused(
            "E_PASSWORD",
            "a password needs {least} characters, and {most} at most",
            least=MIN_PASSWORD,
            most=MAX_PASSWORD,
        )
    return PasswordHasher().hash(password)
