"""The rows that each transaction changed, for the audit log, and the comparison of the tables with them.

Every statement that changes a table returns the rows it changed (RETURNING), and the transaction records the
columns that the statement set. Operations do not declare their changes and cannot forget to. A column that
was not set is not recorded, so that an earlier manipulation of it is not signed.

`Replay` applies the recorded changes to a temporary SQLite file, so that memory does not grow with the store,
and compares every row of every table with it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

from sqlalchemy import Connection, Delete, Insert, Table, Update, UpdateBase, inspect, text
from sqlalchemy.engine import IteratorResult, Result
from sqlalchemy.engine.result import SimpleResultMetaData

from dialint.detector.errors import Message
from dialint.labeling.store.database.audit import BATCH, StoreKey, canonical_json

WORDS = ("dialogue_words", *(f"dialogue_words_{part}" for part in ("data", "idx", "docsize", "config")))
"""The full-text index, and the tables that SQLite keeps it in."""
DERIVED = ("dialogue_index", "finding_index", *WORDS)
"""Tables that are not recorded, because `verify` recomputes them from others."""
UNSEALED = (*DERIVED, "drafts", "audit", "audit_head")
"""Tables that are not recorded: those, the log itself, and drafts of answers, which decide nothing."""


class RowChange(NamedTuple):
    """A changed row: ``+`` inserted with these values, ``~`` these columns updated, ``-`` deleted. Values are
    those of the database; in the log they are sealed by `StoreKey.seal`."""

    kind: str
    table: str
    row: dict[str, Any]
    """The primary key, by column."""
    values: dict[str, Any]


class ChangedRows(IteratorResult[Any]):
    """Result of a statement with the rows that it changed and the columns that it returns."""

    def __init__(self, result: Result[Any], rows: Sequence[Any]) -> None:
        super().__init__(SimpleResultMetaData(list(result.keys())), iter([tuple(row) for row in rows]))
        self.rowcount = len(rows)


def sealed_columns(columns: Sequence[str]) -> list[str]:
    """Those columns of a table that the log records: not content with a SHA-256 in another column, which
    `verify` compares."""
    return [name for name in columns if not (name == "content" and "sha256" in columns)]


class Changes:
    """The changes of one transaction, at most one for each row."""

    def __init__(self) -> None:
        self._changes: dict[tuple[str, tuple[Any, ...]], RowChange] = {}

    def __bool__(self) -> bool:
        return bool(self._changes)

    def add(self, statement: UpdateBase, parameters: Any, rows: Sequence[Any]) -> None:
        table, names = _set_columns(statement, parameters)
        keys = [column.name for column in table.primary_key]
        for row in rows:
            values = row._mapping
            key = {name: values[name] for name in keys}
            kind = "-" if names is None else "~" if _is_partial(statement) else "+"
            set_values = {name: values[name] for name in names or () if name not in key}
            self.put(RowChange(kind, table.name, key, set_values))

    def put(self, change: RowChange) -> None:
        """Add one change, merged with an earlier one of the same row."""
        row_id = (change.table, tuple(change.row.values()))
        before = self._changes.get(row_id)
        if before is not None and change.kind == "~":
            kind = "+" if before.kind == "-" else before.kind
            change = change._replace(kind=kind, values={**before.values, **change.values})
        self._changes[row_id] = change

    def pack(self, key: StoreKey) -> str | None:
        """All changes as JSON, or none: ``[kind, table, columns, n, rows]``; the first `n` columns are the
        primary key, in plain; the values of the others are sealed."""
        groups: dict[tuple[str, str, tuple[str, ...]], list[list[Any]]] = {}
        seal = lru_cache(maxsize=None, typed=True)(key.seal)  # the rows of an import repeat their values
        for kind, table, row, values in self._changes.values():
            names = (*row, *values)
            sealed = [seal(f"{table}.{name}", value) for name, value in values.items()]
            groups.setdefault((kind, table, names), []).append([len(row), *row.values(), *sealed])
        if not groups:
            return None
        return canonical_json([
            [kind, table, names, rows[0][0], [row[1:] for row in rows]]
            for (kind, table, names), rows in groups.items()
        ])  # fmt: skip


def unpack(changes: str) -> Iterator[RowChange]:
    """Yield the changes of an entry of the audit log, with sealed values."""
    for kind, table, names, n, rows in json.loads(changes):
        for row in rows:
            values = dict(zip(names, row, strict=True))
            key = {name: values.pop(name) for name in names[:n]}
            yield RowChange(kind, table, key, values)


def changes_sealed_table(statement: Any) -> bool:
    """Returns whether a statement changes a table that the log records."""
    return isinstance(statement, UpdateBase) and _table(statement).name not in UNSEALED


def _table(statement: UpdateBase) -> Table:
    assert isinstance(statement.table, Table)
    return statement.table


@lru_cache(512)
def add_returning(statement: UpdateBase) -> UpdateBase:
    """Extend the RETURNING clause of a statement by every column that the log may record. The columns that it
    returns already are read from a copy: a statement to which they were added again would return the last
    page of many rows only."""
    table, returned = _table(statement), {column.name for column in statement.returning().exported_columns}
    names = {*(column.name for column in table.primary_key)}
    if not isinstance(statement, Delete):
        names |= {*sealed_columns([column.name for column in table.columns])}
    return statement.returning(*(column for column in table.columns if column.name in names - returned))


def _is_partial(statement: UpdateBase) -> bool:
    """Returns whether rows may keep earlier values of columns that the statement does not set: by all but a
    plain insert."""
    return not isinstance(statement, Insert) or statement._post_values_clause is not None


def _set_columns(statement: UpdateBase, parameters: Any) -> tuple[Table, list[str] | None]:
    """The table, and the columns that the statement sets; none for a DELETE."""
    table = _table(statement)
    if isinstance(statement, Delete):
        return table, None
    assert isinstance(statement, Insert | Update)
    recorded = sealed_columns([column.name for column in table.columns])
    if not _is_partial(statement):
        return table, recorded
    embedded = {getattr(column, "name", column) for column in statement._values or ()}
    inserted = parameters if isinstance(statement, Insert) else None
    first = inserted[0] if isinstance(inserted, list) else inserted
    names = embedded | set(first or ())
    return table, [name for name in recorded if name in names]


class Difference(NamedTuple):
    """A row that differs from the log: the `change` that the log lacks, `what` differs, and the `entry` since
    which it does, 0 if no entry has the row."""

    change: RowChange
    what: Message
    entry: int

    @property
    def text(self) -> Message:
        """The difference in a sentence."""
        values = {
            "table": self.change.table, "row": ", ".join(map(str, self.change.row.values())),
            "what": self.what, "entry": self.entry,
        }  # fmt: skip
        if self.entry:
            return Message("{table} ({row}): {what} since entry {entry} of the audit log", **values)
        return Message("{table} ({row}): {what} and the audit log knows no such row", **values)

    def __str__(self) -> str:
        return str(self.text)


class Replay:
    """The rows that the tables must have, by the entries that were played so far."""

    def __init__(self) -> None:
        self._state = sqlite3.connect("", isolation_level=None)  # no name: a temporary file
        self._state.execute("PRAGMA journal_mode = OFF")
        self._state.execute(
            "CREATE TABLE state (tab TEXT, key TEXT, content TEXT, entry INTEGER, seen INTEGER, "
            "PRIMARY KEY (tab, key)) WITHOUT ROWID"
        )
        self._state.execute("BEGIN")
        self._round = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._state.close()

    def play(self, entry: int, changes: str) -> None:
        for change in unpack(changes):
            row_id = change.table, _row_key(change.row)
            if change.kind == "-":
                self._state.execute("DELETE FROM state WHERE tab = ? AND key = ?", row_id)
                continue
            values = change.values
            if change.kind == "~" and (before := self._find(*row_id)):
                values = {**json.loads(before[0]), **values}
            row = (*row_id, canonical_json(values), entry)
            self._state.execute("INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, 0)", row)

    def _find(self, table: str, key: str) -> tuple[str, int] | None:
        query = "SELECT content, entry FROM state WHERE tab = ? AND key = ?"
        row: tuple[str, int] | None = self._state.execute(query, (table, key)).fetchone()
        return row

    def differences(self, connection: Connection, key: StoreKey) -> Iterator[Difference]:
        """Yield every row that differs, table by table: changed or inserted ones, then missing ones."""
        self._round += 1
        for table in sorted({*inspect(connection).get_table_names()} - {*UNSEALED}):
            yield from self._compare_table(connection, table, key)
        query = "SELECT tab, key, entry FROM state WHERE seen <> ? ORDER BY tab, key"
        for table, row, entry in self._state.execute(query, (self._round,)):
            yield Difference(RowChange("-", table, json.loads(row), {}), Message("is missing"), entry)

    def _compare_table(self, connection: Connection, table: str, key: StoreKey) -> Iterator[Difference]:
        """Compare a table by the columns that the database has, which differ from `schema` in an older
        store."""
        inspector = inspect(connection)
        keys = inspector.get_pk_constraint(table)["constrained_columns"]
        columns = [column["name"] for column in inspector.get_columns(table)]
        names = [name for name in sealed_columns(columns) if name not in keys]
        selected = ", ".join(f'"{name}"' for name in (*keys, *names))
        query = text(f'SELECT {selected} FROM "{table}"').execution_options(yield_per=BATCH)
        with connection.execute(query) as rows:
            for values in rows:
                row = dict(zip(keys, values, strict=False))
                content = dict(zip(names, values[len(row) :], strict=True))
                if difference := self._compare_row(RowChange("+", table, row, content), key):
                    yield difference

    def _compare_row(self, change: RowChange, key: StoreKey) -> Difference | None:
        """Compare a row of the database with the log; none if it agrees."""
        row_id = change.table, _row_key(change.row)
        recorded = self._find(*row_id)
        if recorded is None:
            return Difference(change, Message("was put in"), 0)
        self._state.execute("UPDATE state SET seen = ? WHERE tab = ? AND key = ?", (self._round, *row_id))
        expected, entry = json.loads(recorded[0]), recorded[1]
        for name, value in change.values.items():
            if expected.get(name) != key.seal(f"{change.table}.{name}", value):
                return Difference(change, Message("{name} was changed", name=name), entry)
        return None


def _row_key(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, default=str)


_SQLITE_OBJECTS = text(
    "SELECT type || ' ' || name, sql FROM sqlite_master "
    "WHERE name NOT LIKE 'sqlite_sequence' AND name NOT LIKE 'sqlite_stat%'"
)
_POSTGRESQL_OBJECTS = text("""
WITH ours AS (SELECT * FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
SELECT 'relation ' || relname, relkind::text || relpersistence::text || relrowsecurity::text FROM ours
 WHERE relkind NOT IN ('i', 'I')
UNION ALL
SELECT 'column ' || relname || '.' || attname,
       format_type(atttypid, atttypmod) || attnotnull::text || coalesce(pg_get_expr(adbin, adrelid), '')
  FROM ours JOIN pg_attribute ON attrelid = ours.oid AND attnum > 0 AND NOT attisdropped
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE relkind IN ('r', 'p', 'v')
UNION ALL
SELECT 'constraint ' || relname || '.' || conname, pg_get_constraintdef(pg_constraint.oid)
  FROM ours JOIN pg_constraint ON conrelid = ours.oid WHERE contype <> 'n'
UNION ALL
SELECT 'index ' || relname, pg_get_indexdef(indexrelid) || indisvalid::text
  FROM ours JOIN pg_index ON indexrelid = ours.oid
UNION ALL
SELECT 'trigger ' || relname || '.' || coalesce(conname || ' ' || tgfoid::regproc::text, tgname),
       tgenabled::text || CASE WHEN tgisinternal THEN '' ELSE pg_get_triggerdef(pg_trigger.oid) END
  FROM ours JOIN pg_trigger ON tgrelid = ours.oid
  LEFT JOIN pg_constraint ON pg_constraint.oid = tgconstraint AND tgisinternal
UNION ALL
SELECT 'function ' || proname || '(' || pg_get_function_identity_arguments(oid) || ')', prosrc
  FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
UNION ALL
SELECT 'rule ' || tablename || '.' || rulename, definition FROM pg_rules WHERE schemaname = current_schema()
UNION ALL
SELECT 'policy ' || tablename || '.' || policyname, coalesce(qual, '') || coalesce(with_check, '')
  FROM pg_policies WHERE schemaname = current_schema()
""")


SERVER = "server"
"""Key of the server's major version in `list_objects`."""


def list_objects(connection: Connection) -> dict[str, str]:
    """Every table, column, constraint, index, trigger and function, with a short hash of its definition; and
    under `SERVER` the major version of PostgreSQL, because versions format definitions differently."""
    if connection.dialect.name == "sqlite":
        return {name: _short_hash(sql) for name, sql in connection.execute(_SQLITE_OBJECTS)}
    major = str(connection.execute(text("SHOW server_version_num")).scalar_one())[:-4]
    return {SERVER: major} | {name: _short_hash(sql) for name, sql in connection.execute(_POSTGRESQL_OBJECTS)}


def _short_hash(sql: str) -> str:
    return hashlib.sha256(str(sql).encode()).hexdigest()[:16]
