"""Tables with one message a row: the meaning of columns, and the grouping of rows into dialogues.

CSV, Parquet and mapped JSON pass their rows to `gather_dialogues`. If the dialogues of a table are
interleaved, as when it is sorted by time, `group_on_disk` sorts its rows by dialogue first; the common case
is streamed.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from dialint.detector.errors import Message
from dialint.detector.ingest.column_words import column_names, dialect_of, normalize_name, speaker_roles
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.formats import fields
from dialint.detector.ingest.mapping import ANY_ROLE, MappedRecord, nearest
from dialint.detector.ingest.outcomes import BadRecord, file_error, record_boundary, record_too_large
from dialint.detector.ingest.privacy import BLANK, format_word, is_internal, is_note_type, is_public_column
from dialint.detector.ingest.times import DateOrderDetector, TimeFormat
from dialint.detector.ingest.validation import Draft, DraftTurn, ParsedRecord, validate_drafts
from dialint.detector.records import Role

RICH = ("richtext", "richbody")
"""Names of HTML columns, beside those that contain ``html``."""
REQUIRED = ("id", "role", "text")
TRUE, FALSE = ("true", "1", "yes", "t", "y"), ("false", "0", "no", "f", "n", "")


NOTE_MEANINGS = ("type", "channel", "role")
"""Meanings of columns whose words may mark internal notes, beside columns without a meaning."""
MAX_SPEAKERS = 200
"""Different words for speakers that are compared."""
MAX_NOTE_WORDS = 60
"""Most different words of such a column."""
FIELDS = ("language", "channel", "agent", "team")
"""Meanings of which a dialogue has one value."""
SIDES = ("agent", "bot", "other")
"""Roles of rows, those first whose values are the dialogue's."""


def one_sided(words: Iterable[str], config: ReadConfig) -> list[str]:
    """The words of a column of speakers that mean one side, if there are several and none means the other:
    one of them is somebody else. Empty if there is no doubt, or a word that has no role at all."""
    roles = {word: config.roles().get(word) or speaker_roles().get(normalize_name(word)) for word in words
             if word.strip()}  # fmt: skip
    if None in roles.values() or ANY_ROLE in config.roles():
        return []
    for side, other in (("customer", "agent"), ("agent", "customer")):
        guessed = {normalize_name(word): word for word, role in roles.items()
                   if role == side and word not in config.roles()}  # fmt: skip
        if len(guessed) > 1 and other not in roles.values():
            return sorted(guessed.values())
    return []


@dataclass(frozen=True)
class Columns:
    """The position of each meaning's column; an id may consist of several. `html` is whether texts are HTML
    by the mapping or the column's name, None if neither says. `public`: the privacy column, `private_name`,
    says whether the customer saw the message. `by_mapping`: numbers may be ids, and a missing text is an
    empty one. `notes` are further columns that may mark internal notes by their words; `Survey.columns` keeps
    those that do, and adds the `speakers` whose words mean something else here."""

    ids: tuple[int, ...]
    positions: dict[str, int]
    html: bool | None = None
    public: bool = False
    private_name: str = ""
    inbound: bool = False
    by_mapping: bool = False
    notes: tuple[int, ...] = ()
    speakers: Mapping[str, Role] = field(default_factory=dict)

    @classmethod
    def of(cls, header: Sequence[str], config: ReadConfig) -> Columns | Message:
        """The columns of a header, or a message that says what is missing."""
        configured = config.columns()
        exact = {name: index for index, name in enumerate(header)}
        loose = {normalize_name(name): index for index, name in reversed(list(enumerate(header)))}
        positions: dict[str, int] = {}
        ids: tuple[int, ...] = ()
        for meaning, usual in column_names().items():
            chosen = configured.get(meaning)
            if chosen is not None:
                parts = [chosen] if chosen in exact else chosen.split("+") if meaning == "id" else [chosen]
                lost = next((part for part in parts if part not in exact), None)
                if lost is not None:
                    return Message(
                        "no column {name!r}; {nearest}there are {names}",
                        name=lost, nearest=nearest(lost, header), names=", ".join(header[:12]),
                    )  # fmt: skip
                results = [exact[part] for part in parts]
            else:
                results = [loose[name] for name in usual if name in loose][:1]
            if results and meaning == "id":
                ids = tuple(results)
            elif results and (chosen is not None or results[0] not in positions.values()):
                positions[meaning] = results[0]
        missing = [need for need in REQUIRED if need not in positions and not (need == "id" and ids)]
        if missing:
            return Message(
                "no column for {missing} among {names}; name it with --column {first}=...",
                missing=", ".join(missing), names=", ".join(header[:12]), first=missing[0],
            )  # fmt: skip
        private = header[positions["private"]] if "private" in positions else ""
        inbound = normalize_name(header[positions["role"]]) == "inbound"
        html = _is_html(header[positions["text"]], config)
        named = {at for meaning, at in positions.items() if meaning not in NOTE_MEANINGS}
        notes = tuple(at for at in range(len(header)) if at not in named and at not in ids)
        is_public = is_public_column(private)
        return cls(ids, positions, html, is_public, private, inbound, config.mapped.is_whole, notes)

    @classmethod
    def of_shape(cls, shape: MappedRecord, config: ReadConfig) -> Columns:
        """The columns of the cells that a mapping extracts from each message."""
        paths = config.columns()
        positions = {meaning: at for at, meaning in enumerate(shape.meanings) if meaning != "id"}
        private = paths.get("private", "").rpartition(".")[2]
        inbound = normalize_name(paths["role"].rpartition(".")[2]) == "inbound"
        html = _is_html(paths["text"].rpartition(".")[2], config)
        return cls(
            tuple(range(shape.n_ids)), positions, html, is_public_column(private), private, inbound, True
        )


