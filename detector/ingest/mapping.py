"""Mappings of columns or JSON paths of a log to fields, and of its words to meanings.

A mapping is a YAML file that a person edits; ``dialint ingest preview LOG --write map.yaml`` writes a first
version. Paths are dotted, ``[]`` follows the name of a list: in ``ticket.messages[].author.kind`` each item
of `messages` is a turn. A key may contain dots itself. Reads no logs.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from dialint.detector.errors import ConfigError, Message
from dialint.detector.ingest.outcomes import BadRecord, json_kind
from dialint.detector.ingest.times import check_time_format
from dialint.detector.ingest.tree_mapping import TreeMapping, build_tree_mapping, value_at
from dialint.detector.ingest.words import fold
from dialint.detector.records import Role
from dialint.detector.yaml_document import Document, read_document

MEANINGS = {
    "id": "dialogue; several joined by + make one id",
    "role": Message("who speaks"),
    "text": Message("what is said"),
    "time": "when; Date+Time joins two columns",
    "order": "place of the turn in its dialogue, where the log is not in order",
    "author": "name or id of who speaks",
    "agent": "name or id of the dialogue's agent",
    "team": "team or group of the agent",
    "channel": "chat, email, phone",
    "language": "language of the dialogue",
    "rating": "rating by the customer, or reward: a number",
    "private": "whether the message is an internal note",
    "type": "type of the message; internal notes are known by it",
}
JOINED = ("id", "time")
"""Meanings for which + joins several columns or paths."""
ROLES: dict[str, Role] = {role: role for role in get_args(Role)}
NO_ENCODING = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7")
"""Codecs of Python that logs are never encoded in."""
HTML = {"auto": None, "html": True, "plain": False}
SECTIONS = ("fields", "roles", "privacy")
SETTINGS = ("encoding", "delimiter", "time_format", "time_zone", "text")
CODE = "E_MAPPING"
MAX_LISTS = 4
_INDEX = re.compile(r"\[\d{1,9}\]")


@dataclass(frozen=True)
class LogMapping:
    """A mapping file combined with the options.

    `fields` maps a meaning to a column or path, `roles` a speaker as written to a role, `privacy` a folded
    word to whether it means internal. `html` is whether texts are HTML, None to detect it for each text.
    `places` is where each field was set, for error messages. `tree` is the mapping of a file with `turns`.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)
    privacy: Mapping[str, bool] = field(default_factory=dict)
    encoding: str = "auto"
    delimiter: str = "auto"
    time_format: str = "auto"
    time_zone: str | None = None
    html: bool | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    tree: TreeMapping | None = None

    @property
    def is_whole(self) -> bool:
        """True if it has the required fields, role and text."""
        return {"role", "text"} <= self.fields.keys()

    def as_json(self) -> dict[str, Any]:
        """The mapping as JSON, for a manifest."""
        results = {name: value for name, value in vars(self).items() if name not in ("places", "tree")}
        return results if self.tree is None else {**results, "tree": self.tree.source}


def load_mapping(path: Path) -> LogMapping:
    """Read a mapping file.

    Raises:
        ConfigError: E_MAPPING, with the line, its value and what was expected.
    """
    document = read_document(path, CODE)
    value = document.value
    if not isinstance(value, dict):
        raise ConfigError(CODE, "{path}: expected fields such as 'fields:' and 'roles:'", path=path)
    if "turns" in value:
        return LogMapping(tree=build_tree_mapping(document, CODE))
    for key in value:
        if key not in (*SECTIONS, *SETTINGS):
            raise _unknown_field(CODE, document.place((key,)), key, (*SECTIONS, *SETTINGS))
    fields, roles, privacy = (_words(document, key) for key in SECTIONS)
    settings = {key: value[key] for key in SETTINGS if value.get(key) is not None}
    for key, word in settings.items():
        if not isinstance(word, str):
            raise ConfigError(CODE, "{place}: expected one word", place=document.place((key,)))
    if settings.get("text", "auto") not in HTML:
        place = document.place(("text",))
        raise ConfigError(CODE, "{place}: expected one of {names}", place=place, names=", ".join(HTML))
    mapping = build_mapping(CODE, lambda *location: document.place(location), fields, roles, privacy)
    for need in ("role", "text"):
        if need not in fields:
            raise ConfigError(
                CODE, "{place}: no {name}: say under 'fields:' which column or path says {meaning}",
                place=document.place(("fields",)), name=need, meaning=MEANINGS[need],
            )  # fmt: skip
    mapping = replace(mapping, html=HTML[settings.pop("text", "auto")], **settings)
    try:
        check_reading(mapping.encoding, mapping.delimiter, mapping.time_format, mapping.time_zone)
        MappedRecord(mapping)
    except ConfigError as error:
        raise ConfigError(CODE, "{path}: {problem}", path=path, problem=error.text) from None
    return mapping


