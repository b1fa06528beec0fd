"""The phrases of ``phrases.yaml``, by which exports, mail programs and help desks mark text that is not part
of a message."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from dialint.detector.yaml_document import read_document

PATH = Path(__file__).with_name("phrases.yaml")


def fold(text: str) -> str:
    """`text` case-folded, with white space as one blank: the form in which phrases are compared."""
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
    """The lines that introduce a quotation: how they begin, what precedes the free words, how they end."""
    results = []
    for begin, end in _document()["quote_introductions"]:
        inner, _, last = end.casefold().rpartition("*")
        results.append((begin.casefold(), inner, last))
    return tuple(results)


@cache
def _document() -> dict[str, list[Any]]:
    value: dict[str, list[Any]] = read_document(PATH, "E_PHRASES").value
    return value
