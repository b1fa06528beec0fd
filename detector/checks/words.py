"""The words of the checks, which stand in `english.yaml`, a file for linguists."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from dialint.detector.yaml_document import read_document

_PART = re.compile(r"\(\?&(\w+)\)")


@cache
def read_words(section: str) -> dict[str, Any]:
    """Return a section of `english.yaml`: patterns, lists or tables of words, by their names."""
    words: dict[str, Any] = _read()[section]
    return words


@cache
def _read() -> dict[str, Any]:
    document: dict[str, Any] = read_document(Path(__file__).with_name("english.yaml"), "E_CHECKS").value
    return document


def compile_pattern(section: str, text: str, **parts: str) -> re.Pattern[str]:
    """Return a pattern as it stands in `english.yaml`: its lines are joined, and ``(?&name)`` is replaced by
    the pattern of that name in the section, or in `parts`."""

    def expand(text: str) -> str:
        joined = text.replace("\n", "")
        return _PART.sub(lambda match: parts.get(match[1]) or expand(read_words(section)[match[1]]), joined)

    return re.compile(expand(text))


class Patterns:
    """The patterns of a section as attributes, compiled at first use. `parts` are patterns made elsewhere."""

    def __init__(self, section: str, **parts: str) -> None:
        self._section, self._parts = section, parts

    def __getattr__(self, name: str) -> re.Pattern[str]:
        if name.startswith("_") or name not in (words := read_words(self._section)):
            raise AttributeError(f"no pattern {name} of {self._section} in english.yaml")
        pattern = compile_pattern(self._section, words[name], **self._parts)
        setattr(self, name, pattern)
        return pattern

    def __dir__(self) -> list[str]:
        return list(read_words(self._section))


SENTENCE = re.compile(r"[^.!?\n]++(?:[.!?](?=\S)[^.!?\n]++)*+[.!?\n]?")
"""A sentence with its end mark and outer blanks; a mark within a word or number ends none."""