def build_mapping(
    code: str,
    place: Callable[[str, str], str],
    fields: dict[str, str],
    roles: dict[str, str],
    privacy: dict[str, str],
) -> LogMapping:
    """Validates a mapping; `place` returns the place of a word in a section of `SECTIONS`, for messages.

    Raises:
        ConfigError: with `code`.
    """
    for name, path in fields.items():
        if name not in MEANINGS:
            raise _unknown_field(code, place("fields", name), name, tuple(MEANINGS))
        for part in path.split("+"):
            try:
                parse_route(part)
            except ValueError as error:
                raise ConfigError(
                    code, "{place}: {path!r}: {problem}",
                    place=place("fields", name), path=path, problem=error.args[0],
                ) from None  # fmt: skip
    for word, role in roles.items():
        if role not in ROLES:
            raise ConfigError(
                code, "{place}: {word!r} is no role; {nearest}Expected one of {names}",
                place=place("roles", word), word=role, nearest=nearest(role, ROLES), names=", ".join(ROLES),
            )  # fmt: skip
    for word, meaning in privacy.items():
        if meaning not in ("internal", "public"):
            raise ConfigError(code, "{place}: expected internal or public", place=place("privacy", word))
    return LogMapping(
        fields,
        {word: ROLES[role] for word, role in roles.items()},
        {fold(word): meaning == "internal" for word, meaning in privacy.items()},
        places={name: place("fields", name) for name in fields},
    )


def check_reading(encoding: str, delimiter: str, time_format: str, time_zone: str | None) -> None:
    """Validate the options of reading.

    Raises:
        ConfigError: E_OPTION.
    """
    if delimiter not in ("auto", "tab") and len(delimiter) != 1:
        raise ConfigError("E_OPTION", "--delimiter: expected one character, 'tab' or 'auto'")
    if encoding != "auto" and not _is_encoding(encoding):
        raise ConfigError(
            "E_OPTION", "--encoding {name!r}: not known; such as utf-8, cp1251, cp1252, utf-16", name=encoding
        )
    check_time_format(time_format, time_zone)


def _is_encoding(name: str) -> bool:
    """Returns whether Python has an incremental text codec of this name."""
    try:
        codec = codecs.lookup(name)
        is_text = "a".encode(name) != b"" and codec.incrementaldecoder is not None
    except (LookupError, UnicodeError, ValueError):
        return False
    return is_text and codec.name not in NO_ENCODING


def nearest(word: str, choices: Iterable[str]) -> str:
    """``did you mean 'x'? `` if one of `choices` is similar to `word`, else an empty string."""
    result = get_close_matches(word, list(choices), 1, 0.6)
    return Message("did you mean {name!r}? ", name=result[0]) if result else ""


def _unknown_field(code: str, place: str, key: str, names: tuple[str, ...]) -> ConfigError:
    return ConfigError(
        code, "{place}: unknown; {nearest}Expected one of {names}",
        place=place, nearest=nearest(key, names), names=", ".join(names),
    )  # fmt: skip


def _words(document: Document, key: str) -> dict[str, str]:
    """The object under `key`, of texts; an absent one is empty."""
    value = document.value.get(key) or {}
    if not isinstance(value, dict):
        place = document.place((key,))
        raise ConfigError(CODE, "{place}: expected lines of the form 'name: value'", place=place)
    for name, one in value.items():
        if not isinstance(one, str) or not one.strip():
            raise ConfigError(CODE, "{place}: expected one word or path", place=document.place((key, name)))
    return value


def parse_route(text: str) -> tuple[str, ...]:
    """The keys of a path: those of nested lists, each relative to the item of the one before, and last the
    key of the value ("" for the item itself).

    Raises:
        ValueError: with the reason, a `Message`.
    """
    if _INDEX.search(text):
        raise ValueError(Message("a list is written name[], without a number"))
    first, *others = text.split("[]")
    if any(part and not part.startswith(".") for part in others):
        problem = Message("a dot stands between a list and what is in it, as in messages[].author.name")
        raise ValueError(problem)
    if len(others) > MAX_LISTS:
        raise ValueError(Message("at most {n} lists within one another", n=MAX_LISTS))
    return tuple(part.removeprefix(".") for part in (first, *others))


