"""The audit log: a chain of hashes, so that no entry can be changed, dropped or put in between unseen.

An entry's hash is SHA-256 over the hash before it and the entry as canonical JSON. Ids rise by one
without gaps. ``audit_head`` repeats the last id and hash, so that a cut end shows. Entries name ids and
hashes, never a dialogue's text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, text, update

from labeling.store.database.refusals import StoreDamaged
from labeling.store.database.schema import audit, audit_head

START = "0" * 64
_HEAD = select(audit_head.c.id, audit_head.c.hash)
_LOCK = text(f"SELECT pg_advisory_xact_lock({0x6469616C0001})")
_ENTRIES, _NEW_HEAD = insert(audit), update(audit_head)
BATCH = 1000


class Entry(NamedTuple):
    """Who (`account`) did what (`action`) to which `subject`, when, and what there is to know of it."""

    at_ms: int
    account: str
    action: str
    subject: str
    content: str


def canonical(value: Any) -> str:
    """JSON in ASCII with sorted keys: one text for one value, storable and hashable everywhere."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def chained(previous: str, number: int, entry: Entry) -> str:
    """The hash of entry `number` after the hash `previous`."""
    return hashlib.sha256(f"{previous}\n{canonical([number, *entry])}".encode()).hexdigest()


def append(connection: Connection, entries: Sequence[Entry]) -> None:
    """Add entries at the end, in order. The head must be locked by this transaction (`lock_head`)."""
    number, last = connection.execute(_HEAD).one()
    rows = []
    for entry in entries:
        number += 1
        last = chained(last, number, entry)
        rows.append({"id": number, **entry._asdict(), "hash": last})
    connection.execute(_ENTRIES, rows)
    connection.execute(_NEW_HEAD, {"id": number, "hash": last})


def lock_head(connection: Connection) -> None:
    """Wait for our turn to add entries; SQLite's writers have had theirs since they began.

    PostgreSQL's advisory locks are given in order of asking. A lock of the head's row is not: whoever
    waited follows the row to its next version and queues anew (64 writers, longest wait 6.4 s; 2026-11-22).
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK)


def walk(connection: Connection) -> Iterator[tuple[int, Entry]]:
    """Every entry in order, with its number, each checked against the one before it.

    Raises:
        StoreDamaged: names the first entry that is not as it was written, or missing.
    """
    number, last = 0, START
    while True:
        rows = connection.execute(select(audit).where(audit.c.id > number).order_by(audit.c.id).limit(BATCH))
        batch = rows.all()
        for row in batch:
            entry = Entry(row.at_ms, row.account, row.action, row.subject, row.content)
            if row.id != number + 1 or row.hash != chained(last, row.id, entry):
                raise StoreDamaged("E_AUDIT", f"audit log: entry {number + 1} is missing or was changed")
            number, last = row.id, row.hash
            yield number, entry
        if len(batch) < BATCH:
            break
    _check_head(connection, number, last)


def _check_head(connection: Connection, number: int, last: str) -> None:
    heads = connection.execute(_HEAD).all()
    if [tuple(head) for head in heads] != [(number, last)]:
        raise StoreDamaged("E_AUDIT", f"audit log: its head does not agree with its last entry, {number}")
