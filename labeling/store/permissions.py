"""Permissions by role: one table, checked inside each transaction, independent of the user interface.

An account that is not active has no permissions, except that one in training labels in the pools `training`
and `exam`. Permissions that depend on an object (one's own lease, draft or dialogue) are checked where it is
used.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from sqlalchemy import Row, bindparam, select

from dialint.labeling.store.database.schema import accounts
from dialint.labeling.store.database.transactions import DATABASE_MS, Transaction
from dialint.labeling.store.errors import NotAllowed
from dialint.labeling.store.records import Account, AccountRole

Permission = Literal["label", "review", "decide", "plan", "discipline", "administer"]

ROLES: tuple[AccountRole, ...] = ("labeler", "reviewer", "expert", "lead", "admin")
"""In rising order: each role has all permissions of the ones before it."""

LOWEST_ROLE: dict[Permission, AccountRole] = {
    "label": "labeler",  # claim, answer, skip; own drafts; appeal findings in own dialogues
    "review": "reviewer",  # see dialogues, verdicts and answers; review; labels and counts
    "decide": "expert",  # expert answers, gold, appeals
    "plan": "lead",  # dialogues, verdicts, projects, tasks, labels in
    "discipline": "lead",  # a labeler's status and skills
    "administer": "admin",  # accounts of any role
}

_ACCOUNT = select(accounts).where(accounts.c.id == bindparam("name"))
_ACCOUNT_AND_TIME = _ACCOUNT.add_columns(DATABASE_MS)


def has_permission(account: Account, right: Permission) -> bool:
    """Whether the account has the permission."""
    if account.status != "active" and not (account.status == "training" and right == "label"):
        return False
    return ROLES.index(account.role) >= ROLES.index(LOWEST_ROLE[right])


def require_permission(transaction: Transaction, actor: str, right: Permission) -> Account:
    """The acting account, if it has the permission.

    Raises:
        NotAllowed: it has not, or there is no such account.
    """
    account = find_account(transaction, actor)
    if account is None:
        raise NotAllowed("E_ACCOUNT", "there is no such account")
    if not has_permission(account, right):
        raise NotAllowed(
            "E_RIGHT",
            "{actor} ({role}, {status}) has no right to {right}",
            actor=actor,
            role=account.role,
            status=account.status,
            right=right,
        )
    return account


def find_account(transaction: Transaction, name: str) -> Account | None:
    """The account with this name, or none."""
    row = find_account_row(transaction, name)
    if row is None:
        return None
    skills = tuple(json.loads(row.skills))
    return Account(id=row.id, role=row.role, status=row.status, skills=skills, agent=row.agent)


def find_account_row(transaction: Transaction, name: str) -> Row[Any] | None:
    """The row of the account with this name, or none."""
    if transaction.on_sqlite:
        return transaction.fetch_row(_ACCOUNT, name)
    row = transaction.fetch_row(_ACCOUNT_AND_TIME, name)
    if row is not None:
        transaction.set_time(row.now_ms)
    return row
