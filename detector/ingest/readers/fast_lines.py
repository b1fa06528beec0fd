"""The fast path for runs of canonical JSON lines without anything unusual in them.

It never rejects a record: a line with an unusual byte, an unknown key or a wrong type is left to the strict
path, `strict_json` and `validation`. Both paths apply the same rules: property tests compare their dialogues.
Records are constructed without pydantic's validation, which halves the time; a property test checks that
every attribute equals that of `model_validate`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from pydantic import BaseModel

from dialint.detector.ingest.cleaning import may_change
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.privacy import has_note_prefix
from dialint.detector.ingest.validation import (
    BIDI,
    CONTROL,
    FIRST_YEAR,
    INVISIBLE,
    LAST_YEAR,
    MAX_ID_BYTES,
    check_id,
)
from dialint.detector.records import Dialogue, Role, Turn

_new = object.__new__
_NEW_TURN = {
    name: None if field.is_required() else field.default for name, field in Turn.model_fields.items()
}
_set_fields = BaseModel.__dict__["__dict__"].__set__
_set_fields_set = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


def build_turns(roles: Sequence[Role], texts: Sequence[str]) -> tuple[Turn, ...]:
    """Turns with role and text only; indices count from 0."""
    turns = []
    for index, (role, text) in enumerate(zip(roles, texts, strict=True)):
        turn = _new(Turn)
        _set_fields(
            turn,
            {**_NEW_TURN, "index": index, "role": role, "text": text},
        )
        _set_fields_set(turn, {"index", "role", "text"})
        _set_extra(turn, None)
        _set_private(turn, None)
        turns.append(turn)
    return tuple(turns)


def set_time_and_author(turn: Turn, at: datetime | None, author: str | None) -> None:
    """Set time and author of a new turn; None leaves the field unset."""
    if at is not None:
        turn.__dict__["at"] = at
        turn.__pydantic_fields_set__.add("at")
    if author is not None:
        turn.__dict__["author"] = author
        turn.__pydantic_fields_set__.add("author")


def build_dialogue(name: str, turns: tuple[Turn, ...], fields: dict[str, Any] | None) -> Dialogue:
    """A dialogue. `fields` are the further fields that are set."""
    dialogue = _new(Dialogue)
    values: dict[str, Any] = {
        "id": name,
        "turns": turns,
        "language": None,
        "channel": None,
        "agent": None,
        "team": None,
        "policy": None,
        "sources": (),
        "metadata": {},
        "masked": False,
    }
    fields_set = {"id", "turns"}
    if fields:
        values.update(fields)
        fields_set.update(fields)
    _set_fields(dialogue, values)
    _set_fields_set(dialogue, fields_set)
    _set_extra(dialogue, None)
    _set_private(dialogue, None)
    return dialogue


_ODD_ESCAPE = re.compile(rb"\\[ubf\\]")
_MARKER = re.compile(rb"\[(?:/?INST|CLS|SEP|MASK|PAD|UNK)\]")
_ODD_CHARACTER = re.compile(f"\ufeff|｜|{CONTROL.pattern}|{BIDI.pattern}|{INVISIBLE.pattern}")


class _Turn(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["customer", "agent", "bot", "system", "tool"]
    text: str
    at: str | UnsetType | None = UNSET
    author: str | UnsetType | None = UNSET
    index: int | UnsetType = UNSET
    turn_id: int | UnsetType = UNSET


class _Record(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    turns: list[_Turn]
    id: str | UnsetType = UNSET
    dialogue_id: str | UnsetType = UNSET
    language: str | UnsetType | None = UNSET
    channel: str | UnsetType | None = UNSET
    agent: str | UnsetType | None = UNSET
    team: str | UnsetType | None = UNSET
    policy: str | UnsetType | None = UNSET
    source: str | UnsetType = UNSET
    split: str | UnsetType = UNSET


_OPTIONAL = ("language", "channel", "agent", "team", "policy")
_METADATA = ("source", "split")


class FastLines:
    """Decodes runs of lines; one for a job, since its decoder and limits are."""

    def __init__(self, config: ReadConfig) -> None:
        self._config = config
        self._decoder = msgspec.json.Decoder(_Record)
        self._stripped = False  # whether the current lines may contain text that cleaning removes
        self.usable = not config.role

    def dialogues(self, lines: list[bytes], warnings: Counter[str]) -> list[Dialogue | None]:
        """A dialogue for each line, None for lines that the strict path must read."""
        if not self.usable:
            return [None] * len(lines)
        short = max(map(len, lines)) <= self._config.max_turn_bytes
        whole = self._records(b"\n".join(lines), len(lines))
        if whole is not None:
            records, bare = whole
            return [self._dialogue(record, short, bare, warnings) for record in records]
        results: list[Dialogue | None] = []
        for line in lines:
            alone = self._records(line, 1) if line else None
            results.append(self._dialogue(alone[0][0], short, alone[1], warnings) if alone else None)
        return results

    def _records(self, data: bytes, n_lines: int) -> tuple[list[_Record], bool] | None:
        """The records of newline-delimited `data`, one a line, if no byte and no key is unusual; and whether
        they are bare: an id, and turns with role and text only.

        The decoder refuses raw control characters in texts and unknown keys. To it, line feeds are white
        space; records are one a line if every line feed is between two records and there are as many records
        as lines. No key is duplicated if there are exactly as many quotes as the keys and texts need; escaped
        quotes can be counted, as data with an escaped backslash are left to the strict path.
        """
        if b"\x7f" in data or b"<" in data or data.count(b"}\n{") != n_lines - 1:
            return None
        escaped = b"\\" in data
        self._stripped = self._config.strip and (escaped or b"##-" in data)
        if escaped and _ODD_ESCAPE.search(data):
            return None
        try:
            if not data.isascii() and _ODD_CHARACTER.search(data.decode()):
                return None
            records = self._decoder.decode_lines(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        if len(records) != n_lines or (data.count(b"[") != n_lines and _MARKER.search(data)):
            return None
        n_quotes = data.count(b'"') - (data.count(b'\\"') if escaped else 0)
        n_bare = 2 * sum([3 + 4 * len(record.turns) for record in records])
        if n_quotes == n_bare and UNSET not in [record.id or record.dialogue_id for record in records]:
            return records, True
        if n_quotes != n_bare + 2 * sum(map(_n_optional, records)):
            return None
        return records, False

    def _dialogue(self, record: _Record, short: bool, bare: bool, warnings: Counter[str]) -> Dialogue | None:
        name = record.dialogue_id if record.id is UNSET else record.id
        if name is UNSET or (record.dialogue_id is not UNSET and record.dialogue_id != name):
            return None
        if not _plain_id(name):
            return None
        turns = self._turns(record.turns, short, bare, warnings)
        return None if turns is None else build_dialogue(name, turns, None if bare else _fields(record))

    def _turns(
        self, results: list[_Turn], short: bool, bare: bool, warnings: Counter[str]
    ) -> tuple[Turn, ...] | None:
        if not 0 < len(results) <= self._config.max_turns:
            return None
        limit = self._config.max_turn_bytes
        if not short and any(
            len(turn.text) * 4 > limit and len(turn.text.encode()) > limit for turn in results
        ):
            return None
        roles: list[Role] = [turn.role for turn in results]
        if "tool" in roles or ("system" in roles and roles.count("system") == len(roles)):
            return None
        texts = [turn.text for turn in results]
        if any(map(has_note_prefix, texts)) or (self._stripped and any(map(may_change, texts))):
            return None
        blank = 0 if all(map(str.strip, texts)) else sum(not text.strip() for text in texts)
        if blank == len(texts):
            return None
        turns = build_turns(roles, texts)
        if not (bare or _complete(turns, results)):
            return None
        if blank:
            warnings["W_BLANK_TURN"] += blank
        return turns


def _complete(turns: tuple[Turn, ...], results: list[_Turn]) -> bool:
    """Set times and authors. Returns False if the times are not in order."""
    last: datetime | None = None
    for turn, result in zip(turns, results, strict=True):
        at = None
        if result.at is not UNSET and result.at is not None:
            at = last = _later(result.at, last)
            if at is None:
                return False
        set_time_and_author(turn, at, result.author or None)
    return True


def _plain_id(name: str) -> bool:
    if name.isascii() and name.isprintable():
        return len(name) <= MAX_ID_BYTES and bool(name) and not name.isspace()
    try:
        check_id(name)
    except BadRecord:
        return False
    return True


def _fields(record: _Record) -> dict[str, Any]:
    """The optional fields that are there."""
    fields: dict[str, Any] = {}
    if record.language:
        fields["language"] = record.language
    if record.channel:
        fields["channel"] = record.channel
    if record.agent:
        fields["agent"] = record.agent
    if record.team:
        fields["team"] = record.team
    if record.policy:
        fields["policy"] = record.policy
    if record.source or record.split:
        metadata = {"source": record.source, "split": record.split}
        fields["metadata"] = {key: value for key, value in metadata.items() if value is not UNSET}
    return fields


def _later(value: str, before: datetime | None) -> datetime | None:
    """The time, or None if it is not plausible, of another zone than `before`, or earlier."""
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    if not FIRST_YEAR <= time.year <= LAST_YEAR:
        return None
    if before is not None and (time.utcoffset() != before.utcoffset() or time < before):
        return None
    return time


def _n_optional(record: _Record) -> int:
    """Number of keys and texts of the record beyond an id, `turns`, and each turn's role and text."""
    count = -2  # one of the two ids is not optional
    for name in _RECORD_TEXTS:
        value = getattr(record, name)
        count += 0 if value is UNSET else 1 if value is None else 2
    for turn in record.turns:
        for value in (turn.at, turn.author):
            count += 0 if value is UNSET else 1 if value is None else 2
        count += (turn.index is not UNSET) + (turn.turn_id is not UNSET)
    return count


_RECORD_TEXTS = tuple(name for name in _Record.__struct_fields__ if name != "turns")