class MappedRecord:
    """Extracts messages from a record by the `fields` of a mapping.

    A message is the value at each path. `paths` maps each path to its meaning, ids first; `lists` has the
    keys of the lists that lead to the messages. `by_row`: each message has the id of its dialogue, so that
    rows must be grouped.
    """

    def __init__(self, mapping: LogMapping) -> None:
        """
        Raises:
            ConfigError: E_MAPPING, the paths lead into different lists.
        """
        self.ids = tuple(filter(None, mapping.fields.get("id", "").split("+")))
        self.paths: dict[str, str] = dict.fromkeys(self.ids, "id")
        for name, path in mapping.fields.items():
            for part in filter(None, path.split("+")) if name in JOINED else [path]:
                self.paths.setdefault(part, name)
        self._routes = {path: parse_route(path) for path in self.paths}
        self.lists = self._routes[mapping.fields["text"]][:-1]
        for path, route in self._routes.items():
            if route[:-1] != self.lists[: len(route) - 1]:
                meaning = self.paths[path]
                path, text = mapping.fields[meaning], mapping.fields["text"]
                raise ConfigError(
                    CODE, "fields.{name}: {path!r} leads into another list than fields.text, {text!r}",
                    name=meaning, path=path, text=text,
                )  # fmt: skip
        if not self.ids and not self.lists:
            raise ConfigError(CODE, "fields: no id: say which column or path names the dialogue of a message")
        depths = [len(self._routes[path]) - 1 for path in self.ids]
        self.by_row = bool(self.ids) and max(depths) == len(self.lists)
        self._dialogue_level = max(depths) if self.ids else len(self.lists) - 1

    @property
    def path(self) -> str:
        """Path of the messages, for error messages."""
        return ".".join(filter(None, self.lists))

    def is_streamed(self) -> bool:
        """Returns whether a document can be read item by item of its outermost list, which holds every field
        and more than one dialogue."""
        first = self.lists[:1]
        is_member = bool(first and first[0]) and "." not in first[0]
        is_inside = is_member and all(route[:-1][:1] == first for route in self._routes.values())
        return is_inside and (self.by_row or len(self.lists) > 1)

    def messages(self, record: object, streamed: bool = False) -> Iterator[dict[str, Any]]:
        """The cells of every message in a record, in order; an object or list is replaced by an empty one, as
        it is no cell. `streamed`: the record is an item of the outermost list.

        Raises:
            BadRecord: E_TYPE, a value is not the expected list.
        """
        for cells, item in self._items(record, int(streamed), len(self.lists), {}):
            yield self._row(cells, item)

    def unread(self, record: object, streamed: bool = False) -> Iterator[tuple[str, object]]:
        """Path and value of every unmapped field beside the text of each message."""
        start = "".join(f"{name}[]." for name in self.lists)
        depth = len(self.lists)
        mapped = {route[-1].partition(".")[0] for route in self._routes.values() if len(route) == depth + 1}
        for _, item in self._items(record, int(streamed), depth, {}):
            for key, value in item.items() if isinstance(item, dict) else ():
                if key not in mapped:
                    yield start + key, value

    def dialogues(
        self, record: object, max_turns: int, *, streamed: bool = False
    ) -> Iterator[list[dict[str, Any]]]:
        """The messages of each dialogue in a record, at most `max_turns` + 1 of them. Not for `by_row`
        mappings."""
        start = int(streamed)
        level = max(self._dialogue_level, start)
        for cells, value in self._items(record, start, level, {}):
            below = self._items(value, level, len(self.lists), cells)
            yield [self._row(result, item) for result, item in islice(below, max_turns + 1)]

    def _items(
        self, value: object, level: int, stop: int, cells: dict[str, Any]
    ) -> Iterator[tuple[dict[str, Any], Any]]:
        """The items of the lists at level `stop` below `value`, each with the cells of the levels above."""
        if level == stop:
            yield cells, value
            return
        result = value_at(value, self.lists[level])
        if result is None:
            return
        if not isinstance(result, list):
            path = ".".join(filter(None, self.lists[: level + 1]))
            raise BadRecord("E_TYPE", path, json_kind(result), "a list")
        here = {**cells, **self._cells(value, level)}
        for item in result:
            yield from self._items(item, level + 1, stop, here)

    def _cells(self, item: object, level: int) -> dict[str, Any]:
        """The values on the paths that end in an item of the list at a level."""
        routes = self._routes.items()
        return {path: value_at(item, route[-1]) for path, route in routes if len(route) == level + 1}

    def _row(self, cells: dict[str, Any], item: object) -> dict[str, Any]:
        row = {**dict.fromkeys(self.paths), **cells, **self._cells(item, len(self.lists))}
        return {path: type(cell)() if isinstance(cell, dict | list) else cell for path, cell in row.items()}


def paths_of(records: Sequence[object]) -> list[str]:
    """Every path to a value in `records`, in order of first appearance; bounded."""
    results: dict[str, None] = {}

    def walk(value: object, path: str, depth: int) -> None:
        if depth > 8 or len(results) > 400:
            return
        if isinstance(value, dict):
            for key, below in value.items():
                walk(below, f"{path}.{key}" if path else str(key), depth + 1)
        elif isinstance(value, list):
            for item in value[:50]:
                walk(item, f"{path}[]", depth + 1)
        elif path:
            results.setdefault(path)

    for record in records:
        walk(record, "", 0)
    return list(results)
