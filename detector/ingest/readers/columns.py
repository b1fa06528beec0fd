"""The columns of tables with one message a row, and a survey of their rows.

CSV, Parquet and records read by a mapping all pass their messages on as `Row`s, whose cells `Columns`
interprets. Rows are grouped into dialogues by `dialogues`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dialint.detector.errors import Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.log_format import RawTurn, as_name
from dialint.detector.ingest.mapping import JOINED, MappedRecord, nearest
from dialint.detector.ingest.outcomes import BadRecord, file_error
from dialint.detector.ingest.times import DateOrderDetector, TimeFormat, time_cell, time_column
from dialint.detector.ingest.words import (
    ANY_ROLE,
    BLANK,
    column_names,
    dialect_of,
    fold,
    format_word,
    is_internal,
    is_note_type,
    is_public_column,
    normalize_name,
    speaker_roles,
)
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
"""Most different words of a column that marks notes."""


@dataclass(frozen=True)
class Row:
    """One message: line, offset and cells by column or path, or the fault for which it cannot be used."""

    line: int
    offset: int
    cells: Mapping[str, object]
    bad: BadRecord | None = None


@dataclass(frozen=True)
class Columns:
    """The column of each meaning; an id and a time may consist of several.

    `by_path`: the names are paths of a mapping. `times` are the columns that may hold the time, the chosen
    one first; `Survey.columns` joins a day and its clock. `notes` are further columns that may mark internal
    notes by their words; `Survey.columns` keeps those that do, and adds the `speakers` whose words mean
    something else here.
    """

    config: ReadConfig
    ids: tuple[str, ...]
    names: Mapping[str, str]
    by_path: bool = False
    times: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    speakers: Mapping[str, Role] = field(default_factory=dict)

    @classmethod
    def of(cls, header: Sequence[str], config: ReadConfig) -> Columns | Message:
        """The columns of a header, or a message about a missing one."""
        loose = {normalize_name(name): name for name in reversed(header)}
        names: dict[str, str] = {}
        ids: tuple[str, ...] = ()
        times: tuple[str, ...] = ()
        for meaning, usual in column_names().items():
            chosen = config.mapped.fields.get(meaning)
            if chosen is not None:
                parts = chosen.split("+") if meaning in JOINED and chosen not in header else [chosen]
                lost = next((part for part in parts if part not in header), None)
                if lost is not None:
                    return Message(
                        "no column {name!r}; {nearest}there are {names}",
                        name=lost, nearest=nearest(lost, header), names=", ".join(header[:12]),
                    )  # fmt: skip
            else:
                parts = [loose[name] for name in usual if name in loose]
            if parts and meaning == "id":
                ids = tuple(parts) if chosen else (parts[0],)
            elif parts and (chosen is not None or parts[0] not in names.values()):
                names[meaning] = chosen or parts[0]
                times = times if meaning != "time" else (chosen,) if chosen else tuple(parts)
        missing = [need for need in REQUIRED if need not in names and not (need == "id" and ids)]
        if missing:
            return Message(
                "no column for {missing} among {names}; name it with --column {first}=...",
                missing=", ".join(missing), names=", ".join(header[:12]), first=missing[0],
            )  # fmt: skip
        used = {name for meaning, name in names.items() if meaning not in NOTE_MEANINGS}.union(ids)
        notes = tuple(name for name in header if name not in used)
        return cls(config, ids, names, times=times, notes=notes)

    @classmethod
    def of_shape(cls, shape: MappedRecord, config: ReadConfig) -> Columns:
        """The columns of the cells that a mapping extracts from each message."""
        names = {meaning: path for meaning, path in config.mapped.fields.items() if meaning != "id"}
        times = (names["time"],) if "time" in names else ()
        return cls(config, shape.ids, names, by_path=True, times=times)

    def name_of(self, meaning: str) -> str:
        """The name of a meaning's column, or the last key of its path; "" if there is none."""
        name = self.names.get(meaning, "")
        return name.rpartition(".")[2] if self.by_path else name

    @cached_property
    def by_mapping(self) -> bool:
        """True if numbers may be ids, and a missing text is an empty one."""
        return self.by_path or self.config.mapped.is_whole

    @cached_property
    def html(self) -> bool | None:
        """True if texts are HTML by the mapping or the column's name; None if neither decides."""
        text = normalize_name(self.name_of("text"))
        is_html_name = "html" in text or text in RICH
        return True if self.config.mapped.html is None and is_html_name else self.config.mapped.html

    @cached_property
    def is_public(self) -> bool:
        """True if the privacy column marks what the customer saw."""
        return is_public_column(self.name_of("private"))

    @cached_property
    def is_inbound(self) -> bool:
        """True if the column of roles marks what the customer wrote."""
        return normalize_name(self.name_of("role")) == "inbound"

    def cell(self, cells: Mapping[str, object], meaning: str) -> object:
        """The cell of a meaning; None if there is no such column."""
        name = self.names.get(meaning)
        if name is None:
            return None
        return time_cell(cells, name) if meaning == "time" else cells.get(name)

    def dialogue_id(self, cells: Mapping[str, object]) -> object:
        """The dialogue id of a row; None if one of its parts is missing or not a text."""
        parts = [cells.get(name) for name in self.ids]
        parts = [as_name(part) if self.by_mapping or isinstance(part, str) else part for part in parts]
        if len(parts) == 1:
            return parts[0]
        return "/".join(map(str, parts)) if all(isinstance(part, str) and part for part in parts) else None

    def turn(self, cells: Mapping[str, object], times: TimeFormat) -> RawTurn:
        """The turn of a row."""
        author, text, at = (self.cell(cells, meaning) for meaning in ("author", "text", "time"))
        if isinstance(at, str):  # what is no time is refused by the validation
            at = (times.parse(at) or at) if at.strip() else None
        return RawTurn(
            self._speaker(cells),
            "" if text is None and self.by_mapping else text,
            at,
            str(author) if author not in (None, "") else None,
            internal=self._internal(cells),
            html=self.html,
        )

    def _speaker(self, cells: Mapping[str, object]) -> object:
        """The role of a row, or the word for its speaker."""
        value, options = self.cell(cells, "role"), self.config.mapped.roles
        if isinstance(value, bool) and self.is_inbound:
            return "customer" if value else "agent"
        if self.by_mapping and isinstance(value, bool | int):
            value = str(value).lower()
        if value is None and (BLANK in self.speakers or BLANK in options):
            value = ""
        if not isinstance(value, str) or value in options:
            return value
        if self.is_inbound and value.lower() in TRUE + FALSE:
            return "customer" if value.lower() in TRUE else "agent"
        name = normalize_name(value)
        return self.speakers.get(name or BLANK) or speaker_roles().get(name, value)

    def _internal(self, cells: Mapping[str, object]) -> bool | None:
        """Returns whether a row is an internal note; None if its columns do not say."""
        if is_note_type(self.cell(cells, "type")):
            return True
        is_customer = self._speaker(cells) == "customer"
        if not is_customer and any(is_note_type(cells.get(name)) for name in self.notes):
            return True
        if "private" not in self.names:
            return None
        value = self.cell(cells, "private")
        internal = is_internal(value, public=self.is_public, user_words=self.config.mapped.privacy)
        return False if internal is None and value in (None, "") and is_customer else internal

    def check_privacy(self, row: Row, file: str) -> None:
        """Refuses a file with a privacy cell of unknown meaning.

        Raises:
            InputRefused: E_PRIVACY.
        """
        if "private" not in self.names or row.bad is not None or self._internal(row.cells) is not None:
            return
        value = self.cell(row.cells, "private")
        raise file_error(
            "E_PRIVACY", file,
            "line {n}: column {column!r} holds {word!r}, which says neither that a message is internal nor "
            "that it is public; say what it means with --privacy '{word}=internal' or --privacy "
            "'{word}=public'",
            n=row.line, column=self.name_of("private"),
            word=BLANK if value in (None, "") else format_word(value),
        )  # fmt: skip


