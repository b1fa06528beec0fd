"""Typed access to fields of other tools' records: a value of the expected type, or a fault with its JSON
path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialint.detector.errors import Message
from dialint.detector.ingest.outcomes import BadRecord


def items(record: dict[str, Any], key: str, name: str | None = None) -> list[dict[str, Any]]:
    """The list of objects under `key`; an absent or null one is empty.

    Raises:
        BadRecord: E_TYPE, it is no list, or an item of it no object.
    """
    value = record.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadRecord("E_TYPE", key, kind(value), "a list", name)
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise BadRecord("E_TYPE", f"{key}[{index}]", kind(item), "an object", name)
    return value


def text(record: dict[str, Any], key: str, path: str, dialogue: str | None = None) -> str:
    """The text under `key`; an absent or null one is empty.

    Raises:
        BadRecord: E_TYPE, it is something else.
    """
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRecord("E_TYPE", f"{path}.{key}", kind(value), "a text", dialogue)
    return value


def first(record: Any, key: str) -> dict[str, Any]:
    """The first object of the list under `key`, or an empty one if there is none."""
    result = record.get(key) if isinstance(record, dict) else None
    item = result[0] if isinstance(result, list) and result else None
    return item if isinstance(item, dict) else {}


def map_role(value: object, roles: Mapping[str, str]) -> object:
    """The role that a tool's word means; a value without an entry is returned as it is."""
    return roles.get(value, value) if isinstance(value, str) else value


def mapping(record: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under `key`, or an empty one if there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def name(value: object) -> str | None:
    """An id, a number or a text, as text; None for any other value."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | str) and str(value):
        return str(value)
    return None


def kind(value: object) -> str:
    """A JSON type in words, for messages."""
    words = {
        dict: Message("an object"), list: Message("a list"), str: Message("a text"),
        bool: Message("a boolean"), type(None): Message("nothing"),
    }  # fmt: skip
    return words.get(type(value), Message("a number"))
