"""Is the store still what was written? Checks, and repairs nothing.

The audit chain to its head; every annotation against its own hash and the one in the audit log; dialogues
and verdicts against theirs; queue counts against the tasks; SQLite's pages against each other. All in one
snapshot, so that work goes on meanwhile, and in memory that does not grow.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, func, select, text, tuple_
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError

from detector.artifacts import fingerprint
from labeling.store.database.audit import BATCH, walk
from labeling.store.database.refusals import StoreDamaged
from labeling.store.database.schema import annotation_rows, counts, dialogues, tasks, verdicts
from labeling.store.database.transactions import Store, world_error

HASHED = tuple(column.name for column in annotation_rows.columns if column.name not in ("id", "sha256"))
"""What an annotation's sha256 is made of: everything but its number."""


@dataclass(frozen=True)
class Verified:
    """How many of each were found whole."""

    audit_entries: int
    annotations: int
    dialogues: int
    verdicts: int


def annotation_hash(values: dict[str, Any]) -> str:
    """The sha256 of a row of ``annotations``, given its columns."""
    return fingerprint([values[name] for name in HASHED])


def verify(store: Store) -> Verified:
    """Check the whole store.

    Raises:
        StoreDamaged: names the first thing that is not as it was written.
        WorldError: the database cannot be reached.
    """
    try:
        with store.engine.connect() as plain:
            sqlite = plain.dialect.name == "sqlite"
            connection = plain if sqlite else plain.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                return check_all(connection)
    except DBAPIError as error:
        if isinstance(error, DatabaseError) and not isinstance(error, OperationalError):
            kind = type(error.orig).__name__
            raise StoreDamaged("E_DAMAGED", f"the database cannot be read: {kind}") from error
        raise world_error(error, store.engine) from error


def check_all(connection: Connection) -> Verified:
    """As `verify`, inside the caller's transaction."""
    if connection.dialect.name == "sqlite":
        _check_pages(connection)
    entries, saved = _check_audit(connection)
    n_dialogues, n_verdicts = (_check_content(connection, table) for table in (dialogues, verdicts))
    _check_counts(connection)
    return Verified(entries, saved, n_dialogues, n_verdicts)


def _check_pages(connection: Connection) -> None:
    found = connection.execute(text("PRAGMA integrity_check(1)")).scalar_one()
    if found != "ok":
        raise StoreDamaged("E_DAMAGED", f"SQLite: {found}")
    strangers = connection.execute(text("PRAGMA foreign_key_check")).all()
    if strangers:
        raise StoreDamaged("E_DAMAGED", f"SQLite: a row of {strangers[0][0]} points to nothing")


def _check_audit(connection: Connection) -> tuple[int, int]:
    """Walk the chain, and look at the annotation behind every entry that tells of one."""
    entries, saved = 0, 0
    chain = walk(connection)
    while batch := list(islice(chain, BATCH)):
        entries = batch[-1][0]
        told = [json.loads(entry.content) for _, entry in batch if entry.action == "annotate"]
        _check_annotations(connection, {one["id"]: one["sha256"] for one in told})
        saved += len(told)
    there = connection.execute(select(func.count()).select_from(annotation_rows)).scalar_one()
    if there != saved:
        raise StoreDamaged("E_ANNOTATION", f"{there} annotations, but the audit log tells of {saved}")
    return entries, saved


def _check_annotations(connection: Connection, told: dict[int, str]) -> None:
    if not told:
        return
    asked = select(annotation_rows).where(annotation_rows.c.id.in_(told))
    rows = {row.id: row for row in connection.execute(asked)}
    for number, sha256 in sorted(told.items()):
        row = rows.get(number)
        if row is None or not row.sha256 == sha256 == annotation_hash(dict(row._mapping)):
            raise StoreDamaged("E_ANNOTATION", f"annotation {number} is missing or was changed")


def _check_content(connection: Connection, table: Table) -> int:
    n = 0
    for row in _rows(connection, table):
        n += 1
        if hashlib.sha256(row.content.encode()).hexdigest() != row.sha256:
            raise StoreDamaged("E_DAMAGED", f"{table.name}: {row[0]!r} was changed")
    return n


def _rows(connection: Connection, table: Table) -> Iterator[Any]:
    """All rows in order of the primary key, a batch at a time."""
    key = list(table.primary_key)
    names = [*key, table.c.content, table.c.sha256]
    last: Sequence[Any] | None = None
    while True:
        question = select(*names).order_by(*key).limit(BATCH)
        if last is not None:
            question = question.where(tuple_(*key) > tuple_(*last))
        batch = connection.execute(question).all()
        yield from batch
        if len(batch) < BATCH:
            return
        last = batch[-1][: len(key)]


def _check_counts(connection: Connection) -> None:
    kept = {(row.project, row.pool, row.state): row.n for row in connection.execute(select(counts)) if row.n}
    groups = (tasks.c.project, tasks.c.pool, tasks.c.state)
    real = {
        tuple(row[:3]): row[3] for row in connection.execute(select(*groups, func.count()).group_by(*groups))
    }
    if kept != real:
        raise StoreDamaged("E_COUNTS", "the counts of a queue do not agree with its tasks")
