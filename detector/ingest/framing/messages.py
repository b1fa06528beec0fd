"""Tables with one message a row: which column means what, and rows gathered into dialogues.

Knows nothing of CSV or Parquet; both hand their rows to `gather`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from detector.ingest.checks import Draft, DraftTurn, parse_time
from detector.ingest.config import ReadConfig
from detector.ingest.found import Found, finished
from detector.ingest.outcomes import BadRecord

NAMES = {
    "id": "conversation_id ticket_id dialogue_id dialog_id thread_id chat_id session_id case_id",
    "role": "role author_role sender_type speaker author_type from_type direction inbound",
    "text": "text body message content utterance comment msg",
    "time": "created_at timestamp sent_at time date datetime",
    "author": "author author_id sender sender_id agent from name",
    "private": "private is_private internal is_internal public",
    "order": "message_id turn_id turn index seq utterance_id",
    "language": "language",
    "channel": "channel",
}
REQUIRED = ("id", "role", "text")
_SPEAKERS = {
    "customer": "customer user client visitor enduser contact requester lead inbound incoming in",
    "agent": "agent operator admin support representative rep csr employee outbound outgoing out",
    "bot": "bot assistant ai chatbot virtualagent automation",
    "system": "system event activity trigger tool",
}
SPEAKERS = {word: role for role, words in _SPEAKERS.items() for word in words.split()}
TRUE, FALSE = ("true", "1", "yes", "t", "y"), ("false", "0", "no", "f", "n", "")


def plain(name: str) -> str:
    """A column's name or a speaker without case, spaces, underscores and hyphens."""
    return re.sub(r"[\s_-]+", "", name).lower()


@dataclass(frozen=True)
class Columns:
    """Meaning to position of each column; an id may be made of several."""

    ids: tuple[int, ...]
    positions: dict[str, int]
    inverted_private: bool = False
    inbound: bool = False

    @classmethod
    def of(cls, header: Sequence[str], config: ReadConfig) -> Columns | str:
        """The columns of a header, or what is missing in words."""
        given = config.columns()
        exact = {name: index for index, name in enumerate(header)}
        loose = {plain(name): index for index, name in reversed(list(enumerate(header)))}
        positions: dict[str, int] = {}
        ids: tuple[int, ...] = ()
        for meaning, names in NAMES.items():
            chosen = given.get(meaning)
            if chosen is not None:
                parts = [chosen] if chosen in exact else chosen.split("+") if meaning == "id" else [chosen]
                if any(part not in exact for part in parts):
                    return f"no column {chosen!r}; there are {', '.join(header[:12])}"
                found = [exact[part] for part in parts]
            else:
                found = [loose[plain(name)] for name in names.split() if plain(name) in loose][:1]
            if found and meaning == "id":
                ids = tuple(found)
            elif found and (chosen is not None or found[0] not in positions.values()):
                positions[meaning] = found[0]
        missing = [need for need in REQUIRED if need not in positions and not (need == "id" and ids)]
        if missing:
            return f"no column for {', '.join(missing)}; name it with --column {missing[0]}=..."
        private = plain(header[positions["private"]]) if "private" in positions else ""
        return cls(ids, positions, private == "public", plain(header[positions["role"]]) == "inbound")


@dataclass
class Group:
    """The rows of one dialogue so far, `size` bytes of cells; those over a limit are not held."""

    name: object
    line: int
    offset: int
    turns: list[DraftTurn] = field(default_factory=list)
    size: int = 0
    bad: BadRecord | None = None
    bad_line: int = 0
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One message: where it stands and its cells, or why it has none that can be used."""

    line: int
    offset: int
    cells: Sequence[object]
    bad: BadRecord | None = None


def identity(cells: Sequence[object], columns: Columns) -> object:
    """The dialogue id that a row's cells give; none where one of its parts is missing or no text."""
    parts = [cells[index] if index < len(cells) else None for index in columns.ids]
    if len(parts) == 1:
        return parts[0]
    return "/".join(str(part) for part in parts) if all(isinstance(p, str) and p for p in parts) else None


