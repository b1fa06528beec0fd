"""Mappings: which column or JSON path of a log holds which field, and what its words mean.

A mapping is a YAML file that a person edits; ``dialint ingest preview LOG --write map.yaml`` writes a first
version. Paths are dotted, ``[]`` follows the name of a list: in ``ticket.messages[].author.kind`` each item
of `messages` is a turn. A key may contain dots itself. Reads no logs.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from dialint.detector.errors import ConfigError, Message
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.times import check_time_format
from dialint.detector.ingest.tree_mapping import TreeMapping, build_tree_mapping, value_at
from dialint.detector.ingest.words import fold
from dialint.detector.records import Role
from dialint.detector.yaml_document import Document, read_document

MEANINGS = {
    "id": "dialogue; several joined by + make one id",
    "role": Message("who speaks"),
    "text": Message("what is said"),
    "time": "when",
    "order": "place of the turn in its dialogue, where the log is not in order",
    "author": "name or id of who speaks",
    "agent": "name or id of the dialogue's agent",
    "team": "team or group of the agent",
    "channel": "chat, email, phone",
    "language": "language of the dialogue",
    "private": "whether the message is an internal note",
    "type": "type of the message; internal notes are known by it",
}
ROLES: dict[str, Role] = {
    "customer": "customer",
    "agent": "agent",
    "bot": "bot",
    "system": "system",
    "tool": "tool",
}
"""Roles of the canonical format."""
NO_ENCODING = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7")
"""Codecs of Python that logs are never encoded in."""
HTML = {"auto": None, "html": True, "plain": False}
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
        """Whether it has the fields that records of any shape need."""
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
    field_names = ("fields", "roles", "privacy", "encoding", "delimiter", "time_format", "time_zone", "text")
    for key in value:
        if key not in field_names:
            raise _unknown_field_error(document, (key,), key, field_names)
    fields = _texts(document, "fields")
    for name, where in fields.items():
        if name not in MEANINGS:
            raise _unknown_field_error(document, ("fields", name), name, tuple(MEANINGS))
        try:
            for part in where.split("+"):
                parse_route(part)
        except InvalidRoute as error:
            raise ConfigError(
                CODE, "{place}: {path!r}: {problem}",
                place=document.place(("fields", name)), path=where, problem=error.problem,
            ) from None  # fmt: skip
    for need in ("role", "text"):
        if need not in fields:
            raise ConfigError(
                CODE, "{place}: no {name}: say under 'fields:' which column or path says {meaning}",
                place=document.place(("fields",)), name=need, meaning=MEANINGS[need],
            )  # fmt: skip
    mapping = LogMapping(
        fields,
        {word: _role(document, word, role) for word, role in _texts(document, "roles").items()},
        {
            fold(word): _privacy(document, word, meaning)
            for word, meaning in _texts(document, "privacy").items()
        },
        _scalar(document, "encoding", "auto"),
        _scalar(document, "delimiter", "auto"),
        _scalar(document, "time_format", "auto"),
        _scalar(document, "time_zone", "") or None,
        _html(document),
        {name: document.place(("fields", name)) for name in fields},
    )
    try:
        check_reading(mapping.encoding, mapping.delimiter, mapping.time_format, mapping.time_zone)
        MappedRecord(mapping)
    except ConfigError as error:
        raise ConfigError(CODE, "{path}: {problem}", path=path, problem=error.text) from None
    return mapping


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
    """Whether Python has an incremental text codec of this name."""
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


def _unknown_field_error(
    document: Document, location: tuple[str, ...], key: str, field_names: tuple[str, ...]
) -> ConfigError:
    return ConfigError(
        CODE, "{place}: unknown; {nearest}Expected one of {names}",
        place=document.place(location), nearest=nearest(key, field_names), names=", ".join(field_names),
    )  # fmt: skip


def _texts(document: Document, key: str) -> dict[str, str]:
    """The object under `key`, of texts; an absent one is empty."""
    value = document.value.get(key) or {}
    if not isinstance(value, dict):
        raise ConfigError(
            CODE, "{place}: expected lines of the form 'name: value'", place=document.place((key,))
        )
    for name, one in value.items():
        if not isinstance(one, str) or not one.strip():
            raise ConfigError(CODE, "{place}: expected one word or path", place=document.place((key, name)))
    return dict(value)


def _scalar(document: Document, key: str, default: str) -> str:
    value = document.value.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(CODE, "{place}: expected one word", place=document.place((key,)))
    return value or default


def _role(document: Document, word: str, role: str) -> Role:
    if role not in ROLES:
        raise ConfigError(
            CODE, "{place}: {word!r} is no role; {nearest}Expected one of {names}",
            place=document.place(("roles", word)), word=role, nearest=nearest(role, ROLES),
            names=", ".join(ROLES),
        )  # fmt: skip
    return ROLES[role]


def _privacy(document: Document, word: str, value: str) -> bool:
    if value not in ("internal", "public"):
        raise ConfigError(
            CODE, "{place}: expected internal or public", place=document.place(("privacy", word))
        )
    return value == "internal"


def _html(document: Document) -> bool | None:
    value = _scalar(document, "text", "auto")
    if value not in HTML:
        raise ConfigError(
            CODE, "{place}: expected one of {names}", place=document.place(("text",)), names=", ".join(HTML)
        )
    return HTML[value]


@dataclass(frozen=True)
class Route:
    """A parsed path: through nested `lists`, each relative to the item of the one before, to `key` ("" for
    the item itself)."""

    lists: tuple[str, ...]
    key: str


class InvalidRoute(ValueError):
    """A text is no path, and why."""

    def __init__(self, problem: Message) -> None:
        super().__init__(problem)
        self.problem = problem


def parse_route(text: str) -> Route:
    """Parse a path.

    Raises:
        InvalidRoute: with the reason.
    """
    if _INDEX.search(text):
        raise InvalidRoute(Message("a list is written name[], without a number"))
    parts = text.split("[]")
    if any(part and not part.startswith(".") for part in parts[1:]):
        raise InvalidRoute(
            Message("a dot stands between a list and what is in it, as in messages[].author.name")
        )
    if len(parts) - 1 > MAX_LISTS:
        raise InvalidRoute(Message("at most {n} lists within one another", n=MAX_LISTS))
    return Route(tuple(part.removeprefix(".") for part in parts[:-1]), parts[-1].removeprefix("."))


class MappedRecord:
    """Extracts messages from a record by a mapping. `meanings` are those of each message's cells, in order,
    ids first. `by_row`: each message has the id of its dialogue, so that rows must be grouped."""

    def __init__(self, mapping: LogMapping) -> None:
        """
        Raises:
            ConfigError: E_MAPPING, the paths lead into different lists.
        """
        self._fields = mapping.fields
        ids = [parse_route(part) for part in mapping.fields.get("id", "").split("+") if part]
        others = {name: parse_route(path) for name, path in mapping.fields.items() if name != "id"}
        self.lists = others["text"].lists
        self.meanings = [*("id" for _ in ids), *others]
        self.routes = [*ids, *others.values()]
        for meaning, route in zip(self.meanings, self.routes, strict=True):
            if route.lists != self.lists[: len(route.lists)]:
                path, text = mapping.fields[meaning], mapping.fields["text"]
                raise ConfigError(
                    CODE, "fields.{name}: {path!r} leads into another list than fields.text, {text!r}",
                    name=meaning, path=path, text=text,
                )  # fmt: skip
        depths = [len(route.lists) for route in ids]
        if not ids and not self.lists:
            raise ConfigError(CODE, "fields: no id: say which column or path names the dialogue of a message")
        self.by_row = bool(ids) and max(depths) == len(self.lists)
        self._dialogue_level = max(depths) if ids else len(self.lists) - 1

    @property
    def paths(self) -> list[str]:
        """The paths of the meanings, those of the parts of an id apart."""
        return [path for name, path in self._fields.items() for path in _parts(name, path)]

    @property
    def n_ids(self) -> int:
        """Number of cells that make the id."""
        return self.meanings.count("id")

    @property
    def path(self) -> str:
        """Path of the messages, for error messages."""
        return ".".join(filter(None, self.lists))

    def is_streamed(self) -> bool:
        """Whether a document can be read item by item of its outermost list, which holds every field and more
        than one dialogue."""
        first = self.lists[:1]
        if not first or not first[0] or "." in first[0]:
            return False
        return all(route.lists[:1] == first for route in self.routes) and (self.by_row or len(self.lists) > 1)

    def messages(self, record: object, streamed: bool = False) -> Iterator[list[Any]]:
        """The cells of every message in a record, in order; an object or list is replaced by an empty one, as
        no cell can hold it. `streamed`: the record is an item of the outermost list.

        Raises:
            BadRecord: E_TYPE, a value is not the expected list.
        """
        for cells, item in self._items(record, int(streamed), len(self.lists), {}):
            yield self._row(cells, item)

    def unread(self, record: object, streamed: bool = False) -> Iterator[tuple[str, object]]:
        """Path and value of what stands beside the text in each message and is not mapped."""
        start = ".".join(f"{name}[]" for name in self.lists)
        depth = len(self.lists)
        mapped = {route.key.partition(".")[0] for route in self.routes if len(route.lists) == depth}
        for _, item in self._items(record, int(streamed), depth, {}):
            for key, value in item.items() if isinstance(item, dict) else ():
                if key not in mapped:
                    yield f"{start}.{key}" if start else key, value

    def dialogues(
        self, record: object, max_turns: int, *, streamed: bool = False
    ) -> Iterator[list[list[Any]]]:
        """The cells of the messages of each dialogue in a record, at most `max_turns` + 1 of them. Not for
        `by_row` mappings."""
        start = int(streamed)
        for cells, value in self._items(record, start, max(self._dialogue_level, start), {}):
            below = self._items(value, max(self._dialogue_level, start), len(self.lists), cells)
            yield [self._row(result, item) for result, item in islice(below, max_turns + 1)]

    def _items(
        self, value: object, level: int, stop: int, cells: dict[int, Any]
    ) -> Iterator[tuple[dict[int, Any], Any]]:
        """The items of the lists at level `stop` below `value`, each with the cells found on the way."""
        if level == stop:
            yield cells, value
            return
        here = {
            index: value_at(value, route.key)
            for index, route in enumerate(self.routes)
            if len(route.lists) == level
        }
        result = value_at(value, self.lists[level])
        if result is None:
            return
        if not isinstance(result, list):
            path = ".".join(filter(None, self.lists[: level + 1]))
            raise BadRecord("E_TYPE", path, type(result).__name__, "a list")
        for item in result:
            yield from self._items(item, level + 1, stop, {**cells, **here})

    def _row(self, cells: dict[int, Any], item: object) -> list[Any]:
        depth = len(self.lists)
        values = (
            value_at(item, route.key) if len(route.lists) == depth else cells.get(index)
            for index, route in enumerate(self.routes)
        )
        return [type(value)() if isinstance(value, dict | list) else value for value in values]


def _parts(meaning: str, path: str) -> list[str]:
    return path.split("+") if meaning == "id" else [path]


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
