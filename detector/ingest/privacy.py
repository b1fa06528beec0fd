"""Recognises internal notes: messages that only the help desk's staff saw, and that are no turns.

Interprets the words that mark them; where a format keeps these words is up to its reader. An unknown word is
an error, not a public message: a note taken as public would be judged as an answer to the customer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dialint.detector.errors import excerpt
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.phrases import fold, phrases

BLANK = "blank"
"""How ``--privacy`` names an empty cell."""
LONGEST_PREFIX = 40
LONGEST_WORD, MAX_WORDS, MAX_DIGITS = 30, 3, 4
_JOINTS = str.maketrans("", "", " _-.:/?")
_BRACKETS = {"[": "]", "(": ")", "*": "*", "{": "}", "<": ">", "【": "】"}


def is_internal(value: object, *, public: bool, user_words: Mapping[str, bool]) -> bool | None:
    """Whether a privacy cell's `value` marks an internal note; None if it is unknown.

    `public`: the column says whether the customer saw the message, not whether it is internal. `user_words`
    are the words of the options, and whether each means internal.
    """
    word = BLANK if value is None else fold(str(value)) or BLANK
    if word in user_words:
        return user_words[word]
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
    """A word that a person has to map, such as a speaker or a privacy cell, as it must be typed; a blank cell
    as `BLANK`; anything that is no short word masked."""
    text = str(value)
    bare = text.translate(_JOINTS)
    n_words, n_digits = len(text.split()), sum(map(str.isdigit, text))
    is_word = bare.isalnum() and n_words <= MAX_WORDS and n_digits <= (MAX_DIGITS if n_words == 1 else 0)
    if not text.strip():
        return BLANK
    return text if is_word and len(text) <= LONGEST_WORD else excerpt(text)


def is_public_column(column: str) -> bool:
    """Whether a column of this name says that the customer saw the message, such as ``is_public``."""
    return _normalize(column) in phrases("public_columns")


def is_note_type(value: object) -> bool:
    """Whether messages of this type are internal notes."""
    return isinstance(value, str) and len(value) <= LONGEST_PREFIX and _is_note_word(value)


@lru_cache(4096)
def _is_note_word(value: str) -> bool:
    return _normalize(value) in phrases("note_types")


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
    """Whether the flag `key` marks a JSON message as internal; None if it has no such flag.

    Raises:
        BadRecord: E_PRIVACY, the flag is neither true nor false nor a word for one of them.
    """
    value = item.get(key)
    if value is None:
        return None
    internal = is_internal(value, public=public, user_words={})
    if internal is None:
        raise BadRecord("E_PRIVACY", f"{path}.{key}", excerpt(str(value)), "true or false")
    return internal


def _normalize(name: str) -> str:
    return fold(name.replace("_", " ").replace("-", " ").replace(":", " "))