def _is_html(name: str, config: ReadConfig) -> bool | None:
    if config.mapped.html is not None:
        return config.mapped.html
    return True if "html" in normalize_name(name) or normalize_name(name) in RICH else None


@dataclass
class Group:
    """The rows of one dialogue so far. `size` is the bytes of their cells; over the limit the turns are
    dropped. `values` counts the values of each meaning by the role of their rows."""

    name: object
    line: int
    offset: int
    turns: list[DraftTurn] = field(default_factory=list)
    size: int = 0
    bad: BadRecord | None = None
    bad_line: int = 0
    values: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    places: list[object] = field(default_factory=list)

    def fields(self, columns: Columns) -> dict[str, str]:
        """The dialogue's fields: what the rows of its agents say most often, else those of bots, else others.
        Without a column for the agent, the author of the agents' turns. Languages that differ between the
        sides are not one language: each turn's is then detected."""
        results = {}
        for meaning in (*FIELDS, "author"):
            sides = [self.values[meaning, side] for side in SIDES if (meaning, side) in self.values]
            if sides:
                results[meaning] = sides[0].most_common(1)[0][0]
            if meaning == "language" and len({side.most_common(1)[0][0] for side in sides}) > 1:
                del results[meaning]
        author = results.pop("author", None)
        if author is not None and ("author", "agent") in self.values and "agent" not in columns.positions:
            results["agent"] = author
        return results

    def sort_turns(self) -> list[DraftTurn]:
        """The turns in the order of the mapping's order column, by number if all values are numbers, else as
        texts; without one, in the order of the log."""
        if not self.places:
            return self.turns
        try:
            keys: list[Any] = [float(str(position)) for position in self.places]
        except ValueError:
            keys = [str(position) for position in self.places]
        return [self.turns[at] for at in sorted(range(len(self.turns)), key=keys.__getitem__)]


@dataclass(frozen=True)
class Row:
    """One message: line, offset and cells, or the fault for which it cannot be used."""

    line: int
    offset: int
    cells: Sequence[object]
    bad: BadRecord | None = None


def dialogue_id_of(cells: Sequence[object], columns: Columns) -> object:
    """The dialogue id of a row; None if one of its parts is missing or not a text."""
    parts = [cells[index] if index < len(cells) else None for index in columns.ids]
    if columns.by_mapping:
        parts = [fields.name(part) for part in parts]
    if len(parts) == 1:
        return parts[0]
    return "/".join(str(part) for part in parts) if all(isinstance(p, str) and p for p in parts) else None


