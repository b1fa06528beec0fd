"""Authentication by a password, hashed with argon2id, or by an identity of OpenID Connect.

A temporary password (of a new account, or set by an admin) does not sign in: it only allows choosing another
one. Its hash is stored with the prefix `TEMPORARY`. A provider names a person by its issuer and a subject,
which never change; an admin links the two to an account, which then needs no password.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field
from sqlalchemy import ColumnElement, delete, insert, select, update

from dialint.detector.errors import WorldError
from dialint.detector.records import Record
from dialint.labeling.store.database.schema import accounts, identities
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.permissions import (
    find_account,
    find_account_row,
    read_operation,
    to_account,
    write_operation,
)
from dialint.labeling.store.records import Account, MustChangePassword, Name, NotAllowed, StoreRefused

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


class SignedIn(NamedTuple):
    """An account that a password signed in. By its hash `find_signed_in` tells later whether it is still the
    account's password."""

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
    from argon2 import PasswordHasher
    from argon2.exceptions import Argon2Error, InvalidHashError

    row = store.read(lambda transaction: find_account_row(transaction, name))
    hashed = None if row is None else row.password_hash
    hasher = PasswordHasher()
    expected = (hashed or _random_hash(hasher)).removeprefix(TEMPORARY)
    try:
        with _limit_concurrency():
            hasher.verify(expected, password[: MAX_PASSWORD + 1])
    except (Argon2Error, InvalidHashError):
        raise _sign_in_error() from None
    if row is None or hashed is None or row.status in CLOSED_STATUSES:
        raise _sign_in_error()
    return to_account(row), hashed


def _sign_in_error() -> NotAllowed:
    return NotAllowed("E_SIGN_IN", "the name or the password is wrong, or the account is closed")


@contextmanager
def _limit_concurrency() -> Iterator[None]:
    """Limit hashing, which needs no sign-in, to `MAX_CONCURRENT_HASHES` threads of the process."""
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


ADDRESS = re.compile(r"[\x21-\x3f\x41-\x7e]{1,64}@[A-Za-z0-9.-]{1,190}", re.ASCII)
Url = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[\x21-\x7e]+$")]
Subject = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[\x20-\x7e]+$")]


class Identity(Record):
    """An identity at a provider: `subject` is unique within an `issuer`."""

    issuer: Url
    subject: Subject


class LinkedIdentity(Identity):
    """An identity with its account."""

    account: Name
    at_ms: int


@write_operation("administer")
def link(transaction: Transaction, actor: str, identity: Identity, account: str) -> None:
    """Let an identity sign in to an account; the same again changes nothing.

    Raises:
        StoreRefused: there is no such account, or the identity is linked to another one.
    """
    if find_account(transaction, account) is None:
        raise StoreRefused("E_ACCOUNT", "there is no such account")
    linked = _find(transaction, identity)
    if linked not in (None, account):
        raise StoreRefused(
            "E_IDENTITY", "this identity is linked to {linked}; unlink it first", linked=linked
        )
    if linked is None:
        _insert(transaction, actor, identity, account)


@write_operation("administer")
def unlink(transaction: Transaction, actor: str, identity: Identity) -> None:
    """End the link of an identity, if there is one."""
    if transaction.run(delete(identities).where(*_key(identity))).rowcount:
        transaction.log(actor, "identity.unlink", identity.subject, issuer=identity.issuer)


@read_operation("administer")
def list_identities(transaction: Transaction, actor: str) -> list[LinkedIdentity]:
    """All linked identities, by account."""
    rows = transaction.run(select(identities).order_by(identities.c.account, identities.c.subject))
    return [LinkedIdentity(**row) for row in rows.mappings()]


@write_operation()
def sign_in_identity(transaction: Transaction, identity: Identity, address: str | None = None) -> Account:
    """Returns the account of an identity. With `address`, an e-mail address that the provider verified, a new
    identity is linked to the account of that name, unless it is an admin's or has an identity of the same
    issuer: addresses are reassigned to new people, and the directory's administrators are none here.

    Raises:
        NotAllowed: no account is linked, or it is closed.
    """
    linked = _find(transaction, identity)
    wanted = linked or (address if address and ADDRESS.fullmatch(address) else None)
    account = None if wanted is None else find_account(transaction, wanted)
    if account is not None and linked is None:
        same = select(identities.c.subject).filter_by(account=account.id, issuer=identity.issuer).limit(1)
        if account.role == "admin" or transaction.run(same).first() is not None:
            account = None
    if account is None or account.status in CLOSED_STATUSES:
        raise NotAllowed("E_SIGN_IN", "no account is linked to this identity, or it is closed")
    if linked is None:
        _insert(transaction, account.id, identity, account.id)
    return account


@read_operation()
def find_signed_in(transaction: Transaction, name: str, proof: Identity | str) -> Account | None:
    """Returns the present account of an earlier sign-in by `proof`, an identity or the hash of a password
    (`SignedIn`); none if the account was closed, the identity is not linked to it any more, or it has another
    password."""
    row = find_account_row(transaction, name)
    if row is None or row.status in CLOSED_STATUSES:
        return None
    if isinstance(proof, Identity):
        return to_account(row) if _find(transaction, proof) == name else None
    return to_account(row) if row.password_hash == proof else None


def _key(identity: Identity) -> tuple[ColumnElement[bool], ...]:
    return identities.c.issuer == identity.issuer, identities.c.subject == identity.subject


def _find(transaction: Transaction, identity: Identity) -> str | None:
    query = select(identities.c.account).where(*_key(identity))
    account: str | None = transaction.run(query).scalar_one_or_none()
    return account


def _insert(transaction: Transaction, actor: str, identity: Identity, account: str) -> None:
    row = {**identity.model_dump(), "account": account, "at_ms": transaction.now_ms}
    transaction.run(insert(identities), row)
    transaction.log(actor, "identity.link", account, issuer=identity.issuer, sub=identity.subject)
