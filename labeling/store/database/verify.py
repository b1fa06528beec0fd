"""Verifies a store against its audit log; repairs nothing.

It verifies the audit chain up to its signed head; every row of every table against the log
(`changes.Replay`); the schema against the last upgrade; the contents of dialogues and verdicts against their
hashes; derived data (index tables, the counts of a task) against the tables they follow from; and the
integrity of SQLite's pages. It runs in one snapshot, does not block writers, and its memory does not grow
with the store.

A holder of the key can still forge anything, and a complete older copy of the store is valid: only its head,
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
from dialint.labeling.store.database.audit import BATCH, START, Head, StoreKey, iterate_entries
from dialint.labeling.store.database.changes import Replay
from dialint.labeling.store.database.derived import (
    DerivedRows,
    derive,
    describe_facts,
    iterate_ids,
    join_words,
    number_to_ms,
)
from dialint.labeling.store.database.schema import (
    annotation_rows,
    dialogue_index,
    dialogues,
    finding_index,
    leases,
    tasks,
    verdicts,
)
from dialint.labeling.store.database.transactions import Store, to_world_error
from dialint.labeling.store.records import StoreDamaged


@dataclass(frozen=True)
class VerifiedCounts:
    """Number of verified rows of each kind, and the head of the audit log."""

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
        if not isinstance(error, DatabaseError) or isinstance(error, OperationalError):
            raise to_world_error(error, store.engine) from error
        kind = type(error.orig).__name__
    except ValueError as error:  # bytes that are not UTF-8, also in SQLite's own messages
        kind = type(error).__name__
    raise StoreDamaged("E_DAMAGED", "the database cannot be read: {kind}", kind=kind)


def check_all(connection: Connection, key: StoreKey, expect_head: Head | None = None) -> VerifiedCounts:
    """As `verify`, inside the caller's transaction."""
    if connection.dialect.name == "sqlite":
        result = connection.execute(text("PRAGMA integrity_check(1)")).scalar_one()
        if result != "ok":
            raise StoreDamaged("E_DAMAGED", "SQLite: {result}", result=result)
        if violation := connection.execute(text("PRAGMA foreign_key_check")).first():
            raise StoreDamaged("E_DAMAGED", "SQLite: a row of {table} points to nothing", table=violation[0])
    with Replay() as replay:
        head, schema = check_log(connection, key, replay, expect_head)
    n_annotations = connection.execute(select(func.count()).select_from(annotation_rows)).scalar_one()
    n_dialogues, n_verdicts = (_check_content(connection, table) for table in (dialogues, verdicts))
    check_derived(connection)
    _check_tasks(connection)
    check_schema(connection, schema)
    return VerifiedCounts(head.number, n_annotations, n_dialogues, n_verdicts, head)