def gather_dialogues(
    rows: Iterable[Row], columns: Columns, config: ReadConfig, warnings: Counter[str], times: TimeFormat
) -> Iterator[ParsedRecord]:
    """Group consecutive rows of one id into dialogues. A dialogue with a bad row is rejected at that row's
    line, so that no message gets lost silently."""
    group: Group | None = None
    for row in rows:
        name = dialogue_id_of(row.cells, columns)
        if group is None or name != group.name:
            if group is not None:
                yield from _close(group, columns, config, warnings)
            group = Group(name, row.line, row.offset)
        _add(group, row, columns, config, times)
    if group is not None:
        yield from _close(group, columns, config, warnings)


def _add(group: Group, row: Row, columns: Columns, config: ReadConfig, times: TimeFormat) -> None:
    if group.bad is not None:
        return
    bad = row.bad
    if bad is None:
        group.size += sum(_n_bytes(cell) for cell in row.cells)
        if group.size > config.max_record_bytes:
            group.turns.clear()
            bad = record_too_large(group.size, config.max_record_bytes)
            row = Row(group.line, group.offset, row.cells)
    if bad is None:
        try:
            with record_boundary():
                if len(group.turns) <= config.max_turns:
                    _add_turn(group, row.cells, columns, config, times)
            return
        except BadRecord as fault:
            bad = fault
    bad.dialogue_id = group.name if isinstance(group.name, str) else None
    group.bad, group.bad_line, group.offset = bad, row.line, row.offset


def mapped_draft(
    rows: Sequence[Sequence[object]],
    fallback_id: str,
    shape: MappedRecord,
    columns: Columns,
    config: ReadConfig,
    times: TimeFormat,
) -> Draft:
    """The dialogue of messages that a mapping extracted from one record."""
    group = Group(None, 0, 0)
    for cells in rows:
        _add_turn(group, cells, columns, config, times)
    name = dialogue_id_of(rows[0], columns) if rows and columns.ids else None if columns.ids else fallback_id
    return Draft(name, group.sort_turns(), group.fields(columns), path=shape.path)


def _add_turn(
    group: Group, cells: Sequence[object], columns: Columns, config: ReadConfig, times: TimeFormat
) -> None:
    turn = _turn(cells, columns, config, times)
    group.turns.append(turn)
    if "order" in config.columns():
        group.places.append(_cell(cells, columns, "order"))
    if turn.internal:
        return
    role = config.roles().get(turn.role, turn.role) if isinstance(turn.role, str) else None
    side = role if role in SIDES else SIDES[-1]
    for meaning in (*FIELDS, "author"):
        value = fields.name(_cell(cells, columns, meaning))
        if value is not None:
            group.values.setdefault((meaning, side), Counter())[value] += 1


def _n_bytes(cell: object) -> int:
    """Bytes of a cell if it is a text, else 0."""
    return 0 if not isinstance(cell, str) else len(cell) if cell.isascii() else len(cell.encode())


def _close(
    group: Group, columns: Columns, config: ReadConfig, warnings: Counter[str]
) -> Iterator[ParsedRecord]:
    if group.bad is not None:
        yield ParsedRecord(group.bad_line, group.offset, group.bad)
    else:
        draft = Draft(group.name, group.sort_turns(), group.fields(columns))
        yield from validate_drafts([draft], group.line, group.offset, config, warnings)


def _turn(cells: Sequence[object], columns: Columns, config: ReadConfig, times: TimeFormat) -> DraftTurn:
    author, text = _cell(cells, columns, "author"), _cell(cells, columns, "text")
    return DraftTurn(
        _speaker(_cell(cells, columns, "role"), columns, config),
        "" if text is None and columns.by_mapping else text,
        _time(_cell(cells, columns, "time"), times),
        str(author) if author not in (None, "") else None,
        internal=_internal(cells, columns, config),
        html=columns.html,
    )


def _cell(cells: Sequence[object], columns: Columns, meaning: str) -> object:
    return cells[columns.positions[meaning]] if meaning in columns.positions else None


