"""What a job holds of a log beside the current record, on disk where memory would not do: the ids so far, and
the rows of dialogues that are interleaved. Both stand in SQLite databases without a name, which no crash
leaves behind.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from typing import NamedTuple

from dialint.detector.artifacts import TEMPORARY
from dialint.detector.errors import Message, WorldError
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.readers.columns import Columns, Row
from dialint.detector.records import Dialogue

CACHE_KIB = 32 << 10


@contextmanager
def open_spill(schema: str) -> Iterator[sqlite3.Connection]:
    """A temporary database; it stays in memory up to `CACHE_KIB`.

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


def content_hash(dialogue: Dialogue) -> int:
    """Hash of a dialogue's content, the same for every log format. Differs between processes."""
    turns = tuple(tuple(turn.__dict__.values()) for turn in dialogue.turns)
    rest = (dialogue.language, dialogue.channel, dialogue.agent, dialogue.team, dialogue.policy)
    return hash((turns, rest, dialogue.sources, repr(sorted(dialogue.metadata.items())), dialogue.masked))


class FirstSeen(NamedTuple):
    """The first dialogue with an id: whether its content is the same, its source (by number) and its line."""

    is_same: bool
    source: int
    line: int


class SeenIds:
    """The ids of a job so far. Ids and contents are compared by Python's keyed 64-bit hashes: among a million
    dialogues the probability of one false match is 3 in 100 million."""

    SCHEMA = "CREATE TABLE seen (id INTEGER PRIMARY KEY, content INTEGER, source INTEGER, line INTEGER)"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def add(self, dialogue: Dialogue, source: int, line: int) -> FirstSeen | None:
        """Add a dialogue. Returns None if its id is new."""
        key, content = hash(dialogue.id), content_hash(dialogue)
        values = (key, content, source, line)
        if self._execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", values).rowcount:
            return None
        row = self._execute("SELECT content, source, line FROM seen WHERE id = ?", (key,)).fetchone()
        return FirstSeen(row[0] == content, row[1], row[2])


def group_on_disk(rows: Iterable[Row], columns: Columns) -> Iterator[Row]:
    """The same rows, grouped by dialogue in the order of first appearance, in the order of the log within
    each."""
    schema = """
        CREATE TABLE names (name TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID;
        CREATE TABLE rows (
            number INTEGER, position INTEGER, line INTEGER, offset INTEGER, cells TEXT, bad TEXT
        )
    """
    with open_spill(schema) as connection:
        for position, row in enumerate(rows):
            key = json.dumps(columns.dialogue_id(row.cells), default=_iso)
            connection.execute("INSERT OR IGNORE INTO names VALUES (?, ?)", (key, position))
            (number,) = connection.execute("SELECT number FROM names WHERE name = ?", (key,)).fetchone()
            bad = row.bad and json.dumps(
                [row.bad.code, row.bad.path, row.bad.found.as_json(), row.bad.expected.as_json()]
            )
            values = (number, position, row.line, row.offset, json.dumps(row.cells, default=_iso), bad)
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


def _iso(value: object) -> str:
    """A time of a Parquet table as text, or the type's name of anything else that JSON cannot hold."""
    return value.isoformat() if isinstance(value, datetime | date) else type(value).__name__