def check_log(
    connection: Connection, key: StoreKey, replay: Replay, expect_head: Head | None = None
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


_TEMPORARY_WORDS = (
    "CREATE VIRTUAL TABLE temp.checked_words USING "
    "fts5(words, content='', tokenize=\"ascii tokenchars '_'\")",
    "CREATE VIRTUAL TABLE temp.checked_terms USING fts5vocab('temp', 'checked_words', 'instance')",
    "CREATE VIRTUAL TABLE temp.stored_terms USING fts5vocab('main', 'dialogue_words', 'instance')",
)
_PUT_CHECKED = text("INSERT INTO temp.checked_words (rowid, words) VALUES (:number, :words)")
_SUMS = (
    "SELECT term, count(*), sum(doc % 999983 * (offset + 1)), "
    "sum((doc % 999979 + offset) * (offset % 97 + 1)) FROM temp.{} GROUP BY term"
)
_DIFFERING_TERMS = text(
    f"SELECT * FROM ({_SUMS.format('stored_terms')} EXCEPT {_SUMS.format('checked_terms')}) "
    f"UNION ALL SELECT * FROM ({_SUMS.format('checked_terms')} EXCEPT {_SUMS.format('stored_terms')}) LIMIT 1"
)
_DIFFERING_WORDS = text(
    "SELECT n.number FROM unnest(CAST(:numbers AS bigint[]), CAST(:texts AS text[])) AS n (number, its) "
    "LEFT JOIN dialogue_words AS w ON w.number = n.number "
    "WHERE w.words IS DISTINCT FROM CAST(n.its AS tsvector) LIMIT 1"
)


def check_derived(connection: Connection) -> None:
    """Compare every row of the derived tables with what it is derived from.

    Raises:
        StoreDamaged: names the first dialogue that differs.
    """
    n_dialogues = n_findings = 0
    words = _WordsCheck(connection)
    for ids in iterate_ids(connection):
        n_findings += _check_batch(connection, ids, words)
        n_dialogues += len(ids)
    words.finish(n_dialogues)
    for table, n in ((dialogue_index, n_dialogues), (finding_index, n_findings)):
        n_stored = connection.execute(select(func.count()).select_from(table)).scalar_one()
        if n_stored != n:
            raise StoreDamaged(
                "E_DERIVED",
                "{table}: {n_stored} rows, expected {n}",
                table=table.name,
                n_stored=n_stored,
                n=n,
            )


def _check_batch(connection: Connection, ids: list[str], words: _WordsCheck) -> int:
    """Compare the rows of some dialogues; return how many findings they have."""
    stored = _load_stored(connection, ids)
    facts, its_words, n = {}, {}, 0
    query = select(dialogues).where(dialogues.c.id.in_(ids)).order_by(dialogues.c.id)
    for row in connection.execute(query):
        content = json.loads(row.content)
        fact = describe_facts(row, content)
        number = stored[row.id].dialogue["number"] if row.id in stored else -1
        if number_to_ms(number) != fact["at_ms"]:
            raise StoreDamaged("E_DERIVED", "dialogue_index: {name!r} is missing or was changed", name=row.id)
        facts[row.id] = {"number": number, **fact}
        its_words[number] = join_words(content, is_sqlite=words.is_sqlite)
    words.check(its_words)
    for name, rows in derive(connection, facts).items():
        n += len(rows.findings)
        if rows != stored[name]:
            table = finding_index if rows.dialogue == stored[name].dialogue else dialogue_index
            raise StoreDamaged(
                "E_DERIVED",
                "{table}: {name!r} does not agree with verdict and answers",
                table=table.name,
                name=name,
            )
    return n


def _load_stored(connection: Connection, ids: list[str]) -> dict[str, DerivedRows]:
    query = select(dialogue_index).where(dialogue_index.c.dialogue.in_(ids))
    rows = {row.number: DerivedRows(dict(row._mapping), []) for row in connection.execute(query)}
    query = select(finding_index).where(finding_index.c.number.in_(rows))
    for row in connection.execute(query.order_by(finding_index.c.number, finding_index.c.place)):
        rows[row.number].findings.append(dict(row._mapping))
    return {each.dialogue["dialogue"]: each for each in rows.values()}


class _WordsCheck:
    """Compares the full-text index with the words of the dialogues. PostgreSQL: value by value. SQLite: with
    a temporary index of the same words, by a checksum of all places of each word."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.is_sqlite = connection.dialect.name == "sqlite"
        for statement in _TEMPORARY_WORDS if self.is_sqlite else ():
            connection.execute(text(statement))

    def check(self, words: dict[int, str]) -> None:
        """Check the words of some dialogues, by number; for SQLite, `finish` does."""
        ordered = sorted(words.items())
        if self.is_sqlite:
            rows = [{"number": number, "words": its_words} for number, its_words in ordered]
            self.connection.execute(_PUT_CHECKED, rows)
            return
        numbers, texts = [each[0] for each in ordered], [each[1] for each in ordered]
        differing = self.connection.execute(_DIFFERING_WORDS, {"numbers": numbers, "texts": texts}).first()
        if differing is not None:
            raise _words_damaged()

    def finish(self, n: int) -> None:
        """Check that the index has `n` dialogues, and the same words."""
        count = "dialogue_words_docsize" if self.is_sqlite else "dialogue_words"
        n_stored = self.connection.execute(text(f"SELECT count(*) FROM {count}")).scalar_one()
        if not self.is_sqlite:
            if n_stored != n:
                raise _words_damaged()
            return
        differing = self.connection.execute(_DIFFERING_TERMS).first()
        for name in ("stored_terms", "checked_terms", "checked_words"):
            self.connection.execute(text(f"DROP TABLE temp.{name}"))
        if n_stored != n or differing is not None:
            raise _words_damaged()


def _words_damaged() -> StoreDamaged:
    return StoreDamaged("E_DERIVED", "dialogue_words: the words do not agree with the dialogues")
