"""The words of dialogues for full-text search, and queries for them, with the same results on both databases.

A word is a run of letters and digits, lower-case and without accents; each Chinese or Japanese character is
one. SQLite's FTS5 and PostgreSQL's tsvector get words that were separated here, so that they find the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import BigInteger, TextualSelect, column, text

from dialint.detector.near_duplicates import words

MAX_WORDS = 16_000
"""Words of a dialogue that are searchable: positions in a tsvector end at 16,383."""
MAX_LETTERS = 64
"""Letters of a word that count."""
MAX_TERMS = 20
_TERM = re.compile(r'"([^"]*)"?|(\S+)')


def split_words(text: str) -> list[str]:
    """The words of a text, in order."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.encode("utf-8", "ignore").decode())
        text = unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))
    return [word[:MAX_LETTERS] for word in words(text)]


def list_words(texts: Iterable[str]) -> list[str]:
    """The searchable words of a dialogue, by the texts of its turns."""
    tokens: list[str] = []
    for each in texts:
        tokens += split_words(each)
        if len(tokens) >= MAX_WORDS:
            break
    return tokens[:MAX_WORDS]


def to_tsvector(tokens: list[str]) -> str:
    """Words as PostgreSQL's tsvector."""
    positions: dict[str, list[int]] = {}
    for position, word in enumerate(tokens, start=1):
        positions.setdefault(word, []).append(position)
    # PostgreSQL keeps at most 255 positions of a word
    return " ".join(f"'{word}':{','.join(map(str, at[:255]))}" for word, at in positions.items())


class Term(NamedTuple):
    """Words that follow each other; the last one may be the beginning of a word (`is_prefix`)."""

    words: tuple[str, ...]
    is_prefix: bool = False


def parse_query(text: str) -> tuple[Term, ...]:
    """The terms of a query, all of which must be in a dialogue: words, ``"several words"``, ``begin*``."""
    terms = []
    for quoted, bare in _TERM.findall(text):
        tokens = split_words(quoted or bare)
        if tokens:
            terms.append(Term(tuple(tokens), is_prefix=bare.endswith("*")))
    return tuple(terms[:MAX_TERMS])


def select_matches(terms: Sequence[Term], *, is_sqlite: bool) -> TextualSelect:
    """Select the numbers of the dialogues that have all these terms."""
    if is_sqlite:
        words = " AND ".join(f'"{" ".join(term.words)}"{"*" if term.is_prefix else ""}' for term in terms)
        query = text("SELECT rowid AS number FROM dialogue_words WHERE dialogue_words MATCH :words")
    else:
        phrases = (" <-> ".join(f"'{word}'" for word in term.words) for term in terms)
        ends = (":*" if term.is_prefix else "" for term in terms)
        words = " & ".join(f"({phrase}{end})" for phrase, end in zip(phrases, ends, strict=True))
        query = text("SELECT number FROM dialogue_words WHERE words @@ CAST(:words AS tsquery)")
    return query.bindparams(words=words).columns(column("number", BigInteger))
