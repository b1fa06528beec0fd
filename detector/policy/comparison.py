"""When two values of a policy, a call or a result are equal, answered for many values at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from math import isfinite
from typing import Any

_FIGURE = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})")
_IDENTIFIER = re.compile(r"[+-]?(?:0[0-9][0-9.]*|[0-9](?:\.?[0-9]){14,})")
"""A figure with a leading zero, or of so many digits: an id or a telephone number, not an amount."""
_NAMES = {True: ("yes", "true"), False: ("no", "false"), None: ("null", "none")}
"""How a policy writes the values of JSON that are neither texts nor numbers."""


def number(value: Any) -> Decimal | None:
    """A value as an exact number, None if it is none: a plain decimal figure such as -5 or 12.50 is one,
    other spellings such as 1e3 are texts."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, float):  # to 15 digits, as 0.1 + 0.2 is stored as 0.30000000000000004
        return Decimal(f"{value:.15g}") if isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    text = str(value).strip() if isinstance(value, str) or abs(value) < 10**40 else ""
    return Decimal(text) if _FIGURE.fullmatch(text) else None


class ValueSet:
    """Values that others may equal. Two numbers are equal as such, ids and texts by their letters, ``true``,
    ``false`` and ``null`` by identity or by their names."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._constants: list[bool | None] = []
        self._numbers: set[Decimal] = set()
        self._texts: set[str] = set()
        self._texts_without_number: set[str] = set()
        self._strings: set[str] = set()
        for value in values:
            if value is None or isinstance(value, bool):
                self._constants += [] if any(value is each for each in self._constants) else [value]
                continue
            text, size = _text_and_number(value)
            self._texts.add(text)
            if isinstance(value, str):
                self._strings.add(text)
            if size is None:
                self._texts_without_number.add(text)
            else:
                self._numbers.add(size)

    def __contains__(self, value: Any) -> bool:
        if value is None or isinstance(value, bool):
            is_same = any(value is each for each in self._constants)
            return is_same or not self._strings.isdisjoint(_NAMES[value])
        text, size = _text_and_number(value)
        if isinstance(value, str) and any(text in _NAMES[each] for each in self._constants):
            return True
        if size is None:
            return text in self._texts
        return size in self._numbers or text in self._texts_without_number


def _text_and_number(value: Any) -> tuple[str, Decimal | None]:
    text = str(value).strip().casefold()
    is_identifier = isinstance(value, (str, int)) and _IDENTIFIER.fullmatch(text)
    return text, None if is_identifier else number(value)


class Prefixes:
    """Beginnings of texts, in any case."""

    def __init__(self, starts: Iterable[str]) -> None:
        self._starts = {start.casefold() for start in starts}
        self._lengths = sorted({len(start) for start in self._starts})

    def begin(self, text: str) -> bool:
        """Whether a text begins with one of them."""
        lower = text.casefold()
        return any(lower[:length] in self._starts for length in self._lengths)
