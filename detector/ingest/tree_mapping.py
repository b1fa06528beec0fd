"""Mappings of logs that are trees: where dialogues and messages stand in a JSON record or a row of a table.

A mapping is a YAML file; those of ``mappings/`` ship with the package and are recognised by content, others
are named with ``--mapping``. Its parts are paths and conditions.

A path is dotted: ``author.kind``; keys may contain dots themselves. ``name[]`` is every item of a list, of
which texts are joined, ``name[0]`` one, ``.`` the message itself,
``users[id=author_id]`` the item whose `id` is the message's `author_id`. A path starts at the message, one
that begins with ``/`` at the dialogue; ``=word`` is a constant. JSON in a text is decoded where a path leads
into it. Of several paths the first with a value counts.

A condition is a mapping of paths to words, all of which hold, or a list of such mappings, of which one holds.
``*`` is any value, ``none`` no value or a blank one, ``agent:*`` a beginning, ``!word`` anything else,
``=path`` the value at another path.

Reads no logs and makes no dialogues: that is `dialint.detector.ingest.formats.mapped`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from dialint.detector.errors import ConfigError
from dialint.detector.records import Role
from dialint.detector.yaml_document import Document, first_error, read_document

FOLDER = Path(__file__).parent / "mappings"
ANY, NONE = "*", "none"
_STEP = re.compile(r"\.?([^\[\]]+)|\[([^\[\]=]*)(?:=([^\[\]]+))?\]")


def value_at(item: object, key: str) -> Any:
    """The value at a dotted `key`, or None; a key that itself contains the dots is preferred. A text that is
    JSON is decoded."""
    if not key:
        return item
    item = decode_json(item)
    if not isinstance(item, dict):
        return None
    if key in item:
        return item[key]
    position = key.find(".")
    while position >= 0:
        if key[:position] in item:
            return value_at(item[key[:position]], key[position + 1 :])
        position = key.find(".", position + 1)
    return None


@dataclass
class Scope:
    """The record of a dialogue. `indexes` holds its lists by the value of a key, so that looking items up is
    linear."""

    dialogue: Any
    indexes: dict[tuple[int, str], tuple[Any, dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One step of a path: to a key, to all items of a list, to the one with a number, or to the one whose
    `key` is the value at `where`."""

    kind: Literal["key", "all", "at", "find"]
    key: str = ""
    where: TreePath | None = None


@dataclass(frozen=True)
class TreePath:
    """A parsed path."""

    text: str
    steps: tuple[Step, ...] = ()
    constant: str | None = None
    from_dialogue: bool = False

    def values(self, item: Any, scope: Scope) -> list[Any]:
        """Every value that the path leads to from a message."""
        if self.constant is not None:
            return [self.constant]
        results = [scope.dialogue if self.from_dialogue else item]
        for step in self.steps:
            results = [value for one in results for value in _follow(decode_json(one), step, item, scope)]
        return results


def _follow(value: Any, step: Step, item: Any, scope: Scope) -> Iterator[Any]:
    if step.kind == "key":
        result = value_at(value, step.key)
        if result is not None:
            yield result
    elif not isinstance(value, list):
        return
    elif step.kind == "all":
        yield from value
    elif step.kind == "at":
        yield from value[int(step.key) : int(step.key) + 1]
    else:
        place = (id(value), step.key)
        if place not in scope.indexes:
            index: dict[str, Any] = {}
            for one in value:
                index.setdefault(word_of(value_at(one, step.key)), one)
            scope.indexes[place] = (value, index)  # with the list, so that no other gets its address
        assert step.where is not None
        result = scope.indexes[place][1].get(word_of(first_value((step.where,), item, scope)))
        if result is not None:
            yield result


def decode_json(value: Any) -> Any:
    """Decodes a text that is JSON; any other value is returned as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def parse_path(text: Any) -> TreePath:
    """Parse a path.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(text, str) or not text:
        raise ValueError("expected a path such as messages[].author.name")
    if text.startswith("="):
        return TreePath(text, constant=text[1:])
    if text == ".":
        return TreePath(text)
    steps: list[Step] = []
    position = 1 if text.startswith("/") else 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError("expected a path such as messages[].author.name")
        if match[1] is not None:
            steps.append(Step("key", match[1]))
        elif match[3] is not None:
            steps.append(Step("find", match[2], parse_path(match[3])))
        elif match[2] and not re.fullmatch(r"\d{1,4}", match[2], re.ASCII):
            raise ValueError("expected name[], name[0] or name[key=path]")
        else:
            steps.append(Step("at", match[2]) if match[2] else Step("all"))
        position = match.end()
    return TreePath(text, tuple(steps), from_dialogue=text.startswith("/"))


def first_value(paths: tuple[TreePath, ...], item: Any, scope: Scope) -> Any:
    """The first value on the paths that is not blank; else the first at all, or None."""
    values = [value for path in paths for value in path.values(item, scope)]
    return next((value for value in values if not _is_blank(value)), values[0] if values else None)


def whole_value(paths: tuple[TreePath, ...], item: Any, scope: Scope) -> Any:
    """As `first_value`, but the list of all values of a path that leads to several."""
    for path in paths:
        values = path.values(item, scope)
        if all(map(_is_blank, values)):
            continue
        if any(step.kind == "all" for step in path.steps):
            return values
        return first_value((path,), item, scope)
    return first_value(paths, item, scope)


def _is_blank(value: Any) -> bool:
    return value is None or value == "" or value == []


