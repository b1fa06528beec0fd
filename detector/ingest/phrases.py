"""The wordings of ``phrases.yaml``: how exports, mail programs and helpdesks mark what is not the message."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from dialint.detector.yaml_document import read_document

PATH = Path(__file__).with_name("phrases.yaml")


def fold(text: str) -> str:
    """`text` as phrases are compared: without case, white space as one blank."""
    return " ".join(text.casefold().split())


@cache
def phrases(name: str) -> frozenset[str]:
    """The phrases of one list, folded."""
    return frozenset(map(fold, _document()[name]))


@cache
def starts(name: str) -> tuple[str, ...]:
    """The same phrases, for `str.startswith`."""
    return tuple(sorted(phrases(name)))


@cache
def introductions() -> tuple[tuple[str, str, str], ...]:
    """What announces a quotation: how the line begins, what stands before any words, how it ends."""
    results = []
    for begin, end in _document()["quote_introductions"]:
        inner, _, last = end.casefold().rpartition("*")
        results.append((begin.casefold(), inner, last))
    return tuple(results)


@cache
def _document() -> dict[str, list[Any]]:
    value: dict[str, list[Any]] = read_document(PATH, "E_PHRASES").value
    return value
