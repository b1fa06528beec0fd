"""Identities of OpenID Connect: which account somebody has who signs in at the company's provider.

A provider names a person by its issuer and a subject, which never change; names and e-mail addresses do. An
admin links the two to an account. An account that is linked needs no password. Who proved to be a subject is
the console's matter (`dialint.app.console.oidc`), as it is for passwords.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field
from sqlalchemy import ColumnElement, delete, insert, select

from dialint.detector.records import Record
from dialint.labeling.store.database.schema import identities
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.errors import NotAllowed, StoreRefused
from dialint.labeling.store.passwords import CLOSED_STATUSES
from dialint.labeling.store.permissions import (
    find_account,
    find_account_row,
    read_operation,
    write_operation,
)
from dialint.labeling.store.records import Account, Name

ADDRESS = re.compile(r"[\x21-\x3f\x41-\x7e]{1,64}@[A-Za-z0-9.-]{1,190}", re.ASCII)
Url = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[\x21-\x7e]+$")]
Subject = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[\x20-\x7e]+$")]


class Identity(Record):
    """Who somebody is at a provider: `subject` is unique within an `issuer`."""

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
    """The account of somebody who proved this identity. With `address`, an e-mail address that the provider
    verified, a new identity is linked to the account of that name, unless it is an admin's or has an identity
    of the same issuer: addresses are given to new people, and whoever runs the directory is no admin here.

    Raises:
        NotAllowed: no account is linked, or it is closed.
    """
    linked = _find(transaction, identity)
    wanted = linked or (address if address and ADDRESS.fullmatch(address) else None)
    account = None if wanted is None else find_account(transaction, wanted)
    if (
        account is None
        or account.status in CLOSED_STATUSES
        or (
            linked is None
            and (account.role == "admin" or _has_identity(transaction, account, identity.issuer))
        )
    ):
        raise NotAllowed("E_SIGN_IN", "no account is linked to this identity, or it is closed")
    if linked is None:
        _insert(transaction, account.id, identity, account.id)
    return account


@read_operation()
def find_signed_in(transaction: Transaction, name: str, proof: Identity | str) -> Account | None:
    """The present account of somebody who signed in before by `proof`, an identity or the hash of a password
    (`passwords.SignedIn`); none if the account was closed, the identity is not linked to it any more, or it
    has another password."""
    account, row = find_account(transaction, name), find_account_row(transaction, name)
    if account is None or row is None or account.status in CLOSED_STATUSES:
        return None
    is_valid = (
        _find(transaction, proof) == name if isinstance(proof, Identity) else row.password_hash == proof
    )
    return account if is_valid else None


def _has_identity(transaction: Transaction, account: Account, issuer: str) -> bool:
    query = select(identities.c.subject).where(
        identities.c.account == account.id, identities.c.issuer == issuer
    )
    return transaction.run(query.limit(1)).first() is not None


def _key(identity: Identity) -> tuple[ColumnElement[bool], ...]:
    return identities.c.issuer == identity.issuer, identities.c.subject == identity.subject


def _find(transaction: Transaction, identity: Identity) -> str | None:
    account: str | None = transaction.run(
        select(identities.c.account).where(*_key(identity))
    ).scalar_one_or_none()
    return account


def _insert(transaction: Transaction, actor: str, identity: Identity, account: str) -> None:
    row = {**identity.model_dump(), "account": account, "at_ms": transaction.now_ms}
    transaction.run(insert(identities), row)
    transaction.log(actor, "identity.link", account, issuer=identity.issuer, sub=identity.subject)
