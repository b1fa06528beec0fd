"""Verifies that a store is what was written; repairs nothing.

It verifies the audit chain up to its signed head; every row of every table against the log
(`changes.Replay`); the schema against the last upgrade; the contents of dialogues and verdicts against their
hashes; derived data (index tables, the counts of a task) against the tables they follow from; and the
integrity of SQLite's pages. It runs in one snapshot, does not block writers, and its memory does not grow
with the store.

Whoever has the key can still forge anything, and a complete older copy of the store is valid: only its head,
saved elsewhere (`expect_head`), distinguishes it from the newest.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection, Table, func, select, text
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError

from dialint.detector.errors import WorldError
from dialint.labeling.store.database import changes
from dialint.labeling.store.database.audit import BATCH, START, Head, Key, iterate_entries
from dialint.labeling.store.database.changes import Replay
from dialint.labeling.store.database.derived_check import check_derived
from dialint.labeling.store.database.schema import (
    annotation_rows,
    dialogues,
    leases,
    tasks,
    verdicts,
)
from dialint.labeling.store.database.transactions import Store, to_world_error
from dialint.labeling.store.records import StoreDamaged


@dataclass(frozen=True)
class VerifiedCounts:
    """How many rows of each kind were verified, and the head of the audit log."""

    audit_entries: int
    annotations: int
    dialogues: int
    verdicts: int
    head: Head


def verify(store: Store, expect_head: Head | None = None) -> VerifiedCounts:
    """Verify the whole store. `expect_head` is a head that was saved before: the log must still contain it.

    Raises:
        StoreDamaged: names the first difference.
        ConfigError: the store's key is missing, or another one.
        WorldError: the database cannot be reached.
    """
    try:
        with suppress(WorldError):  # which comes again below
            store.read(lambda transaction: None)  # replaces connections that a restart of the server cut off
        with store.engine.connect() as plain:
            sqlite = plain.dialect.name == "sqlite"
            connection = plain if sqlite else plain.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                return check_all(connection, store.key, expect_head)
    except DBAPIError as error:
        if isinstance(error, DatabaseError) and not isinstance(error, OperationalError):
            kind = type(error.orig).__name__
            raise StoreDamaged("E_DAMAGED", "the database cannot be read: {kind}", kind=kind) from error
        raise to_world_error(error, store.engine) from error
    except ValueError as error:  # bytes that are not UTF-8, also in SQLite's own messages
        raise StoreDamaged(
            "E_DAMAGED", "the database cannot be read: {error}", error=type(error).__name__
        ) from error


def check_all(connection: Connection, key: Key, expect_head: Head | None = None) -> VerifiedCounts:
    """As `verify`, inside the caller's transaction."""
    if connection.dialect.name == "sqlite":
        _check_pages(connection)
    with Replay() as replay:
        head, schema = check_log(connection, key, replay, expect_head)
    n_annotations = connection.execute(select(func.count()).select_from(annotation_rows)).scalar_one()
    n_dialogues, n_verdicts = (_check_content(connection, table) for table in (dialogues, verdicts))
    check_derived(connection)
    _check_tasks(connection)
    check_schema(connection, schema)
    return VerifiedCounts(head.number, n_annotations, n_dialogues, n_verdicts, head)


def check_log(
    connection: Connection, key: Key, replay: Replay, expect_head: Head | None = None
) -> tuple[Head, dict[str, str]]:
    """Verify the audit log, and all tables against it. Returns the head, and the schema as of the last
    upgrade; `replay` holds the expected rows."""
    head, schema = Head(0, START), dict[str, str]()
    has_expected = expect_head is None or expect_head == head
    try:
        for head, entry in iterate_entries(connection, key):
            has_expected = has_expected or head == expect_head
            if entry.action in ("upgrade", "rekey"):
                schema = json.loads(entry.content).get("schema", {})
            if entry.changes is not None:
                replay.play(head.number, entry.changes)
        if not has_expected:
            raise StoreDamaged(
                "E_HEAD",
                "audit log: the head {expect_head} is not in it; it ends at {head}",
                expect_head=expect_head,
                head=head,
            )
        for difference in replay.differences(connection, key):
            raise StoreDamaged("E_ROW", difference.text)
    except sqlite3.Error as error:
        raise WorldError("E_STORE", "a temporary file of SQLite: {error}", error=str(error)) from error
    return head, schema


def _check_pages(connection: Connection) -> None:
    result = connection.execute(text("PRAGMA integrity_check(1)")).scalar_one()
    if result != "ok":
        raise StoreDamaged("E_DAMAGED", "SQLite: {result}", result=result)
    violations = connection.execute(text("PRAGMA foreign_key_check")).all()
    if violations:
        raise StoreDamaged("E_DAMAGED", "SQLite: a row of {table} points to nothing", table=violations[0][0])


def check_schema(connection: Connection, written: dict[str, str]) -> None:
    """Compare the schema with that of the last upgrade; on a server of another major version, only the names
    of its objects.

    Raises:
        StoreDamaged: names the first object that is missing, changed or new.
    """
    present = changes.list_objects(connection)
    if written.pop(changes.SERVER, None) != present.pop(changes.SERVER, None):
        written, present = dict.fromkeys(written, ""), dict.fromkeys(present, "")
    for name in sorted(written.keys() | present.keys()):
        if written.get(name) != present.get(name):
            if name not in present:
                raise StoreDamaged("E_SCHEMA", "schema: {name} is missing since the last upgrade", name=name)
            if name in written:
                raise StoreDamaged("E_SCHEMA", "schema: {name} was changed since the last upgrade", name=name)
            raise StoreDamaged("E_SCHEMA", "schema: {name} was put in since the last upgrade", name=name)


def _check_content(connection: Connection, table: Table) -> int:
    """Compare the content of every row with its sha256; return the number of rows."""
    n, key = 0, list(table.primary_key)
    query = select(*key, table.c.content, table.c.sha256).order_by(*key)
    with connection.execute(query.execution_options(yield_per=BATCH)) as rows:
        for row in rows:
            n += 1
            if hashlib.sha256(str(row.content).encode()).hexdigest() != row.sha256:
                raise StoreDamaged(
                    "E_DAMAGED", "{table}: {name!r} was changed", table=table.name, name=row[0]
                )
    return n


def _check_tasks(connection: Connection) -> None:
    """Compare the counts of every task with the leases on it."""
    numbers = (
        select(
            leases.c.task,
            func.count().filter(leases.c.state == "answered").label("answered"),
            func.count().filter(leases.c.state == "held").label("leased"),
        )
        .group_by(leases.c.task)
        .subquery()
    )
    answered, leased = (func.coalesce(numbers.c[name], 0) for name in ("answered", "leased"))
    wrong = select(tasks.c.id).outerjoin(numbers, numbers.c.task == tasks.c.id)
    wrong = wrong.where((tasks.c.answered != answered) | (tasks.c.leased != leased))
    task = connection.execute(wrong.order_by(tasks.c.id).limit(1)).scalar()
    if task is not None:
        raise StoreDamaged("E_COUNTS", "task {task}: its numbers do not agree with its leases", task=task)
