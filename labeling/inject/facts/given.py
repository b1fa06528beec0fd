"""What a customer has stated: names, days, times, numbers, places, by patterns of plain English.

Each statement knows how the sentence reads without it, so that a clean twin can be made in which the
customer never said it. Not an extractor for anybody else: it prefers missing a statement to guessing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dialint.labeling.inject.wordings.patterns import GIVEN

LASTING = frozenset({"name", "email", "zip", "order", "user", "people"})
"""Kinds that stay true for the whole talk, whatever it turns to."""

_JOURNEY = re.compile(
    r"\b(train|taxi|flight|fly|bus|ride|travel|trip|go|going|leav|depart|get)", re.IGNORECASE
)

_COMPILED = {
    kind: re.compile(pattern, 0 if kind == "name" else re.IGNORECASE) for kind, pattern in GIVEN.items()
}


@dataclass(frozen=True)
class Given:
    """`value` of a `kind`, and the customer's text `without` it ("" if nothing much is left)."""

    kind: str
    value: str
    without: str


def given_in(text: str) -> list[Given]:
    """Everything the text states once; a kind stated twice in one turn is left out."""
    found = []
    for kind, pattern in _COMPILED.items():
        matches = list(pattern.finditer(text))
        if kind in ("destination", "departure") and not _JOURNEY.search(text):
            continue
        if len(matches) == 1:
            match = matches[0]
            rest = _mended(text, text[: match.start("cut")] + text[match.end("cut") :])
            found.append(Given(kind, match["value"], rest if len(rest.split()) >= 4 else ""))
    return found


def mentions(kind: str, text: str) -> bool:
    """Whether the text says anything of this kind."""
    return bool(_COMPILED[kind].search(text))


def _mended(whole: str, text: str) -> str:
    """A sentence after a cut: no doubled blanks or stops, no dangling small words, its first capital."""
    high = whole[:1].isupper()
    text = re.sub(r"(?<!\s)\s++([,.?!])", r"\1", re.sub(r"[ ]{2,}", " ", text)).strip(" ,")
    text = re.sub(r"\ban (?=[b-df-hj-np-tv-z])", "a ", re.sub(r"\ba (?=[aeio])", "an ", text))
    text = re.sub(r"\b(and|or|but|on|at|for|in|to|from|with|that|serving|serves)\s*+([.?!]|$)", r"\2", text)
    text = re.sub(r"^(and\b|or\b|but\b|so\b|[,.])[,. ]*+", "", re.sub(r"([.?!])[ .]*\.", r"\1", text).strip())
    return text[:1].upper() + text[1:] if high else text