def word_of(value: Any) -> str:
    """The text of a scalar in conditions: ``true``, ``2``, a text as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@dataclass(frozen=True)
class Words:
    """The words that a value may be: one of `good` (any if there is none) and none of `bad`."""

    good: tuple[str | TreePath, ...]
    bad: tuple[str, ...]

    def hold(self, values: list[Any], item: Any, scope: Scope) -> bool:
        """Returns whether one of the values matches a good word, and none a bad one."""
        words = [word_of(value) if not isinstance(value, dict | list) else "..." for value in values] or [""]
        is_good = not self.good or any(_is(word, good, item, scope) for word in words for good in self.good)
        return is_good and not any(_is(word, bad, item, scope) for word in words for bad in self.bad)


def _is(word: str, pattern: str | TreePath, item: Any, scope: Scope) -> bool:
    if isinstance(pattern, TreePath):
        return bool(word) and word == word_of(first_value((pattern,), item, scope))
    if pattern == NONE:
        return not word.strip()
    if pattern.endswith(ANY):
        return bool(word) and word.startswith(pattern[:-1])
    return word == pattern


Conditions = tuple[tuple[tuple[TreePath, Words], ...], ...]
"""Alternatives, each of conditions that all hold."""


def holds(conditions: Conditions, item: Any, scope: Scope) -> bool:
    """Returns whether one of the alternatives holds for a message."""
    return any(
        all(words.hold(path.values(item, scope), item, scope) for path, words in one) for one in conditions
    )


def _conditions(value: Any) -> Any:
    alternatives = value if isinstance(value, list) else [value]
    results = []
    for one in alternatives:
        if not isinstance(one, dict) or not one:
            raise ValueError("expected lines of the form 'path: word'")
        pairs = []
        for path, words in one.items():
            listed = words if isinstance(words, list) else [words]
            if not all(isinstance(word, str) for word in listed):
                raise ValueError("expected a word or a list of words")
            good = tuple(
                parse_path(word[1:]) if word.startswith("=") else word
                for word in listed
                if not word.startswith("!")
            )
            bad = tuple(word[1:] for word in listed if word.startswith("!"))
            pairs.append((parse_path(path), Words(good, bad)))
        results.append(tuple(pairs))
    return tuple(results)


def _paths(value: Any) -> Any:
    return tuple(parse_path(one) for one in (value if isinstance(value, list) else [value]))


Paths = Annotated[tuple[Any, ...], BeforeValidator(_paths)]
When = Annotated[tuple[Any, ...], BeforeValidator(_conditions)]


class TurnMapping(BaseModel):
    """The mapping of one kind of message to turns. `of` is the list of messages; mappings of the same list
    take turns item by item. An item that no mapping of its list applies to (`when`) is counted as an
    event."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    of: Paths = (TreePath("."),)
    when: When = ()
    role: Paths = ()
    role_if: dict[Role, When] = {}
    """The role of messages for which a condition holds, whatever `role` leads to; the first counts."""
    chat: bool = False
    """The item is a chat message as models' APIs write it, of any of the forms that are read by code."""
    text: Paths = ()
    html: Paths = ()
    """Texts in HTML, read where `text` has none."""
    transcript: Paths = ()
    """A text of many turns, each with its speaker before it."""
    join: str = "\n"
    """Separator of the parts of a text that is a list."""
    time: Paths = ()
    author: Paths = ()
    order: Paths = ()
    """Sort key of messages, where the log has another order."""
    public: Paths = ()
    private: Paths = ()
    """Flags: whether the customer saw the message, or did not."""
    note_if: When = ()
    """Internal notes."""
    incomplete_if: When = ()
    total: Paths = ()
    """Number of messages there should be."""
    calls: Paths = ()
    call: Paths = ()
    arguments: Paths = ()
    """A list of calls of tools, or the name and the arguments of one."""
    call_id: Paths = ()
    """Id of the call, or of that whose result the message is."""
    failed_if: When = ()


class TreeMapping(BaseModel):
    """A mapping file. `dialogues` is where dialogues stand in a record; with `spread` a dialogue consists of
    all that have its id. `repeated`: each of them repeats the messages before it, as calls of a model do.
    `named`: a role is the name of a speaker, which options or the first turns give a role."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: str
    source: dict[str, Any]
    """The file as it stands, for a manifest."""
    about: str = ""
    recognise: When = ()
    dialogues: Paths = (TreePath("."),)
    spread: bool = False
    repeated: bool = False
    named: bool = False
    id: Paths = ()
    language: Paths = ()
    channel: Paths = ()
    agent: Paths = ()
    team: Paths = ()
    rating: Paths = ()
    """Rating by the customer, or reward: a number, or one of the words of `ratings`."""
    ratings: dict[str, float] = {}
    roles: dict[str, Role] = {}
    """Words for roles; ``word*`` is a beginning."""
    turns: tuple[TurnMapping, ...]


def build_tree_mapping(document: Document, code: str) -> TreeMapping:
    """The mapping of a document.

    Raises:
        ConfigError: with `code`; file, line, field and what was expected.
    """
    try:
        return TreeMapping(name=document.path.stem, source=document.value, **document.value)
    except ValidationError as error:
        raise ConfigError(code, first_error(error, document)) from None


@cache
def shipped_names() -> tuple[str, ...]:
    """The names of the mappings that ship with the package."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@cache
def shipped_mappings() -> tuple[TreeMapping, ...]:
    """The mappings that ship with the package."""
    return tuple(
        build_tree_mapping(read_document(FOLDER / f"{name}.yaml", "E_MAPPING"), "E_MAPPING")
        for name in shipped_names()
    )