def _internal(cells: Sequence[object], columns: Columns, config: ReadConfig) -> bool | None:
    """Whether a row is an internal note, by its columns; None if they do not say."""
    if is_note_type(_cell(cells, columns, "type")):
        return True
    if any(is_note_type(cells[at]) for at in columns.notes if at < len(cells)):
        speaker = _speaker(_cell(cells, columns, "role"), columns, config)
        if speaker != "customer":
            return True
    if "private" not in columns.positions:
        return None
    value = _cell(cells, columns, "private")
    internal = is_internal(value, public=columns.public, user_words=config.private_words())
    if internal is None and value in (None, ""):
        return False if _speaker(_cell(cells, columns, "role"), columns, config) == "customer" else None
    return internal


def check_privacy(row: Row, columns: Columns, config: ReadConfig, file: str) -> None:
    """Refuse a file with a privacy cell of unknown meaning.

    Raises:
        InputRefused: E_PRIVACY.
    """
    if "private" not in columns.positions or row.bad is not None:
        return
    if _internal(row.cells, columns, config) is None:
        value = _cell(row.cells, columns, "private")
        word = BLANK if value in (None, "") else format_word(value)
        raise file_error(
            "E_PRIVACY", file,
            "line {n}: column {column!r} holds {word!r}, which says neither that a message is internal nor "
            "that it is public; say what it means with --privacy '{word}=internal' or --privacy "
            "'{word}=public'",
            n=row.line, column=columns.private_name, word=word,
        )  # fmt: skip


def _speaker(value: object, columns: Columns, config: ReadConfig) -> object:
    if isinstance(value, bool) and columns.inbound:
        return "customer" if value else "agent"
    if columns.by_mapping and isinstance(value, bool | int):
        value = str(value).lower()
    if value is None and (BLANK in columns.speakers or BLANK in config.roles()):
        value = ""
    if not isinstance(value, str) or value in config.roles():
        return value
    if columns.inbound and value.lower() in TRUE + FALSE:
        return "customer" if value.lower() in TRUE else "agent"
    name = normalize_name(value)
    return columns.speakers.get(name or BLANK) or speaker_roles().get(name, value)


def _time(value: object, times: TimeFormat) -> object:
    """The time in a cell; a value that is not a time is returned as it is."""
    if not isinstance(value, str):
        return value
    return (times.parse(value) or value) if value.strip() else None


_SCHEMA = """
CREATE TABLE first (name TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID;
CREATE TABLE rows (number INTEGER, position INTEGER, line INTEGER, offset INTEGER, cells TEXT, bad TEXT);
"""


