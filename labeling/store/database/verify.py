"""Verifies that a store is what was written; repairs nothing.

It verifies the audit chain up to its signed head; every row of every table against the log
(`changes.Replay`); the schema against the last upgrade; annotations, dialogues and verdicts against their own
hashes; derived data (counts, the counts of a task) against the tables they follow from; and the integrity of
SQLite's pages. It runs in one snapshot, does not block writers, and its memory does not grow with the store.

Whoever has the key can still forge anything, and a complete older copy of the store is valid: only its head,
saved elsewhere (`expect_head`), distinguishes it from the newest.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, func, select, text
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError

from dialint.detector.artifacts import fingerprint
from dialint.detector.errors import WorldError
from dialint.labeling.store.database import changes
from dialint.labeling.store.database.audit import BATCH, START, Entry, Head, Key, iterate_entries
from dialint.labeling.store.database.changes import Replay, unpack
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

ERASE = "dialogues.erase"
"""Action of the entries that annotations may end by (`dialint.labeling.store.erasure`)."""
ANNOTATIONS = annotation_rows.name

HASHED = tuple(each.name for each in annotation_rows.columns if each.name not in ("id", "sha256"))
"""Columns that an annotation's sha256 covers: all but its number."""


@dataclass(frozen=True)
class VerifiedCounts:
    """How many rows of each kind were verified, and the head of the audit log."""

    audit_entries: int
    annotations: int
    dialogues: int
    verdicts: int
    head: Head


def hash_annotation(values: dict[str, Any]) -> str:
    """The sha256 of a row of ``annotations``, from the values of its columns."""
    return fingerprint([values[name] for name in HASHED])


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
        head, n_annotations, schema = check_log(connection, key, replay, expect_head)
    n_dialogues, n_verdicts = (_check_content(connection, table) for table in (dialogues, verdicts))
    check_derived(connection)
    _check_tasks(connection)
    check_schema(connection, schema)
    return VerifiedCounts(head.number, n_annotations, n_dialogues, n_verdicts, head)


def check_log(
    connection: Connection, key: Key, replay: Replay, expect_head: Head | None = None
) -> tuple[Head, int, dict[str, str]]:
    """Verify the audit log, and all tables against it. Returns the head, the number of
    annotations, and the schema as of the last upgrade; `replay` holds the expected rows."""
    try:
        head, n_annotations, upgrade = _check_audit(connection, key, expect_head, replay)
        for difference in replay.differences(connection, key):
            raise StoreDamaged("E_ROW", difference.text)
    except sqlite3.Error as error:
        raise WorldError("E_STORE", "a temporary file of SQLite: {error}", error=str(error)) from error
    return head, n_annotations, json.loads(upgrade.content).get("schema", {}) if upgrade else {}


def _check_pages(connection: Connection) -> None:
    result = connection.execute(text("PRAGMA integrity_check(1)")).scalar_one()
    if result != "ok":
        raise StoreDamaged("E_DAMAGED", "SQLite: {result}", result=result)
    violations = connection.execute(text("PRAGMA foreign_key_check")).all()
    if violations:
        raise StoreDamaged("E_DAMAGED", "SQLite: a row of {table} points to nothing", table=violations[0][0])


def _check_audit(
    connection: Connection, key: Key, expect_head: Head | None, replay: Replay
) -> tuple[Head, int, Entry | None]:
    """Verify the chain, and the annotation of every entry that saved one, unless a later entry erased it.
    Returns the head, the number of annotations, and the entry of the last upgrade."""
    head, upgrade = Head(0, START), None
    logged: dict[int, str] = {}
    differing: set[int] = set()  # annotations that must have been erased by a later entry
    n_logged = n_erased = 0
    has_expected = expect_head is None or expect_head == head
    chain = iterate_entries(connection, key)
    while batch := list(islice(chain, BATCH)):
        for head, entry in batch:
            has_expected = has_expected or head == expect_head
            upgrade = entry if entry.action in ("upgrade", "rekey") else upgrade
            if entry.changes is not None:
                replay.play(head.number, entry.changes)
            if entry.action == "annotate":
                content = json.loads(entry.content)
                logged[content["id"]] = content["sha256"]
                n_logged += 1
            elif entry.action == ERASE and entry.changes is not None:
                # SQLite may give the number of an erased annotation to a later one
                differing |= _find_differing(connection, logged)
                logged = {}
                erased = {change.row["id"] for change in unpack(entry.changes) if change.table == ANNOTATIONS}
                n_erased += len(erased)
                differing -= erased
        differing |= _find_differing(connection, logged)
        logged = {}
    if differing:
        raise StoreDamaged(
            "E_ANNOTATION", "annotation {number} is missing or was changed", number=min(differing)
        )
    n_stored = connection.execute(select(func.count()).select_from(annotation_rows)).scalar_one()
    if n_stored != n_logged - n_erased:
        raise StoreDamaged(
            "E_ANNOTATION",
            "{n_stored} annotations, but the audit log tells of {n}",
            n_stored=n_stored,
            n=n_logged - n_erased,
        )
    if not has_expected:
        raise StoreDamaged(
            "E_HEAD",
            "audit log: the head {expect_head} is not in it; it ends at {head}",
            expect_head=expect_head,
            head=head,
        )
    return head, n_stored, upgrade


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


def _find_differing(connection: Connection, hashes: dict[int, str]) -> set[int]:
    """The numbers of annotations that are missing or not as they were logged."""
    if not hashes:
        return set()
    query = select(annotation_rows).where(annotation_rows.c.id.in_(hashes))
    same = {
        row.id
        for row in connection.execute(query)
        if row.sha256 == hashes[row.id] == hash_annotation(dict(row._mapping))
    }
    return hashes.keys() - same


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
