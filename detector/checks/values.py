"""Ids in text, and the amounts and times that results give for what has one. Amounts count in cents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from pydantic import JsonValue

from dialint.detector.checks.words import WordSearch, patterns
from dialint.detector.tool_use import ToolUse

PATTERNS = patterns("values")

ID = re.compile(
    r"(?<![\w$€£@/:])(?<![\w.]-)(?<!\w\.)"
    r"(?:#\s?[A-Za-z]{0,4}\d[A-Za-z0-9]{3,20}"
    r"|(?=[A-Za-z_]{0,30}\d)(?=\d{0,30}[A-Za-z_])[A-Za-z0-9]{1,20}(?:_[A-Za-z0-9]{1,20}){0,4}"
    r"|\d{6,20})(?![\w@/]|[.:-]\w)"
)
_FIGURE = r"\d{1,3}(?:,\d{3}){1,3}(?:\.\d{1,2})?|\d{1,9}(?:\.\d{1,2})?"
AMOUNT = re.compile(
    rf"(?:[$€£]|\bUSD\s)\s?(?P<after>{_FIGURE})(?![\d,]?\d)|\b(?P<before>{_FIGURE})\s(?:dollars|USD|euros?|EUR)\b"
)
_NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3}){1,3}(?:\.\d{1,4})?|\d{1,9}(?:\.\d{1,4})?)(?!\w)")
_MAY_BE_TIME = re.compile(r"\d(?::\d|\s?[ap]\.?m)", re.IGNORECASE)
_KEY_ENDS = ("_id", "number", "code", "Id", "ID")
"""Ends of the names of fields that hold the id of their object."""
MAX_DEPTH = 32
"""Objects of a result that are nested deeper are not read."""
MAX_PARTS = 9
"""Most amounts whose sums are all tried."""


_OWN_DIGITS = 5
"""Fewest digits of an id that tell it from others."""
_PHONE_DIGITS = 7
DIGIT_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DIGITS = {name: str(digit) for digit, name in enumerate(DIGIT_NAMES)} | {"oh": "0"}


def compact(text: str) -> str:
    """Return the letters and digits of a text in lower case."""
    return re.sub(r"[^0-9a-z]", "", text.casefold())


def objects_of(value: JsonValue, key: str = "", depth: int = 0) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    """Yield all objects in a result with the key that each stands under, as deep as one is read."""
    if isinstance(value, dict):
        yield key, value
    if depth <= MAX_DEPTH and isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else ((key, each) for each in value):
            yield from objects_of(each, name, depth + 1)


def fields_of(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield name and value of the fields of all objects in a result, as deep as one is read."""
    for _, each in objects_of(value):
        yield from each.items()


def is_id(word: str) -> bool:
    """Return whether a word that `ID` matches looks like an id: three digits or more, or a code in
    capitals."""
    plain = compact(word)
    if word.startswith("#"):
        return len(plain) >= 5
    if plain.isdigit():
        return len(plain) >= 6
    if PATTERNS.unit.fullmatch(word):
        return False
    return len(plain) >= 5 and (sum(map(str.isdigit, plain)) >= 3 or word.isupper())


