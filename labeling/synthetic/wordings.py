"""The texts that synthetic errors are made of, read from the YAML files in `data/`.

`data/train` is trained on; `data/dev` and `data/heldout` are the texts of generators that only choose and
only test; `data/rules` are patterns and tables of words. The module of a category names the files and tables
that it reads, and each table is checked for its shape. Lists become tuples in the order of the file: which
text a seed samples depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
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
