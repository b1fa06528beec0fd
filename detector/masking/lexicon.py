"""The words of masking: lists in `lexicon.yaml`, regular expressions in `patterns.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dialint.detector.patterns import Patterns
from dialint.detector.yaml_document import read_document

PATTERN_FILE = "masking/patterns.yaml"


def patterns(section: str, **parts: str) -> Patterns:
    """Return the patterns of a section, with `parts` that are made elsewhere."""
    return Patterns(PATTERN_FILE, section, **parts)


@cache
def _lists() -> dict[str, frozenset[str]]:
    document: dict[str, str] = read_document(Path(__file__).with_suffix(".yaml"), "E_WORDS").value
    return {name: frozenset(text.split()) for name, text in document.items()}


def word_list(name: str) -> frozenset[str]:
    """Return a list of words in lower case."""
    return _lists()[name]
