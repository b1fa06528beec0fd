"""The interface of log formats: recognise a record or a text, and read dialogues from it.

A format of a package or a file is an instance of `LogFormat` or `TextFormat`, such as:

    from dialint.detector.ingest.log_format import LogFormat, RawDialogue, RawTurn

    def is_acme(record):
        return isinstance(record, dict) and "acme_log" in record

    def read_acme(record, fallback_id):
        turns = [RawTurn(line["who"], line["said"]) for line in record["acme_log"]]
        yield RawDialogue(record.get("nr", fallback_id), turns)

    acme = LogFormat("acme", is_acme, read_acme)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from dialint.detector.errors import Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, json_kind
from dialint.detector.offsets import Edit
from dialint.detector.records import ToolCall

FIELDS = ("language", "channel", "agent", "team")
"""Fields of which a dialogue has one value."""


@dataclass(slots=True)
class RawTurn:
    """A message as read from a log, not yet validated: every value may be of any type.

    `internal` is whether it is an internal note, None if the format does not say; `html` whether its text is
    HTML, None if only the text itself can show it. `edits` lead from the text to the log's own, where a
    reader took a part of it. `tool_calls` are read by the format; `tool_call_id` and `tool_error` are of
    results only.
    """

    role: object
    text: object
    at: object = None
    author: object = None
    internal: bool | None = None
    html: bool | None = None
    edits: tuple[Edit, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: object = None
    tool_error: object = None


@dataclass
class RawDialogue:
    """A dialogue as read from a log, not yet validated. `fields` are further fields of `Dialogue`; `path` is
    the JSON path of the list of turns. `roles_are_names`: a role is the name of a speaker."""

    id: object
    turns: list[RawTurn]
    fields: Mapping[str, Any] = field(default_factory=dict)
    warnings: Counter[str] = field(default_factory=Counter)
    path: str = "turns"
    roles_are_names: bool = False


@dataclass(frozen=True)
class LogFormat:
    """One format of JSON records. `matches(record)` must not raise; `read(record, fallback_id)` yields the
    dialogues of a record. `array` is how a JSON array at the top of a file is read; `members` are the members
    of a top-level object that hold a list of records, ``*`` if every member is a record with its key as id.
    `is_common`: other formats hold such records too, so that it is tried last.

    Where a dialogue may be spread over the records of a file, `parts(record, fallback_id)` yields the parts
    of dialogues with their ids, as JSON, and `read` gets the parts of one dialogue, in the order of the log,
    and its id."""

    name: str
    matches: Callable[[Any], bool]
    read: Callable[[Any, str], Iterable[RawDialogue]]
    array: Literal["elements", "whole"] = "elements"
    members: tuple[str, ...] = ()
    parts: Callable[[Any, str], Iterable[tuple[str, Any]]] | None = None
    is_common: bool = False

    def dialogues(self, record: Any, fallback_id: str) -> Iterator[RawDialogue]:
        """The dialogues of one decoded record.

        Raises:
            BadRecord: it is not an object, or not of this shape.
        """
        if not isinstance(record, dict) and not (self.array == "whole" and isinstance(record, list)):
            kind = Message("list") if isinstance(record, list) else Message("a single value")
            raise BadRecord("E_TYPE", "", kind, "an object, one a line")
        yield from self.read(record, fallback_id)


@dataclass(frozen=True)
class TextFormat:
    """A format of text files, of which each is one dialogue."""

    name: str
    matches: Callable[[str], bool]
    dialogues: Callable[[str, str, ReadConfig], Iterable[RawDialogue]]


def object_list(record: dict[str, Any], key: str, name: str | None = None) -> list[dict[str, Any]]:
    """The list of objects under `key`; an absent or null one is empty.

    Raises:
        BadRecord: E_TYPE, it is no list, or an item of it no object.
    """
    value = record.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadRecord("E_TYPE", key, json_kind(value), "a list", name)
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise BadRecord("E_TYPE", f"{key}[{index}]", json_kind(item), "an object", name)
    return value


def first_object(record: Any, key: str) -> dict[str, Any]:
    """The first object of the list under `key`, or an empty one if there is none."""
    result = record.get(key) if isinstance(record, dict) else None
    item = result[0] if isinstance(result, list) and result else None
    return item if isinstance(item, dict) else {}


def map_role(value: object, roles: Mapping[str, str]) -> object:
    """The role that a tool's word means; a value without an entry is returned as it is."""
    return roles.get(value, value) if isinstance(value, str) else value


def object_at(record: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under `key`, or an empty one if there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def read_rating(value: object, words: Mapping[str, float] = MappingProxyType({})) -> dict[str, Any]:
    """A rating by the customer, or a reward, as metadata: a number, a text of one, or one of `words`; empty
    for any other value."""
    if isinstance(value, str):
        value = words.get(value, value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return {}
    with suppress(ValueError):
        if math.isfinite(rating := float(value)):
            return {"rating": rating}
    return {}


def as_name(value: object) -> str | None:
    """An id, a number or a text, as text without blanks around it; None for any other value."""
    is_name = isinstance(value, int | str) and not isinstance(value, bool)
    return str(value).strip() or None if is_name else None
