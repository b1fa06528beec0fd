"""Operations of the store, and the permissions that they need: one table, checked inside each transaction,
independent of the user interface.

An operation is a function of a transaction and the acting account's name, marked with `read_operation` or
`write_operation`. It is called with a store, and runs in a transaction of its own, or with the transaction of
another operation. Each one raises `NotAllowed` if the actor lacks the permission that it names.

An account that is not active has no permissions, except that one in training labels in the pools `training`
and `exam`. Permissions that depend on an object (one's own lease, draft or dialogue) are checked where it is
used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from sqlalchemy import Row, bindparam, select

from dialint.labeling.store.database.schema import accounts
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.records import Account, AccountRole, NotAllowed

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

P = ParamSpec("P")
R = TypeVar("R")
Function = Callable[Concatenate[Transaction, P], R]
Operation = Callable[Concatenate[Store | Transaction, P], R]

_ACCOUNT = select(accounts).where(accounts.c.id == bindparam("name"))


def read_operation(right: Permission | None = None) -> Callable[[Function[P, R]], Operation[P, R]]:
    """Decorator that makes a function a read-only operation. Without a `right` the function checks the
    actor's permissions itself."""
    return _make_operation(right, writes=False, repeatable=True)


def write_operation(
    right: Permission | None = None, *, repeatable: bool = True
) -> Callable[[Function[P, R]], Operation[P, R]]:
    """As `read_operation`, for one that writes. An idempotent operation is `repeatable`: it is retried after
    a connection was lost during the commit."""
    return _make_operation(right, writes=True, repeatable=repeatable)


def _make_operation(
    right: Permission | None, *, writes: bool, repeatable: bool
) -> Callable[[Function[P, R]], Operation[P, R]]:
    def wrap(function: Function[P, R]) -> Operation[P, R]:
        @wraps(function)
        def run(place: Store | Transaction, /, *args: P.args, **kwargs: P.kwargs) -> R:
            def work(transaction: Transaction) -> R:
                if right is not None:
                    require_permission(transaction, str(args[0] if args else kwargs["actor"]), right)
                return function(transaction, *args, **kwargs)

            if isinstance(place, Transaction):
                return work(place)
            return place.write(work, repeatable=repeatable) if writes else place.read(work)

        run.__dict__["right"] = right
        return run

    return wrap


def has_permission(account: Account, right: Permission) -> bool:
    """Returns whether the account has the permission."""
    if account.status != "active" and not (account.status == "training" and right == "label"):
        return False
    return ROLES.index(account.role) >= ROLES.index(LOWEST_ROLE[right])


def require_permission(transaction: Transaction, actor: str, right: Permission) -> Account:
    """The acting account; raises `NotAllowed` if it lacks the permission."""
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


def get_account(transaction: Transaction, actor: str) -> Account:
    """The acting account of an operation, whose permission was checked."""
    account = find_account(transaction, actor)
    assert account is not None, "it has a permission"
    return account


def find_account(transaction: Transaction, name: str) -> Account | None:
    """The account with this name, or none."""
    row = find_account_row(transaction, name)
    return None if row is None else to_account(row)


def to_account(row: Row[Any]) -> Account:
    """The record of a row of ``accounts``."""
    skills = tuple(json.loads(row.skills))
    return Account(id=row.id, role=row.role, status=row.status, skills=skills, agent=row.agent)


def find_account_row(transaction: Transaction, name: str) -> Row[Any] | None:
    """The row of the account with this name, or none."""
    return transaction.fetch_row(_ACCOUNT, name)
