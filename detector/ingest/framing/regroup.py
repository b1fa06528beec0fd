"""Rows of interleaved dialogues brought together, on disk and in order of first appearance.

Used only where a table is sorted by time and not by dialogue: the common case streams.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import Path

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.framing.messages import Columns, Row, identity
from dialint.detector.ingest.outcomes import BadRecord, refuse
from dialint.detector.ingest.times import DateOrder, TimeFormat

_SCHEMA = """
CREATE TABLE first (name TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID;
CREATE TABLE rows (number INTEGER, position INTEGER, line INTEGER, offset INTEGER, cells TEXT, bad TEXT);
"""


class Survey:
    """What one pass over all rows says of a table: how many, whether those of each dialogue stand together,
    and how its times are read. Holds 8 bytes for each run of one id."""

    def __init__(self, columns: Columns, config: ReadConfig) -> None:
        self.n_rows = 0
        self._columns, self._config = columns, config
        self._time = columns.positions.get("time") if config.mapped.time_format == "auto" else None
        self._last: object = self
        self._starts = array("q")
        self._dates = DateOrder()

    def add(self, row: Row) -> None:
        """Look at the next row."""
        self.n_rows += 1
        name = identity(row.cells, self._columns)
        if name != self._last:
            self._last = name
            self._starts.append(hash(name))
        if self._time is not None and self._time < len(row.cells):
            self._dates.add(row.cells[self._time])

    @property
    def is_together(self) -> bool:
        """Whether no id began a second run."""
        import numpy as np

        return len(np.unique(np.frombuffer(self._starts, dtype=np.int64))) == len(self._starts)

    def facts(self) -> list[str]:
        """What the dates said of their order, in words."""
        return [f"dates {self._dates.order}"] if self._dates.is_told else []

    def times(self, file: str) -> TimeFormat:
        """How the times are read.

        Raises:
            InputRefused: E_TIME, the dates do not say whether the day or the month stands first.
        """
        if self._dates.is_open:
            raise refuse("E_TIME", file, self._dates.question())
        return TimeFormat.of(
            self._config.mapped.time_format, self._config.mapped.time_zone, self._dates.order
        )


def regrouped(rows: Iterable[Row], columns: Columns) -> Iterator[Row]:
    """The same rows, each dialogue's together in their own order."""
    with tempfile.TemporaryDirectory(prefix="dialint-rows-") as folder:
        connection = sqlite3.connect(Path(folder) / "rows.sqlite")
        try:
            connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _SCHEMA)
            connection.executemany(
                "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", _numbered(rows, columns, connection)
            )
            connection.execute("CREATE INDEX together ON rows (number, position)")
            for line, offset, cells, bad in connection.execute(
                "SELECT line, offset, cells, bad FROM rows ORDER BY number, position"
            ):
                fault = BadRecord(*json.loads(bad)) if bad else None
                yield Row(line, offset, json.loads(cells), fault)
        finally:
            connection.close()


def _numbered(
    rows: Iterable[Row], columns: Columns, connection: sqlite3.Connection
) -> Iterator[tuple[int, int, int, int, str, str | None]]:
    for position, row in enumerate(rows):
        key = json.dumps(identity(row.cells, columns), default=_iso)
        known = connection.execute("SELECT number FROM first WHERE name = ?", (key,)).fetchone()
        if known is None:
            connection.execute("INSERT INTO first VALUES (?, ?)", (key, position))
        number = position if known is None else known[0]
        bad = _packed(row.bad)
        yield number, position, row.line, row.offset, json.dumps(row.cells, default=_iso), bad


def _packed(bad: BadRecord | None) -> str | None:
    return None if bad is None else json.dumps([bad.code, bad.path, bad.found, bad.expected])


def _iso(value: object) -> str:
    """Times of a Parquet table as text; anything else was text or a number already."""
    return value.isoformat() if isinstance(value, datetime | date) else type(value).__name__
