"""Regular expressions of words in YAML files, which linguists can edit.

A file has sections of patterns by name. A pattern may take several lines, which are joined without anything
between; ``(?&name)`` stands for the pattern of that name in the same section.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from dialint.detector.yaml_document import read_document

_PART = re.compile(r"\(\?&(\w+)\)")


@cache
def _read(file: str) -> dict[str, Any]:
    document: dict[str, Any] = read_document(Path(__file__).parent / file, "E_WORDS").value
    return document


def read_section(file: str, section: str) -> dict[str, Any]:
    """Return a section of a file: patterns, lists or tables of words, by their names. The path of `file` is
    relative to ``detector/``."""
    words: dict[str, Any] = _read(file)[section]
    return words


class Patterns:
    """The patterns of a section as attributes, compiled at first use. `parts` are patterns made elsewhere."""

    def __init__(self, file: str, section: str, **parts: str) -> None:
        self._file, self._section, self._parts = file, section, parts

    def text(self, name: str) -> str:
        return self._parts.get(name) or self._expand(read_section(self._file, self._section)[name])

    def compile(self, text: str) -> re.Pattern[str]:
        return re.compile(self._expand(text))

    def _expand(self, text: str) -> str:
        return _PART.sub(lambda match: self.text(match[1]), text.replace("\n", ""))

    def __getattr__(self, name: str) -> re.Pattern[str]:
        if name.startswith("_") or name not in dir(self):
            raise AttributeError(f"no pattern {name} of {self._section} in {self._file}")
        pattern = self.compile(self.text(name))
        setattr(self, name, pattern)
        return pattern

    def __dir__(self) -> list[str]:
        return list(read_section(self._file, self._section))