@dataclass(frozen=True)
class MessageTable:
    """A log of which each row is one message. `rows` reads it and counts warnings; `facts` is what is unusual
    about it, `paths` are the leaves of a Parquet file that are read."""

    columns: Columns
    rows: Callable[[Counter[str]], Iterator[Row]]
    facts: Sequence[Message] = ()
    paths: Sequence[str] = ()


class Survey:
    """The result of one pass over a table: the number of rows, whether the rows of each dialogue are
    consecutive, how times are read, and which columns mark internal notes. Takes 8 bytes for each run of one
    id."""

    def __init__(self, columns: Columns, file: str) -> None:
        self.n_rows = 0
        self._columns, self._file = columns, file
        times = () if "%" in columns.config.mapped.time_format else columns.times
        self._times = {name: DateOrderDetector() for name in times}
        self._last: object = self
        self._starts = array("q")
        self._words: dict[str, set[object]] = {name: set() for name in columns.notes}
        self._first: dict[str, dict[int, object]] = {}
        self._mixed: set[str] = set()
        self._before: Mapping[str, object] = {}
        self._role = columns.names["role"]
        self._speakers: set[str] = set()
        self._cells: dict[str, set[str]] = {"role": set(), "private": set()}

    def add(self, row: Row) -> None:
        """Add the next row.

        Raises:
            InputRefused: E_PRIVACY.
        """
        self._columns.check_privacy(row, self._file)
        self.n_rows += 1
        for meaning, seen in self._cells.items():
            if len(seen) < MAX_SPEAKERS:
                value = self._columns.cell(row.cells, meaning)
                seen.add(str(value).lower() if isinstance(value, bool) else str(value))
        name = self._columns.dialogue_id(row.cells)
        same = name == self._last
        if not same:
            self._last = name
            self._starts.append(hash(name))
        if self._words:
            self._add_words(row.cells, hash(name), same)
        if self._role in row.cells and len(self._speakers) < MAX_SPEAKERS:
            speaker = row.cells[self._role]
            if isinstance(speaker, str | None):
                self._speakers.add(speaker or "")
        for column, times in self._times.items():
            times.add(time_cell(row.cells, column))

    def _add_words(self, cells: Mapping[str, object], dialogue: int, same: bool) -> None:
        """Adds the cells that may mark notes; `same`: they are of the dialogue of the row before. From the
        first note of a column on, each dialogue's first word in it is stored: its rows need not be
        consecutive."""
        for name, words in list(self._words.items()):
            cell = cells.get(name)
            if not isinstance(cell, str | None):
                del self._words[name]
                continue
            if cell not in words:
                words.add(cell)
                if is_note_type(cell):
                    self._first.setdefault(name, {})
                if len(words) > MAX_NOTE_WORDS:
                    del self._words[name]
            if name in self._mixed:
                continue
            differs = same and name in self._before and self._before[name] != cell
            if differs or (name in self._first and self._first[name].setdefault(dialogue, cell) != cell):
                self._mixed.add(name)
        self._before = cells

    def columns(self) -> Columns:
        """The columns; `notes` are now those whose words differ within a dialogue and include one for
        internal notes: one word for a whole dialogue is a property of the dialogue. The time is joined of two
        columns where one has the days and one the clock.

        Raises:
            InputRefused: E_ROLE, several words mean one side of the dialogues and none means the other.
        """
        config = self._columns.config
        speakers = dialect_of(self._speakers - config.mapped.roles.keys())
        words = [] if speakers or self._columns.is_inbound else _one_sided(self._speakers, config)
        if words:
            raise file_error(
                "E_ROLE", self._file,
                "the words for speakers {words} mean the same side, and none means the other; say who is who "
                "with --role '{word}=agent'",
                words=", ".join(map(repr, map(format_word, words))), word=format_word(words[-1]),
            )  # fmt: skip
        notes = tuple(name for name in self._words if name in self._first and name in self._mixed)
        names = dict(self._columns.names)
        if self._times:
            names["time"] = time_column(self._times)
        if names.get("channel") in notes:
            del names["channel"]
        return replace(self._columns, notes=notes, names=names, speakers=speakers)

    @property
    def is_together(self) -> bool:
        """True if the rows of every id are consecutive."""
        import numpy as np

        return len(np.unique(np.frombuffer(self._starts, dtype=np.int64))) == len(self._starts)

    @property
    def _dates(self) -> DateOrderDetector:
        """The detector of the order of day and month; an empty one if the options say it."""
        if not self._times or self._columns.config.mapped.time_format != "auto":
            return DateOrderDetector()
        name = time_column(self._times)
        return self._times[name if name in self._times else name.partition("+")[0]]

    def facts(self) -> list[Message]:
        """The detected order of dates, and words of the options that no row has, as shown to users."""
        dates, config = self._dates, self._columns.config
        facts = [Message("dates {order}", order=dates.order)] if dates.is_decided else []
        for option, meaning, pairs in (("role", "role", config.role), ("privacy", "private", config.privacy)):
            seen = {word if option == "role" else fold(word) for word in self._cells[meaning]}
            for pair in pairs if len(seen) < MAX_SPEAKERS else ():
                word = pair.rpartition("=")[0]
                if word not in (BLANK, ANY_ROLE) and (word if option == "role" else fold(word)) not in seen:
                    facts.append(Message("--{option} {word!r}, which no row holds", option=option, word=word))
        return facts

    def times(self) -> TimeFormat:
        """The format of the times.

        Raises:
            InputRefused: E_TIME, the dates do not show whether the day or the month comes first, or joined
                columns are no day and clock.
        """
        dates = self._dates
        for name, cells in self._times.items():
            if "+" in name and cells.others == cells.n > 0:
                problem = Message(
                    "--column time={name}: expected a column of days + one of clock times", name=name
                )
                raise file_error("E_TIME", self._file, problem)
        if dates.is_ambiguous:
            raise file_error("E_TIME", self._file, dates.ambiguity_message())
        return TimeFormat.of(self._columns.config.mapped.time_format, dates.order)


def _one_sided(words: Iterable[str], config: ReadConfig) -> list[str]:
    """The words of a column of speakers for one side, if there are several and none for the other side, so
    that one of them is wrong. Empty if there is no doubt, or a word without a role."""
    options = config.mapped.roles
    roles = {word: options.get(word) or speaker_roles().get(normalize_name(word)) for word in words
             if word.strip()}  # fmt: skip
    if None in roles.values() or ANY_ROLE in options:
        return []
    for side, other in (("customer", "agent"), ("agent", "customer")):
        guessed = {
            normalize_name(word): word for word, role in roles.items() if role == side and word not in options
        }
        if len(guessed) > 1 and other not in roles.values():
            return sorted(guessed.values())
    return []