def ids(text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """Yield the ids in a stretch of a text, without `counts` and numbers that the house publishes."""
    matches = ID.finditer(text, start, len(text) if end is None else end)
    return (
        match
        for match in matches
        if is_id(match.group())
        and not _is_count(match)
        and not PATTERNS.published.search(text, max(start, match.start() - 60), match.start())
    )


def _is_count(match: re.Match[str]) -> bool:
    return match.group().isdigit() and PATTERNS.counted.match(match.string, match.end()) is not None


def cents(match: re.Match[str]) -> int:
    """Return the amount that `AMOUNT` matched."""
    return round(float((match["after"] or match["before"]).replace(",", "")) * 100)


def times(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Start, end and minutes since midnight of each time of day in a stretch of a text."""
    for match in PATTERNS.time.finditer(text, start, len(text) if end is None else end):
        hour, minute = int(match["hour"] or match["full_hour"]), int(match["minute"] or 0)
        half = (match["half"] or match["its_half"] or "").casefold()[:1]
        if hour > 24 or minute > 59:
            continue
        if half and hour <= 12:
            hour = hour % 12 + (12 if half == "p" else 0)
        yield match.start(), match.end(), hour % 24 * 60 + minute


@dataclass
class Record:
    """The amounts in cents and the times in minutes that results give for one thing."""

    amounts: set[int] = field(default_factory=set)
    times: set[int] = field(default_factory=set)
    most_times: int = 0
    """Times of one object, at most."""

    def add(self, value: dict[str, JsonValue]) -> None:
        """Take up an object's own fields, and those of an object of prices in it."""
        minutes = set[int]()
        for name, each in value.items():
            if isinstance(each, str):
                if _MAY_BE_TIME.search(each) is not None:
                    minutes.update(minute for _, _, minute in times(each))
            elif PATTERNS.money_word.search(name):
                numbers = each.values() if isinstance(each, dict) else [each]
                self.amounts.update(
                    round(number * 100) for number in numbers if isinstance(number, int | float)
                )
        self.times |= minutes
        self.most_times = max(self.most_times, len(minutes))


class StatedIds:
    """Which of some ids have been stated in the texts added so far, alone or in a part of a longer one; or
    their digits, where their other signs are a prefix or the code of a country."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._forms = {word: (compact(word), *_digit_forms(word)) for word in ids}
        self._search = WordSearch(form for forms in self._forms.values() for form in forms)

    def add(self, text: str) -> None:
        """Take up a text, and what it spells out."""
        if self._forms:
            self._search.add(compact(text))
            if PATTERNS.spelt.search(text) is not None:
                self._search.add(
                    compact(PATTERNS.spelt.sub(lambda match: _DIGITS.get(match[0].casefold(), ""), text))
                )

    def has_whole(self, word: str) -> bool:
        """Return whether the letters and digits of an id stand in a text."""
        return compact(word) in self._search

    def __contains__(self, word: str) -> bool:
        return any(form in self._search for form in self._forms[word])


def _digit_forms(word: str) -> Iterator[str]:
    """Yield the digits of an id that stand for it: its longest run, or the end of a number of telephone."""
    plain = compact(word)
    run = max(re.findall(r"\d++", plain), key=len, default="")
    if len(run) >= _OWN_DIGITS:
        ends = (run[n:] for n in range(1, 4) if len(run) - n >= _PHONE_DIGITS)
        yield from ends if plain.isdigit() else (run,)


@dataclass
class ValueIndex:
    """What texts and results have stated so far."""

    amounts: set[int] = field(default_factory=set)
    """Every number of a text, as an amount."""
    records: dict[str, Record] = field(default_factory=dict)
    """What the results say of each thing, by its compact id."""

    def add(self, text: str) -> None:
        """Take up a text."""
        for match in _NUMBER.finditer(text):
            number = float(match[0].replace(",", ""))
            self.amounts |= {round(number * 100), *([round(number)] if number >= 100 else [])}  # or cents

    def add_result(self, use: ToolUse) -> None:
        """Take up the objects of a result."""
        for key, value in objects_of(use.value):
            own = next(
                (
                    each
                    for name, each in value.items()
                    if isinstance(each, str) and (name == "id" or name.endswith(_KEY_ENDS))
                ),
                None,
            )
            for identifier in {each for each in (own, key) if each}:
                self.records.setdefault(compact(identifier), Record()).add(value)


@dataclass(frozen=True)
class StatedAmounts:
    """The amounts that one turn states."""

    amounts: Sequence[int]

    @cached_property
    def _parts(self) -> list[int]:
        return sorted(set(self.amounts))

    @cached_property
    def _totals(self) -> tuple[int, int]:
        return sum(self._parts), sum(self.amounts)

    def lead_to(self, amount: int) -> bool:
        """Return whether the other amounts, added and subtracted, come to this one or to a part of it."""
        parts = [part for part in self._parts[: MAX_PARTS + 1] if part != amount][:MAX_PARTS]
        own = amount if amount in self._distinct else 0
        sums = {self._totals[0] - own, self._totals[1] - amount}
        quotients = [amount // n for n in range(1, 7) if amount % n == 0]
        return any(each in sums or each in _signed_sums(tuple(parts)) for each in quotients)

    @cached_property
    def _distinct(self) -> frozenset[int]:
        return frozenset(self.amounts)


@lru_cache(maxsize=64)
def _signed_sums(parts: tuple[int, ...]) -> frozenset[int]:
    """Return the sums of any of the parts, each added or subtracted."""
    sums = {0}
    for part in parts:
        sums |= {total + part for total in sums} | {total - part for total in sums}
    return frozenset(sums)
