"""Which rows each transaction changed, as the audit log records it, and the comparison of tables with it.

Every statement that changes a table returns the rows it changed (RETURNING), and the transaction records the
columns that the statement set. No operation has to declare its changes, and none can forget to. A column that
was not set is not recorded, so that what somebody changed in the database before is not taken for ours.

`Replay` plays the recorded changes into a temporary SQLite file, so that memory does not grow with the store,
and compares every row of every table with it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any, NamedTuple, Self

from sqlalchemy import Connection, Delete, Insert, Table, Update, UpdateBase, text
from sqlalchemy.engine import IteratorResult, Result
from sqlalchemy.engine.result import SimpleResultMetaData

from dialint.labeling.store.database.audit import BATCH, canonical_json
from dialint.labeling.store.database.catalog import Columns, list_tables
from dialint.labeling.store.database.keys import Key

DERIVED = ("counts",)
"""Tables that are not entered, as `verify` computes them from others."""
UNSEALED = (*DERIVED, "audit", "audit_head")


class Change(NamedTuple):
    """What became of a row: ``+`` it is these values, ``~`` some of its columns are, ``-`` it is gone. Values
    are as the database holds them, in the log as `Key.sealed` gives them."""

    kind: str
    table: str
    row: dict[str, Any]
    """The primary key, by column."""
    values: dict[str, Any]


class ChangedRows(IteratorResult[Any]):
    """The rows that a statement changed, as far as it was asked to give them back."""

    def __init__(self, result: Result[Any], rows: Sequence[Any]) -> None:
        super().__init__(SimpleResultMetaData(list(result.keys())), iter([tuple(row) for row in rows]))
        self.rowcount = len(rows)


def sealed_columns(table: str, columns: Sequence[str]) -> list[str]:
    """Those of a table's columns that the log answers for. Content that has a SHA-256 beside it, which
    `verify` compares, is left out."""
    return [name for name in columns if not (name == "content" and "sha256" in columns)]


class Changes:
    """The changes of one transaction, at most one for each row."""

    def __init__(self) -> None:
        self._changes: dict[tuple[str, tuple[Any, ...]], Change] = {}

    def __bool__(self) -> bool:
        return bool(self._changes)

    def add(self, statement: UpdateBase, parameters: Any, rows: Sequence[Any]) -> None:
        """What a statement changed, given what `add_returning` made of it gave back."""
        table, names = _set_columns(statement, parameters)
        keys = [column.name for column in table.primary_key]
        for row in rows:
            values = row._mapping
            key = {name: values[name] for name in keys}
            kind = "-" if names is None else "~" if _is_partial(statement) else "+"
            set_values = {name: values[name] for name in names or () if name not in key}
            self.put(Change(kind, table.name, key, set_values))

    def put(self, change: Change) -> None:
        """One more change, joined to what was done to the same row before."""
        place = (change.table, tuple(change.row.values()))
        before = self._changes.get(place)
        if before is not None and change.kind == "~":
            kind = "+" if before.kind == "-" else before.kind
            change = change._replace(kind=kind, values={**before.values, **change.values})
        self._changes[place] = change

    def packed(self, key: Key) -> str | None:
        """All changes as JSON, none for no changes: ``[kind, table, columns, n, rows]``; the first `n`
        columns are the primary key, in clear; the values of the others are sealed."""
        groups: dict[tuple[str, str, tuple[str, ...]], list[list[Any]]] = {}
        texts: dict[tuple[str, str, str], Any] = {}  # an import says the same of a thousand rows

        def seal(table: str, name: str, value: Any) -> Any:
            if not isinstance(value, str):
                return key.sealed(f"{table}.{name}", value)
            place = table, name, value
            if place not in texts:
                texts[place] = key.sealed(f"{table}.{name}", value)
            return texts[place]

        for kind, table, row, values in self._changes.values():
            names = (*row, *values)
            sealed = [seal(table, name, value) for name, value in values.items()]
            groups.setdefault((kind, table, names), []).append([len(row), *row.values(), *sealed])
        if not groups:
            return None
        return canonical_json([
            [kind, table, names, rows[0][0], [row[1:] for row in rows]]
            for (kind, table, names), rows in groups.items()
        ])  # fmt: skip


def unpack(changes: str) -> Iterator[Change]:
    """The changes in an entry of the audit log, with sealed values."""
    for kind, table, names, n, rows in json.loads(changes):
        for row in rows:
            values = dict(zip(names, row, strict=True))
            key = {name: values.pop(name) for name in names[:n]}
            yield Change(kind, table, key, values)


def changes_sealed_table(statement: Any) -> bool:
    """Whether a statement changes a table that the log answers for."""
    return isinstance(statement, UpdateBase) and _table(statement).name not in UNSEALED


def _table(statement: UpdateBase) -> Table:
    assert isinstance(statement.table, Table)
    return statement.table


@lru_cache(512)
def add_returning(statement: UpdateBase) -> UpdateBase:
    """The statement, made to give back every column that the log may want, as well as what it gives now."""
    table, returned = _table(statement), {column.name for column in statement.exported_columns}
    names = {*(column.name for column in table.primary_key)}
    if not isinstance(statement, Delete):
        names |= {*sealed_columns(table.name, [column.name for column in table.columns])}
    return statement.returning(*(column for column in table.columns if column.name in names - returned))


def _is_partial(statement: UpdateBase) -> bool:
    """Whether columns that the statement does not set may hold something already: not of a plain insert."""
    return not isinstance(statement, Insert) or statement._post_values_clause is not None


def _set_columns(statement: UpdateBase, parameters: Any) -> tuple[Table, list[str] | None]:
    """The table, and the columns that the statement sets; none where it deletes."""
    table = _table(statement)
    if isinstance(statement, Delete):
        return table, None
    assert isinstance(statement, Insert | Update)
    every = sealed_columns(table.name, [column.name for column in table.columns])
    if not _is_partial(statement):
        return table, every
    embedded = {getattr(column, "name", column) for column in statement._values or ()}
    inserted = parameters if isinstance(statement, Insert) else None
    first = inserted[0] if isinstance(inserted, list) else inserted
    names = embedded | set(first or ())
    return table, [name for name in every if name in names]


class Difference(NamedTuple):
    """A row that is not as the log has it: `change` is what would make the log right, `what` is wrong with it
    since which `entry`, 0 where no entry speaks of it."""

    change: Change
    what: str
    entry: int

    def __str__(self) -> str:
        row = ", ".join(map(str, self.change.row.values()))
        since = (
            f"since entry {self.entry} of the audit log"
            if self.entry
            else "and the audit log knows no such row"
        )
        return f"{self.change.table} ({row}): {self.what} {since}"


class Replay:
    """What the tables must hold, by the entries that were played so far."""

    def __init__(self) -> None:
        self._state = sqlite3.connect("", isolation_level=None)  # no name: a file that goes when it is closed
        self._state.execute("PRAGMA journal_mode = OFF")
        self._state.execute(
            "CREATE TABLE state (place TEXT, key TEXT, content TEXT, entry INTEGER, seen INTEGER, "
            "PRIMARY KEY (place, key)) WITHOUT ROWID"
        )
        self._state.execute("BEGIN")
        self._round = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._state.close()

    def play(self, entry: int, changes: str) -> None:
        """One more entry."""
        for change in unpack(changes):
            place = change.table, _text(change.row)
            if change.kind == "-":
                self._state.execute("DELETE FROM state WHERE place = ? AND key = ?", place)
                continue
            values = change.values
            if change.kind == "~" and (before := self._known(*place)):
                values = {**json.loads(before[0]), **values}
            row = (*place, canonical_json(values), entry)
            self._state.execute("INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, 0)", row)

    def _known(self, table: str, key: str) -> tuple[str, int] | None:
        query = "SELECT content, entry FROM state WHERE place = ? AND key = ?"
        row: tuple[str, int] | None = self._state.execute(query, (table, key)).fetchone()
        return row

    def differences(self, connection: Connection, key: Key) -> Iterator[Difference]:
        """Every row that is not as it must be, table by table: changed or put in, then missing."""
        self._round += 1
        there = list_tables(connection)
        for table, columns in there.items():
            if table not in UNSEALED:
                yield from self._of_table(connection, table, columns, key)
        query = "SELECT place, key, entry FROM state WHERE seen <> ? ORDER BY place, key"
        for table, row, entry in self._state.execute(query, (self._round,)):
            yield Difference(Change("-", table, json.loads(row), {}), "is missing", entry)

    def _of_table(
        self, connection: Connection, table: str, columns: Columns, key: Key
    ) -> Iterator[Difference]:
        names = sealed_columns(table, columns.others)
        every = ", ".join(f'"{name}"' for name in (*columns.key, *names))
        question = text(f'SELECT {every} FROM "{table}"').execution_options(yield_per=BATCH)
        with connection.execute(question) as rows:
            for values in rows:
                row = dict(zip(columns.key, values, strict=False))
                content = dict(zip(names, values[len(row) :], strict=True))
                if difference := self._difference(Change("+", table, row, content), key):
                    yield difference

    def _difference(self, change: Change, key: Key) -> Difference | None:
        """What is wrong with a row, given as it is."""
        place = change.table, _text(change.row)
        recorded = self._known(*place)
        if recorded is None:
            return Difference(change, "was put in", 0)
        self._state.execute("UPDATE state SET seen = ? WHERE place = ? AND key = ?", (self._round, *place))
        expected, entry = json.loads(recorded[0]), recorded[1]
        for name, value in change.values.items():
            if expected.get(name) != key.sealed(f"{change.table}.{name}", value):
                return Difference(change, f"{name} was changed", entry)
        return None


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, default=str)
