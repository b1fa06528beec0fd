"""What the tables must hold, by the audit log, against what they hold.

The changes that the entries name are played into a temporary file that SQLite keeps, so that memory does
not grow with the store; then every row of every table is compared with it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NamedTuple, Self

from sqlalchemy import Connection, text

from dialint.labeling.store.database.audit import BATCH, canonical
from dialint.labeling.store.database.catalog import Columns, tables
from dialint.labeling.store.database.changes import UNSEALED, Change, sealed_columns, unpacked
from dialint.labeling.store.database.keys import Key


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
        for change in unpacked(changes):
            place = change.table, _text(change.row)
            if change.kind == "-":
                self._state.execute("DELETE FROM state WHERE place = ? AND key = ?", place)
                continue
            values = change.values
            if change.kind == "~" and (before := self._known(*place)):
                values = {**json.loads(before[0]), **values}
            row = (*place, canonical(values), entry)
            self._state.execute("INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, 0)", row)

    def _known(self, table: str, key: str) -> tuple[str, int] | None:
        asked = "SELECT content, entry FROM state WHERE place = ? AND key = ?"
        row: tuple[str, int] | None = self._state.execute(asked, (table, key)).fetchone()
        return row

    def differences(self, connection: Connection, key: Key) -> Iterator[Difference]:
        """Every row that is not as it must be, table by table: changed or put in, then missing."""
        self._round += 1
        there = tables(connection)
        for table, columns in there.items():
            if table not in UNSEALED:
                yield from self._of_table(connection, table, columns, key)
        asked = "SELECT place, key, entry FROM state WHERE seen <> ? ORDER BY place, key"
        for table, row, entry in self._state.execute(asked, (self._round,)):
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
        known = self._known(*place)
        if known is None:
            return Difference(change, "was put in", 0)
        self._state.execute("UPDATE state SET seen = ? WHERE place = ? AND key = ?", (self._round, *place))
        expected, entry = json.loads(known[0]), known[1]
        for name, value in change.values.items():
            if expected.get(name) != key.sealed(f"{change.table}.{name}", value):
                return Difference(change, f"{name} was changed", entry)
        return None


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, default=str)
