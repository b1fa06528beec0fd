"""Which messages only the helpdesk's own people saw: internal notes, which are no turns.

Knows the words for it, not where a format keeps them. Whoever marks a message with a word that is not
known is asked: counted as public, a note would be judged as an answer to the customer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialint.detector.errors import excerpt
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.phrases import fold, phrases

BLANK = "blank"
"""How ``--privacy`` names an empty cell."""
LONGEST_PREFIX = 40
LONGEST_WORD = 20
_BRACKETS = {"[": "]", "(": ")", "*": "*", "{": "}", "<": ">", "【": "】"}


def is_internal(value: object, *, public: bool, given: Mapping[str, bool]) -> bool | None:
    """Whether a privacy cell's `value` marks an internal note; none if nobody knows.

    `public` says that the column asks whether the customer saw the message, not whether it is internal.
    `given` are the user's words: of each, whether it means internal.
    """
    word = BLANK if value is None else fold(str(value)) or BLANK
    if word in given:
        return given[word]
    if word == BLANK:
        return None if public else False
    if word in phrases("yes"):
        return not public
    if word in phrases("no"):
        return public
    if word in phrases("internal"):
        return True
    return False if word in phrases("public") else None


def format_word(value: object) -> str:
    """A privacy cell for a message: a short word as it stands, as it must be typed; else masked."""
    text = str(value)
    return text if len(text) <= LONGEST_WORD and text.replace(" ", "").isalpha() else excerpt(text)


def asks_public(column: str) -> bool:
    """Whether a column of this name asks if the customer saw the message."""
    return _normalize(column) in phrases("public_columns")


def is_note_type(value: object) -> bool:
    """Whether a message's type is one that only the helpdesk's own people see."""
    return isinstance(value, str) and _normalize(value) in phrases("note_types")


def has_note_prefix(text: str) -> bool:
    """Whether a message begins by saying that it is an internal note: ``[Internal note]``, ``INTERN:``."""
    if text[:1].isalpha() and ":" not in text[:LONGEST_PREFIX]:  # nearly every message there is
        return False
    head = text.lstrip()[: LONGEST_PREFIX + 8].lstrip("*_# ")
    closing = _BRACKETS.get(head[:1])
    if closing is not None:
        inner, result, _ = head[1:].partition(closing)
        return bool(result) and fold(inner.strip("*_: ")) in phrases("note_prefixes")
    inner, result, _ = head.partition(":")
    return bool(result) and fold(inner.strip("*_ ")) in phrases("note_prefixes")


def record_flag(item: Mapping[str, Any], key: str, path: str, *, public: bool) -> bool | None:
    """What the flag `key` of a message in JSON says of it; none where there is no such flag.

    Raises:
        BadRecord: E_PRIVACY, it is neither true nor false nor a word for one of them.
    """
    value = item.get(key)
    if value is None:
        return None
    internal = is_internal(value, public=public, given={})
    if internal is None:
        raise BadRecord("E_PRIVACY", f"{path}.{key}", excerpt(str(value)), "true or false")
    return internal


def _normalize(name: str) -> str:
    return fold(name.replace("_", " ").replace("-", " ").replace(":", " "))