class Survey:
    """The result of one pass over a table: the number of rows, whether the rows of each dialogue are
    consecutive, how times are read, and which columns mark internal notes. Takes 8 bytes for each run of one
    id."""

    def __init__(self, columns: Columns, config: ReadConfig) -> None:
        self.n_rows = 0
        self._columns, self._config = columns, config
        self._time = columns.positions.get("time") if config.mapped.time_format == "auto" else None
        self._last: object = self
        self._starts = array("q")
        self._dates = DateOrderDetector()
        self._words: dict[int, set[object]] = {at: set() for at in columns.notes}
        self._first: dict[int, dict[int, object]] = {}
        self._mixed: set[int] = set()
        self._before: Sequence[object] = ()
        self._role = columns.positions.get("role", -1)
        self._speakers: set[str] = set()

    def add(self, row: Row) -> None:
        """Add the next row."""
        self.n_rows += 1
        name = dialogue_id_of(row.cells, self._columns)
        same = name == self._last
        if not same:
            self._last = name
            self._starts.append(hash(name))
        if self._words:
            self._add_words(row.cells, hash(name), same)
        if 0 <= self._role < len(row.cells) and len(self._speakers) < MAX_SPEAKERS:
            speaker = row.cells[self._role]
            if speaker is None or isinstance(speaker, str):
                self._speakers.add(speaker or "")
        if self._time is not None and self._time < len(row.cells):
            self._dates.add(row.cells[self._time])

    def _add_words(self, cells: Sequence[object], name: int, same: bool) -> None:
        """Add the cells that may mark notes; `same`: they are of the dialogue of the row before. From the
        first note of a column on, each dialogue's first word of it is held: its rows need not be together."""
        for at, words in list(self._words.items()):
            cell = cells[at] if at < len(cells) else None
            if not isinstance(cell, str | None):
                del self._words[at]
                continue
            if cell not in words:
                words.add(cell)
                if is_note_type(cell):
                    self._first.setdefault(at, {})
                if len(words) > MAX_NOTE_WORDS:
                    del self._words[at]
            if at in self._mixed:
                continue
            differs = same and at < len(self._before) and self._before[at] != cell
            if differs or (at in self._first and self._first[at].setdefault(name, cell) != cell):
                self._mixed.add(at)
        self._before = cells

    def columns(self, file: str) -> Columns:
        """The columns, of which only those still mark notes whose words differ within a dialogue and include
        one for internal notes: one word for a whole dialogue is a property of the dialogue.

        Raises:
            InputRefused: E_ROLE, several words mean one side of the dialogues and none means the other.
        """
        speakers = dialect_of(self._speakers - self._config.roles().keys())
        words = [] if speakers or self._columns.inbound else one_sided(self._speakers, self._config)
        if words:
            raise file_error(
                "E_ROLE", file,
                "the words for speakers {words} mean the same side, and none means the other; say who is who "
                "with --role '{word}=agent'",
                words=", ".join(map(repr, map(format_word, words))), word=format_word(words[-1]),
            )  # fmt: skip
        notes = tuple(at for at in self._words if at in self._first and at in self._mixed)
        positions = {
            meaning: at
            for meaning, at in self._columns.positions.items()
            if meaning != "channel" or at not in notes
        }
        return replace(self._columns, notes=notes, positions=positions, speakers=speakers)

    @property
    def is_together(self) -> bool:
        """Whether the rows of every id are consecutive."""
        import numpy as np

        return len(np.unique(np.frombuffer(self._starts, dtype=np.int64))) == len(self._starts)

    def facts(self) -> list[Message]:
        """The detected order of dates, as shown to users."""
        return [Message("dates {order}", order=self._dates.order)] if self._dates.is_decided else []

    def times(self, file: str) -> TimeFormat:
        """How the times are read.

        Raises:
            InputRefused: E_TIME, the dates do not show whether the day or the month comes first.
        """
        if self._dates.is_ambiguous:
            raise file_error("E_TIME", file, self._dates.ambiguity_message())
        return TimeFormat.of(
            self._config.mapped.time_format, self._config.mapped.time_zone, self._dates.order
        )


def group_on_disk(rows: Iterable[Row], columns: Columns) -> Iterator[Row]:
    """The same rows, grouped by dialogue, in the order of the log within each."""
    with tempfile.TemporaryDirectory(prefix="dialint-rows-") as folder:
        connection = sqlite3.connect(Path(folder) / "rows.sqlite")
        try:
            connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _SCHEMA)
            connection.executemany(
                "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", _number_rows(rows, columns, connection)
            )
            connection.execute("CREATE INDEX together ON rows (number, position)")
            for line, offset, cells, bad in connection.execute(
                "SELECT line, offset, cells, bad FROM rows ORDER BY number, position"
            ):
                fault = _fault_from_json(*json.loads(bad)) if bad else None
                yield Row(line, offset, json.loads(cells), fault)
        finally:
            connection.close()


def _number_rows(
    rows: Iterable[Row], columns: Columns, connection: sqlite3.Connection
) -> Iterator[tuple[int, int, int, int, str, str | None]]:
    for position, row in enumerate(rows):
        key = json.dumps(dialogue_id_of(row.cells, columns), default=_iso)
        first = connection.execute("SELECT number FROM first WHERE name = ?", (key,)).fetchone()
        if first is None:
            connection.execute("INSERT INTO first VALUES (?, ?)", (key, position))
        number = position if first is None else first[0]
        fault = row.bad
        bad = None if fault is None else json.dumps(_fault_as_json(fault))
        yield number, position, row.line, row.offset, json.dumps(row.cells, default=_iso), bad


def _fault_as_json(fault: BadRecord) -> list[Any]:
    return [fault.code, fault.path, fault.found.as_json(), fault.expected.as_json()]


def _fault_from_json(code: str, path: str, found: Any, expected: Any) -> BadRecord:
    return BadRecord(code, path, Message.from_json(found), Message.from_json(expected))


def _iso(value: object) -> str:
    """A time of a Parquet table as text, or the type's name of anything else that JSON cannot hold."""
    return value.isoformat() if isinstance(value, datetime | date) else type(value).__name__
