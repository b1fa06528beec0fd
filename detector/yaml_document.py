"""Reads YAML files that people write, with the line of every value for error messages.

Every scalar stays a string (``no`` is not false, ``1.0`` is not a number; the record that is built from it
converts it). Tags, anchors, repeated keys and deep nesting are refused.

`Patterns` are regular expressions in such files, which linguists can edit. A pattern may take several lines,
which are joined without anything between; ``(?&name)`` stands for the pattern of that name in the same
section.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dialint.detector.errors import ConfigError, Message, invalid_value

MAX_BYTES = 4_000_000
MAX_DEPTH = 32
"""Far above any honest file; libyaml 0.2.5 overruns the stack between 20,000 and 200,000 levels."""

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """`value` is made of dicts, lists and strings. `lines` maps a location, such as
    ``("codes", 3, "name")``, to its line, counted from 1."""

    path: Path
    value: Any
    lines: dict[Location, int]

    def place(self, location: Location) -> str:
        """``file:line: codes.3.name`` for the innermost part of `location` that the file has."""
        prefix = location
        while prefix and prefix not in self.lines:
            prefix = prefix[:-1]
        parts = [str(part)[:40] for part in location]
        name = ".".join(part if part.isprintable() else ascii(part) for part in parts)
        return f"{self.path}:{self.lines[prefix]}: {name}" if name else str(self.path)


def read_document(path: Path, code: str) -> Document:
    """Read the one YAML document in `path`; an empty file's value is None.

    Raises:
        ConfigError: with `code`; the file cannot be read, is too large, or is not plain YAML.
    """
    return parse_document(_content(path, code), path, code)


def parse_document(content: str, path: Path, code: str) -> Document:
    """As `read_document`, of a text; `path` names it in messages.

    Raises:
        ConfigError: with `code`; it is too large or not plain YAML.
    """
    if len(content.encode(errors="replace")) > MAX_BYTES:
        raise ConfigError(code, "{path}: larger than {most:,} bytes", path=path, most=MAX_BYTES)
    try:
        _validate_plain(content, path, code)
        node = yaml.compose(content, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        reason = error.problem or error.context
        raise ConfigError(
            code, "{path}:{line}: not YAML: {reason}", path=path, line=line, reason=reason
        ) from None
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", "") or type(error).__name__
        raise ConfigError(
            code, "{path}: not YAML text in UTF-8: {reason}", path=path, reason=reason
        ) from None
    lines: dict[Location, int] = {(): 1}
    return Document(path, _value(node, (), lines, path, code), lines)


def _content(path: Path, code: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(code, "{path}: {reason}", path=path, reason=error.strerror) from None
    if len(content) > MAX_BYTES:
        raise ConfigError(code, "{path}: larger than {most:,} bytes", path=path, most=MAX_BYTES)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(code, "{path}:{line}: not text in UTF-8", path=path, line=line) from None


def _validate_plain(content: str, path: Path, code: str) -> None:
    depth = 0
    for event in yaml.parse(content, Loader=_LOADER):
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
        where = f"{path}:{event.start_mark.line + 1}" if event.start_mark else str(path)
        if depth > MAX_DEPTH:
            raise ConfigError(code, "{where}: nested deeper than {most} levels", where=where, most=MAX_DEPTH)
        if getattr(event, "anchor", None):
            raise ConfigError(
                code, "{where}: anchors and aliases (& and *) are not allowed; write it out", where=where
            )
        if getattr(event, "tag", None):
            raise ConfigError(code, "{where}: tags (!) are not allowed", where=where)


def _value(node: Any, at: Location, lines: dict[Location, int], path: Path, code: str) -> Any:
    if node is None or isinstance(node, yaml.ScalarNode):
        return node and node.value
    if isinstance(node, yaml.SequenceNode):
        items = []
        for number, item in enumerate(node.value):
            lines[*at, number] = item.start_mark.line + 1
            items.append(_value(item, (*at, number), lines, path, code))
        return items
    mapping: dict[str, Any] = {}
    for key, item in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError(code, "{path}:{line}: a field's name must be a word", path=path, line=line)
        if key.value in mapping:
            raise ConfigError(
                code,
                "{path}:{line}: field {field!r} stands twice",
                path=path,
                line=line,
                field=key.value[:40],
            )
        lines[*at, key.value] = line
        mapping[key.value] = _value(item, (*at, key.value), lines, path, code)
    return mapping


_EXPECTED = {
    "missing": Message("this field is missing"),
    "extra_forbidden": Message("there is no such field"),
    "tuple_type": Message("should be a list"),
    "model_type": Message("should be a mapping of fields"),
    "string_type": Message("should be a text"),
    "string_too_short": Message("must not be blank"),
    "too_short": Message("the list must not be empty"),
}


def first_error(error: ValidationError, document: Document) -> Message:
    """One line: file, line, field, what was expected, what was found."""
    errors = _own_errors(error)
    first = min(errors, key=lambda each: each["type"] != "extra_forbidden")  # a misspelt name comes first
    location = first["loc"]
    problem = _EXPECTED.get(first["type"]) or invalid_value(first)
    result = first["input"]
    if isinstance(result, str) and 0 < len(result) <= 20:
        problem = Message("{problem}, found {found!r}", problem=problem, found=result)
    if len(errors) > 1:
        problem = Message("{problem} (and {n} more)", problem=problem, n=len(errors) - 1)
    return Message("{place}: {problem}", place=document.place(location), problem=problem)


def _own_errors(error: ValidationError) -> list[ErrorDetails]:
    """Without the echo of a bad item: pydantic then calls the list around it too short as well."""
    errors = error.errors(include_url=False)
    inside = {each["loc"][:depth] for each in errors for depth in range(len(each["loc"]))}
    return [each for each in errors if each["type"] != "too_short" or each["loc"] not in inside]


_PART = re.compile(r"\(\?&(\w+)\)")


@cache
def read_packaged(file: str) -> dict[str, Any]:
    """Return the content of a file that ships; its path is relative to ``detector/``."""
    content: dict[str, Any] = yaml.load((Path(__file__).parent / file).read_bytes(), _LOADER)
    return content


def read_section(file: str, section: str) -> dict[str, Any]:
    """Return a section of a packaged file: patterns, lists or tables of words, by their names."""
    words: dict[str, Any] = read_packaged(file)[section]
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
