"""Groups the messages of a table into dialogues, those of interleaved dialogues in a SQLite database without
a name, which no crash leaves behind."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from dialint.detector.artifacts import TEMPORARY
from dialint.detector.errors import Message, WorldError
from dialint.detector.ingest.log_format import FIELDS, RawDialogue, RawTurn, as_name, read_rating
from dialint.detector.ingest.mapping import MappedRecord
from dialint.detector.ingest.outcomes import BadRecord, record_boundary, record_too_large
from dialint.detector.ingest.readers.columns import Columns, Row
from dialint.detector.ingest.times import TimeFormat
from dialint.detector.ingest.validation import ParsedRecord, validate_all

SIDES = ("agent", "bot", "other")
"""Roles of rows, in the order in which their values become the dialogue's."""
CACHE_KIB = 32 << 10


@dataclass
class Group:
    """The turns of one dialogue so far. `size` is the bytes of their cells. `values` counts the values of
    each meaning by the role of their rows, `places` are the values of the mapping's order column,
    `rating` the last one."""

    columns: Columns
    times: TimeFormat
    turns: list[RawTurn] = field(default_factory=list)
    size: int = 0
    values: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    rating: dict[str, Any] = field(default_factory=dict)
    places: list[object] = field(default_factory=list)

    def add(self, cells: Mapping[str, object]) -> None:
        """Add a row.

        Raises:
            BadRecord: E_RECORD_SIZE, the cells of all rows are over the limit.
        """
        config = self.columns.config
        texts = [cell for cell in cells.values() if isinstance(cell, str)]
        self.size += sum(len(text) if text.isascii() else len(text.encode()) for text in texts)
        if self.size > config.max_record_bytes:
            self.turns.clear()
            raise record_too_large(self.size, config.max_record_bytes)
        if len(self.turns) > config.max_turns:
            return
        turn = self.columns.turn(cells, self.times)
        self.turns.append(turn)
        if "order" in config.mapped.fields:
            self.places.append(self.columns.cell(cells, "order"))
        if turn.internal:
            return
        self.rating = read_rating(self.columns.cell(cells, "rating")) or self.rating
        role = config.mapped.roles.get(turn.role, turn.role) if isinstance(turn.role, str) else None
        side = role if role in SIDES else SIDES[-1]
        for meaning in (*FIELDS, "author"):
            value = as_name(self.columns.cell(cells, meaning))
            if value is not None:
                self.values.setdefault((meaning, side), Counter())[value] += 1

    def dialogue(self, name: object, path: str = "turns") -> RawDialogue:
        """The dialogue of the rows: its turns in the order of the mapping's order column, by number if all
        values are numbers, else as texts; without one, in the order of the log."""
        turns, keys = self.turns, list[Any](map(str, self.places))
        with suppress(ValueError):
            keys = list(map(float, keys))
        if keys:
            turns = [turns[at] for at in sorted(range(len(turns)), key=keys.__getitem__)]
        return RawDialogue(name, turns, self._fields(), path=path)

    def _fields(self) -> dict[str, Any]:
        """The dialogue's fields: the most frequent value in the rows of its agents, else of bots, else of
        others. Without a column for the agent, the author of the agents' turns. Languages that differ between
        the sides are not one language: each turn's is then detected."""
        results: dict[str, Any] = {"metadata": self.rating} if self.rating else {}
        for meaning in (*FIELDS, "author"):
            sides = [self.values[meaning, side] for side in SIDES if (meaning, side) in self.values]
            common = [side.most_common(1)[0][0] for side in sides]
            if common and not (meaning == "language" and len(set(common)) > 1):
                results[meaning] = common[0]
        author = results.pop("author", None)
        if author is not None and ("author", "agent") in self.values and "agent" not in self.columns.names:
            results["agent"] = author
        return results


def gather_dialogues(
    rows: Iterable[Row], columns: Columns, times: TimeFormat, warnings: Counter[str]
) -> Iterator[ParsedRecord]:
    """Groups consecutive rows of one id into dialogues. A dialogue with a bad row is rejected at that row's
    line, so that no message gets lost silently; so is each row without an id."""

    def key(row: Row) -> tuple[object, int | None]:
        name = columns.dialogue_id(row.cells)
        return name, None if name else row.line

    for (name, _), members in groupby(rows, key=key):
        group, bad = Group(columns, times), None
        line = offset = -1
        for row in members:
            if line < 0:
                line, offset = row.line, row.offset
            if bad is None and row.bad is not None:
                bad, line, offset = row.bad, row.line, row.offset
            elif bad is None:
                try:
                    with record_boundary():
                        group.add(row.cells)
                except BadRecord as fault:
                    bad = fault
                    if bad.code != "E_RECORD_SIZE":  # the fault of all rows
                        line, offset = row.line, row.offset
        if bad is None:
            yield from validate_all([group.dialogue(name)], line, offset, columns.config, warnings)
        else:
            bad.dialogue_id = name if isinstance(name, str) else None
            yield ParsedRecord(line, offset, bad)


def mapped_dialogue(
    rows: Sequence[Mapping[str, object]],
    fallback_id: str,
    shape: MappedRecord,
    columns: Columns,
    times: TimeFormat,
) -> RawDialogue:
    """The dialogue of messages that a mapping extracted from one record."""
    group = Group(columns, times)
    for cells in rows:
        group.add(cells)
    own_id = columns.dialogue_id(rows[0]) if rows else None
    return group.dialogue(own_id if columns.ids else fallback_id, shape.path)


@contextmanager
def open_spill(schema: str) -> Iterator[sqlite3.Connection]:
    """Opens a temporary database; it stays in memory up to `CACHE_KIB`.

    Raises:
        WorldError: the temporary folder is full.
    """
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    try:
        connection.executescript(
            f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -{CACHE_KIB}; "
            f"{schema}; BEGIN;"
        )
        yield connection
    except sqlite3.OperationalError as error:
        raise WorldError("E_WRITE", "{path}: {reason}", path=TEMPORARY, reason=str(error)) from error
    finally:
        connection.close()


def group_on_disk(rows: Iterable[Row], columns: Columns) -> Iterator[Row]:
    """Groups rows by dialogue in the order of first appearance, in the order of the log within each."""
    schema = """
        CREATE TABLE names (name TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID;
        CREATE TABLE rows (
            number INTEGER, position INTEGER, line INTEGER, offset INTEGER, cells TEXT, bad TEXT
        )
    """
    with open_spill(schema) as connection:
        for position, row in enumerate(rows):
            key = json.dumps(columns.dialogue_id(row.cells), default=datetime.isoformat)
            connection.execute("INSERT OR IGNORE INTO names VALUES (?, ?)", (key, position))
            (number,) = connection.execute("SELECT number FROM names WHERE name = ?", (key,)).fetchone()
            bad = row.bad and json.dumps(
                [row.bad.code, row.bad.path, row.bad.found.as_json(), row.bad.expected.as_json()]
            )
            values = (
                number,
                position,
                row.line,
                row.offset,
                json.dumps(row.cells, default=datetime.isoformat),
                bad,
            )
            connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", values)
        connection.execute("CREATE INDEX together ON rows (number, position)")
        for line, offset, cells, bad in connection.execute(
            "SELECT line, offset, cells, bad FROM rows ORDER BY number, position"
        ):
            fault = None
            if bad:
                code, path, found, expected = json.loads(bad)
                fault = BadRecord(code, path, Message.from_json(found), Message.from_json(expected))
            yield Row(line, offset, json.loads(cells), fault)
