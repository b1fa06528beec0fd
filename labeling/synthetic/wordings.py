"""The texts that synthetic errors are made of, and the small grammars that give an idea hundreds of forms.

Texts are read from the YAML files in `data/`: `data/train` is trained on; `data/dev` and `data/heldout` are
the texts of generators that only choose and only test; `data/rules` are patterns and tables of words. The
module of a category names the files and tables that it reads, and each table is checked for its shape. Lists
become tuples in the order of the file: which text a seed samples depends on it.

In a grammar ``@rule`` is another rule or a value given by the caller, ``(a|b|)`` a choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from dialint.detector.errors import ConfigError
from dialint.detector.yaml_document import Document, Location, read_document

DATA = Path(__file__).parent / "data"

Texts = tuple[str, ...]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Wordings:
    """The tables of the file `data/<name>.yaml`.

    All methods raise `ConfigError` (E_WORDINGS, with file and line) where the table is missing or its shape
    is not the one asked for.
    """

    name: str
    folder: Path = field(default=DATA)

    def texts(self, table: str) -> Texts:
        """A list of texts."""
        return self._texts((table,), self._table(table))

    def text(self, table: str) -> str:
        """A list of exactly one text."""
        texts = self.texts(table)
        if len(texts) != 1:
            raise self._error((table,), "expected a list of one text")
        return texts[0]

    def grammar(self, table: str) -> dict[str, Texts]:
        """Lists of texts by name: the rules of a grammar, or texts by kind."""
        return self._by_name(table, self._texts)

    def mapping(self, table: str) -> dict[str, str]:
        """One text for each name."""
        return self._by_name(table, self._text)

    def groups(self, table: str) -> tuple[Texts, ...]:
        """A list of lists of texts."""
        return self._list((table,), self._table(table), self._texts)

    def pairs(self, table: str, first: str = "wrong", second: str = "right") -> tuple[tuple[str, str], ...]:
        """A list of records of two texts."""
        return self._pairs((table,), self._table(table), first, second)

    def pairs_by_name(
        self, table: str, first: str = "wrong", second: str = "right"
    ) -> dict[str, tuple[tuple[str, str], ...]]:
        """Lists of records of two texts, by name."""
        return self._by_name(table, lambda at, value: self._pairs(at, value, first, second))

    def records(self, table: str, *fields: str) -> tuple[tuple[Any, ...], ...]:
        """A list of records with these fields, each a text or a list of texts, as tuples in their order."""
        return self._list((table,), self._table(table), lambda at, value: self._record(at, value, fields))

    def records_by_name(self, table: str, *fields: str) -> dict[str, tuple[Any, ...]]:
        """Such records by name."""
        return self._by_name(table, lambda at, value: self._record(at, value, fields))

    def records_by_group(self, table: str, *fields: str) -> dict[str, tuple[tuple[Any, ...], ...]]:
        """Lists of such records by name."""
        return self._by_name(
            table, lambda at, group: self._list(at, group, lambda at, value: self._record(at, value, fields))
        )

    def _table(self, table: str) -> Any:
        value = self._document().value
        if not isinstance(value, dict) or table not in value:
            raise self._error((), f"no table {table!r}")
        return value[table]

    def _document(self) -> Document:
        return _read(self.folder / f"{self.name}.yaml")

    def _error(self, at: Location, message: str) -> ConfigError:
        return ConfigError("E_WORDINGS", f"{self._document().place(at)}: {message}")

    def _text(self, at: Location, value: Any) -> str:
        if not isinstance(value, str):
            raise self._error(at, "expected a text; put it in quotes if it holds a colon")
        return value

    def _list(self, at: Location, value: Any, of: Callable[[Location, Any], Item]) -> tuple[Item, ...]:
        if not isinstance(value, list):
            raise self._error(at, 'expected a list, each item after "- "')
        return tuple(of((*at, number), item) for number, item in enumerate(value))

    def _texts(self, at: Location, value: Any) -> Texts:
        return self._list(at, value, self._text)

    def _by_name(self, table: str, of: Callable[[Location, Any], Item]) -> dict[str, Item]:
        value = self._table(table)
        if not isinstance(value, dict):
            raise self._error((table,), 'expected names, each with a colon: "name:"')
        return {name: of((table, name), item) for name, item in value.items()}

    def _record(self, at: Location, value: Any, fields: Texts) -> tuple[Any, ...]:
        if not isinstance(value, Mapping) or set(value) != set(fields):
            raise self._error(at, f"expected the fields {', '.join(fields)}")
        return tuple(
            self._texts((*at, name), value[name])
            if isinstance(value[name], list)
            else self._text((*at, name), value[name])
            for name in fields
        )

    def _pairs(self, at: Location, value: Any, first: str, second: str) -> tuple[tuple[str, str], ...]:
        def pair(at: Location, value: Any) -> tuple[str, str]:
            one, other = self._record(at, value, (first, second))
            return self._text((*at, first), one), self._text((*at, second), other)

        return self._list(at, value, pair)


@cache
def _read(path: Path) -> Document:
    return read_document(path, "E_WORDINGS")


Grammar = Mapping[str, Sequence[str]]

_CHOICE = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")

_INNER_CHOICE = re.compile(r"\(([^()|]*+\|[^()]*+)\)")
_RULE = re.compile(r"@([a-z_]+[0-9]*)")


def expand(grammar: Grammar, rng: Random, start: str = "say", **values: str) -> str:
    """One sentence of the grammar, from rule `start`; `values` go in last and are left as they are.

    Raises:
        KeyError: a rule is neither in the grammar nor among the values.
    """
    text = rng.choice(grammar[start])
    while True:
        wider = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), text)
        wider = _RULE.sub(
            lambda match: rng.choice(grammar[match[1]]) if match[1] in grammar else match[0], wider
        )
        if wider == text:
            break
        text = wider
    return normalize_spaces(_RULE.sub(lambda match: values[match[1]], normalize_spaces(text)))


def resolve_choices(template: str, rng: Random) -> str:
    """The template with its choices made, innermost and leftmost first; its rules are left open."""
    while match := _INNER_CHOICE.search(template):
        template = template[: match.start()] + rng.choice(match[1].split("|")) + template[match.end() :]
    return template


def count_forms(grammar: Grammar, start: str = "say") -> int:
    """How many surface forms a rule has, values not counted; an upper bound where forms coincide."""

    def of(text: str) -> int:
        total = 1
        rest = text
        while match := _CHOICE.search(rest):
            total *= sum(of(option) for option in match[1].split("|"))
            rest = rest[: match.start()] + rest[match.end() :]
        for name in _RULE.findall(rest):
            total *= count_forms(grammar, name) if name in grammar else 1
        return total

    return sum(of(text) for text in grammar[start])


def normalize_spaces(text: str) -> str:
    """Single spaces, none before a comma or full stop that empty choices left behind."""
    text = re.sub(r"[ \t]{2,}", " ", text)
    return re.sub(r"(?<! ) ++([,.!?])", r"\1", text).strip()


def capitalize_first(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def match_style(text: str, neighbours: Sequence[str]) -> str:
    """`text` in the style of the agent's other turns: lower case, or no last full stop, if they
    mostly do so. Style must not give away a made turn among a real one."""
    others = [other for other in neighbours if other.strip()]
    if not others:
        return text
    lower = sum(other[0].islower() for other in others)
    bare = sum(other.rstrip()[-1].isalnum() for other in others)
    if lower * 2 > len(others):
        text = text[:1].lower() + text[1:] if not text.startswith(("I ", "I'")) else text
    if bare * 2 > len(others) and text.endswith("."):
        text = text[:-1]
    return text


_ARTICLE = re.compile(r"\b([Aa])(?= (?:[aeio]|un(?!i))(?!ne\b))")


def render(template: str, slots: Grammar, rng: Random) -> str:
    """One surface form of a template, every sentence with a capital."""
    text = expand({**slots, "say": (template,)}, rng).replace("?.", "?")
    text = _ARTICLE.sub(r"\1n", text)
    return re.sub(r"(?:^|(?<=[.!?] ))[a-z]", lambda match: match.group().upper(), text)
