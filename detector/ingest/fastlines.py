"""The quick way for runs of canonical JSON lines that have nothing odd about them.

It never rejects: whatever it cannot vouch for (an odd byte, a key too many, a wrong type) it leaves
to the strict way, `strictjson` and `checks`, which must give the same dialogue (a property test
holds them to it). What it accepts passed the same rules.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from pydantic import ValidationError

from detector.ingest.checks import BIDI, CONTROL, FIRST_YEAR, INVISIBLE, LAST_YEAR, MAX_ID_BYTES, check_id
from detector.ingest.config import ROLES, ReadConfig
from detector.ingest.outcomes import BadRecord
from detector.records import Dialogue

_ODD_BYTE = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]|\\[ubf]|\[(?:/?INST|CLS|SEP|MASK|PAD|UNK)\]")
_ODD_CHARACTER = re.compile(f"\ufeff|｜|{CONTROL.pattern}|{BIDI.pattern}|{INVISIBLE.pattern}")
_SPACED_COLON = (b'" :', b'"  ')
"""With neither of these (and no tab) in sight, every key is followed by quote and colon at once."""


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
        self._validate = Dialogue.__pydantic_validator__.validate_python
        self.usable = not config.role

    def dialogues(self, lines: list[bytes], warnings: Counter[str]) -> list[Dialogue | None]:
        """One for each line; none where the strict way must decide."""
        if not self.usable:
            return [None] * len(lines)
        whole = self._records(b"\n".join(lines)) if b"" not in lines else None
        if whole is not None and len(whole) == len(lines):
            return [self._dialogue(record, warnings) for record in whole]
        found: list[Dialogue | None] = []
        for line in lines:
            records = self._records(line) if line else None
            found.append(self._dialogue(records[0], warnings) if records and len(records) == 1 else None)
        return found

    def _records(self, data: bytes) -> list[_Record] | None:
        """The records of newline-delimited `data`, if every byte and every key of it is plain."""
        if _ODD_BYTE.search(data) or b"<" in data or any(sign in data for sign in _SPACED_COLON):
            return None
        try:
            if not data.isascii() and _ODD_CHARACTER.search(data.decode()):
                return None
            records = self._decoder.decode_lines(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        return records if data.count(b'":') == sum(map(_n_keys, records)) else None

    def _dialogue(self, record: _Record, warnings: Counter[str]) -> Dialogue | None:
        name = record.id if record.dialogue_id is UNSET else record.dialogue_id
        if name is UNSET or (record.id is not UNSET and record.id != name):
            return None
        if len(name) > MAX_ID_BYTES or name.isspace() or not (name.isascii() and name.isprintable() and name):
            try:
                check_id(name)
            except BadRecord:
                return None
        turns = self._turns(record.turns)
        if turns is None:
            return None
        fields: dict[str, Any] = {"id": name, "turns": turns}
        if _has_fields(record):
            for key in _OPTIONAL:
                value = getattr(record, key)
                if value is not UNSET and value is not None:
                    fields[key] = value
            metadata = {key: getattr(record, key) for key in _METADATA if getattr(record, key) is not UNSET}
            if metadata:
                fields["metadata"] = metadata
        try:
            dialogue = self._validate(fields)
        except ValidationError:
            return None
        blank = sum([not turn.text or turn.text.isspace() for turn in record.turns])
        if blank:
            warnings["W_BLANK_TURN"] += blank
        return dialogue

    def _turns(self, found: list[_Turn]) -> tuple[dict[str, Any], ...] | None:
        limit = self._config.max_turn_bytes
        if not 0 < len(found) <= self._config.max_turns:
            return None
        turns = []
        spoken = judged = False
        last: datetime | None = None
        for index, turn in enumerate(found):
            text = turn.text
            if len(text) * 4 > limit and len(text.encode()) > limit:
                return None
            role = ROLES[turn.role]
            spoken = spoken or not (not text or text.isspace())
            judged = judged or role != "system"
            fields: dict[str, Any] = {"index": index, "role": role, "text": text}
            if turn.author:
                fields["author"] = turn.author
            if turn.at is not UNSET and turn.at is not None:
                last = _later(turn.at, last)
                if last is None:
                    return None
                fields["at"] = last
            turns.append(fields)
        return tuple(turns) if spoken and judged else None


def _later(value: str, before: datetime | None) -> datetime | None:
    """The time, if it is plausible, in the zone of the one before it and not earlier."""
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    if not FIRST_YEAR <= time.year <= LAST_YEAR:
        return None
    if before is not None and (time.utcoffset() != before.utcoffset() or time < before):
        return None
    return time


def _n_keys(record: _Record) -> int:
    """Keys that the record was made from, if none was there twice."""
    turns = record.turns
    count = 1 + 2 * len(turns)
    for turn in turns:
        if turn.at is not UNSET:
            count += 1
        if turn.author is not UNSET:
            count += 1
        if turn.index is not UNSET:
            count += 1
        if turn.turn_id is not UNSET:
            count += 1
    return count + sum([getattr(record, name) is not UNSET for name in _Record.__struct_fields__[1:]])


def _has_fields(record: _Record) -> bool:
    return any([getattr(record, name) is not UNSET for name in _OPTIONAL + _METADATA])
