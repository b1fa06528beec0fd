"""The usual names of columns and speakers, in several languages (``columns.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from dialint.detector.ingest.privacy import BLANK
from dialint.detector.records import Role
from dialint.detector.yaml_document import read_document

WORDS = Path(__file__).parent / "columns.yaml"


@cache
def column_names() -> dict[str, list[str]]:
    """The usual column names of each meaning, normalised, the likeliest first."""
    result = read_document(WORDS, "E_WORDS").value["columns"]
    return {meaning: [normalize_name(name) for name in words] for meaning, words in result.items()}


@cache
def speaker_roles() -> dict[str, Role]:
    """Words for speakers, normalised, and the role of each."""
    result = read_document(WORDS, "E_WORDS").value["speakers"]
    return {normalize_name(word): role for role, words in result.items() for word in words}


@cache
def _dialects() -> list[dict[str, Role]]:
    results = read_document(WORDS, "E_WORDS").value["dialects"]
    return [{normalize_name(word): role for word, role in words.items()} for words in results]


def dialect_of(words: Iterable[str]) -> dict[str, Role]:
    """The roles of a column's words where one tool uses them otherwise than others; empty if none does."""
    spoken = {normalize_name(word) or BLANK for word in words}
    known = (one for one in _dialects() if spoken <= one.keys() and len(spoken - {BLANK}) > 1)
    return next((one for one in known if {"customer", "agent"} <= {one[word] for word in spoken}), {})


@cache
def _note_columns() -> tuple[str, ...]:
    return tuple(map(normalize_name, read_document(WORDS, "E_WORDS").value["note_columns"]))


def may_mark_notes(name: str) -> bool:
    """Whether a column's name is one under which tables mark internal notes by words."""
    return any(part in normalize_name(name) for part in _note_columns())


def normalize_name(name: str) -> str:
    """A column's name or a speaker without case, spaces, underscores, hyphens and signs such as ``?``."""
    return re.sub(r"[\s_.?:#/-]+", "", name).lower()
