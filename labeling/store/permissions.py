"""Permissions by role: one table, checked inside each transaction, whatever the screen allows.

An account that is not active has no rights, but that one in training labels in the training pool and the
exam. Rights that depend on the thing itself (one's own lease, draft or dialogue) are checked where it is.
"""

from __future__ import annotations

import json
from typing import Literal

from sqlalchemy import bindparam, select

from dialint.labeling.store.database.schema import accounts
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.errors import NotAllowed
from dialint.labeling.store.records import Account, AccountRole

Permission = Literal["label", "review", "decide", "plan", "discipline", "administer"]

ROLES: tuple[AccountRole, ...] = ("labeler", "reviewer", "expert", "lead", "admin")
"""Each may do all that the ones before it may."""

LOWEST_ROLE: dict[Permission, AccountRole] = {
    "label": "labeler",  # claim, answer, skip; own drafts; appeal findings in own dialogues
    "review": "reviewer",  # see dialogues, verdicts and answers; review; labels and counts
    "decide": "expert",  # expert answers, gold, appeals
    "plan": "lead",  # dialogues, verdicts, projects, tasks, labels in
    "discipline": "lead",  # a labeler's status and skills
    "administer": "admin",  # accounts of any role
}

_ACCOUNT = select(accounts).where(accounts.c.id == bindparam("id"))


def has_permission(account: Account, right: Permission) -> bool:
    """Whether the account has the right."""
    if account.status != "active" and not (account.status == "training" and right == "label"):
        return False
    return ROLES.index(account.role) >= ROLES.index(LOWEST_ROLE[right])


def require_permission(transaction: Transaction, actor: str, right: Permission) -> Account:
    """The acting account, if it may.

    Raises:
        NotAllowed: it may not, or there is no such account.
    """
    account = find_account(transaction, actor)
    if account is None:
        raise NotAllowed("E_ACCOUNT", "there is no such account")
    if not has_permission(account, right):
        raise NotAllowed("E_RIGHT", f"{actor} ({account.role}, {account.status}) has no right to {right}")
    return account


def find_account(transaction: Transaction, name: str) -> Account | None:
    """The account of that name, if there is one."""
    row = transaction.run(_ACCOUNT, {"id": name}).one_or_none()
    if row is None:
        return None
    skills = tuple(json.loads(row.skills))
    return Account(id=row.id, role=row.role, status=row.status, skills=skills, agent=row.agent)
