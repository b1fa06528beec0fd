"""The audit log for admins: pages of entries, and verification of the whole store.

Entries are read newest first by their number, so that a page costs the same at any depth. Account and action
have no index: a page looks at `SCAN` entries at most and says where it stopped.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from sqlalchemy import select

from dialint.labeling.store.database.audit import Head
from dialint.labeling.store.database.schema import audit
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.database.verify import VerifiedCounts, verify
from dialint.labeling.store.permissions import read_operation, write_operation

SCAN = 100_000
MAX_ENTRIES = 200


class LoggedEntry(NamedTuple):
    """An entry of the log: who did what to which subject, when, from where; `content` are its details."""

    number: int
    at_ms: int
    account: str
    action: str
    subject: str
    content: dict[str, Any]
    origin: dict[str, str]
    hash: str


class LogPage(NamedTuple):
    """Entries, newest first; `before` continues, and is none at the beginning of the log."""

    entries: tuple[LoggedEntry, ...]
    before: int | None


@read_operation("administer")
def list_entries(
    transaction: Transaction,
    actor: str,
    *,
    before: int | None = None,
    account: str | None = None,
    action: str | None = None,
    since_ms: int | None = None,
    until_ms: int | None = None,
    limit: int = 50,
) -> LogPage:
    """Entries of one account, of actions that begin with `action`, and within [since_ms, until_ms), as far as
    these are given.
    """
    limit = min(limit, MAX_ENTRIES)
    if before is None:
        newest = transaction.run(select(audit.c.id).order_by(audit.c.id.desc()).limit(1)).scalar_one_or_none()
        before = (newest or 0) + 1
    lowest = max(0, before - 1 - SCAN)
    query = select(audit).where(audit.c.id < before, audit.c.id > lowest)
    if account is not None:
        query = query.where(audit.c.account == account)
    if action is not None:
        query = query.where(audit.c.action.startswith(action, autoescape=True))
    if since_ms is not None:
        query = query.where(audit.c.at_ms >= since_ms)
    if until_ms is not None:
        query = query.where(audit.c.at_ms < until_ms)
    rows = transaction.run(query.order_by(audit.c.id.desc()).limit(limit)).all()
    entries = tuple(
        LoggedEntry(
            row.id, row.at_ms, row.account, row.action, row.subject, json.loads(row.content),
            json.loads(row.origin or "{}"), row.hash,
        )
        for row in rows
    )  # fmt: skip
    if len(entries) == limit:
        return LogPage(entries, entries[-1].number)
    return LogPage(entries, lowest + 1 if lowest else None)


@write_operation("administer")
def _begin_verification(transaction: Transaction, actor: str) -> None:
    transaction.log(actor, "store.verify", "store")


def verify_store(store: Store, actor: str, expect_head: Head | None = None) -> VerifiedCounts:
    """As `verify`, for an admin, who leaves an entry in the log.

    Raises:
        NotAllowed: the actor is no admin.
        StoreDamaged: names the first difference.
    """
    _begin_verification(store, actor)
    return verify(store, expect_head)