def gather(
    rows: Iterable[Row], columns: Columns, config: ReadConfig, warnings: Counter[str]
) -> Iterator[Found]:
    """Consecutive rows of one id become a dialogue. A bad row spoils its whole dialogue, which is
    then rejected at that row's line: a message must not go missing unseen."""
    group: Group | None = None
    for row in rows:
        name = identity(row.cells, columns)
        if group is None or name != group.name:
            if group is not None:
                yield from _close(group, config, warnings)
            group = Group(name, row.line, row.offset)
        _add(group, row, columns, config)
    if group is not None:
        yield from _close(group, config, warnings)


def _add(group: Group, row: Row, columns: Columns, config: ReadConfig) -> None:
    if group.bad is not None:
        return
    bad = row.bad
    if bad is None:
        group.size += sum(_n_bytes(cell) for cell in row.cells)
        if group.size > config.max_record_bytes:
            group.turns.clear()
            bad = oversized(group.size, config)
            row = Row(group.line, group.offset, row.cells)
    if bad is None:
        if len(group.turns) <= config.max_turns:
            group.turns.append(_turn(row.cells, columns, config))
        for meaning in ("language", "channel"):
            value = row.cells[columns.positions[meaning]] if meaning in columns.positions else None
            if isinstance(value, str) and value:
                group.fields.setdefault(meaning, value)
        return
    bad.dialogue_id = group.name if isinstance(group.name, str) else None
    group.bad, group.bad_line, group.offset = bad, row.line, row.offset


def oversized(size: int, config: ReadConfig, name: str | None = None) -> BadRecord:
    """The fault of a dialogue, or a row of it, that has more bytes than a record may have."""
    expected = f"at most {config.max_record_bytes} bytes in one dialogue"
    return BadRecord("E_RECORD_SIZE", "", f"over {size} bytes" if size else "too much", expected, name)


def _n_bytes(cell: object) -> int:
    """Bytes of a cell that is a text, less those that all rows have."""
    return 0 if not isinstance(cell, str) else len(cell) if cell.isascii() else len(cell.encode())


def _close(group: Group, config: ReadConfig, warnings: Counter[str]) -> Iterator[Found]:
    if group.bad is not None:
        yield Found(group.bad_line, group.offset, group.bad)
    else:
        draft = Draft(group.name, group.turns, group.fields)
        yield from finished([draft], group.line, group.offset, config, warnings)


def _turn(cells: Sequence[object], columns: Columns, config: ReadConfig) -> DraftTurn:
    def cell(meaning: str) -> object:
        return cells[columns.positions[meaning]] if meaning in columns.positions else None

    author = cell("author")
    role = _speaker(cell("role"), columns, config)
    if _private(cell("private"), columns):
        role = "system"
    return DraftTurn(
        role, cell("text"), _time(cell("time")), str(author) if author not in (None, "") else None
    )


def _speaker(value: object, columns: Columns, config: ReadConfig) -> object:
    if isinstance(value, bool) and columns.inbound:
        return "customer" if value else "agent"
    if not isinstance(value, str) or value in config.roles():
        return value
    if columns.inbound and value.lower() in TRUE + FALSE:
        return "customer" if value.lower() in TRUE else "agent"
    return SPEAKERS.get(plain(value), value)


def _private(value: object, columns: Columns) -> bool:
    if value is None or value == "":
        return False
    told = value if isinstance(value, bool) else str(value).lower() in TRUE
    return told != columns.inverted_private


def _time(value: object) -> object:
    """A time cell: ISO 8601, epoch seconds, or the dates of e-mail and Twitter; else as it is."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    if parse_time(value) is not None:
        return value
    try:
        return float(value) if re.fullmatch(r"-?\d{9,14}(?:\.\d+)?", value) else parsedate_to_datetime(value)
    except (ValueError, TypeError):
        return value
