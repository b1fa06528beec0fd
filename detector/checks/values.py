"""Ids, amounts, dates and times in text, and what is known of them before an agent speaks.

Amounts count in cents. An amount follows from known ones if it is one of them, rounded, a sum, a difference,
a multiple or a usual share: agents do sums, and a sum that might have been done is no error here.
"""

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
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_MONTH = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTH_NAMES) + r"|sept)\.?"
DATE = re.compile(
    r"\b(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?!\d)"
    rf"|\b(?P<name>{_MONTH})\s(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s(?P<year_after>(?:19|20)\d\d))?"
    rf"|\b(?P<day_before>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<name_after>{_MONTH})"
    r"(?:,?\s(?P<year_last>(?:19|20)\d\d))?"
    r"|\b(?P<first>\d{1,2})/(?P<second>\d{1,2})(?:/(?P<year_slash>\d{4}|\d\d))?\b",
    re.IGNORECASE,
)
_MAY_BE_TIME = re.compile(r"\d(?::\d|\s?[ap]\.?m)", re.IGNORECASE)
SHARES_PERCENT = (5, 10, 15, 20, 25, 30, 50, 75)
_KEY_ENDS = ("_id", "number", "code", "Id", "ID")
"""Ends of the names of fields that hold the id of their object."""
_MONEY = ("price", "amount", "balance", "cost", "total", "fee", "fare")
MAX_TOTALS = 600
MAX_DEPTH = 32
"""Objects of a result that are nested deeper are not read."""
MAX_AMOUNTS = 400
"""With more amounts nearly any other follows from two of them, and trying takes long."""
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


def counts(text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """Yield the numbers of six digits or more, without commas, that count something: points, miles, a
    currency."""
    matches = ID.finditer(text, start, len(text) if end is None else end)
    return (match for match in matches if _is_count(match))


def _is_count(match: re.Match[str]) -> bool:
    return match.group().isdigit() and PATTERNS.counted.match(match.string, match.end()) is not None


def cents(match: re.Match[str]) -> int:
    """Return the amount that `AMOUNT` matched."""
    return round(float((match["after"] or match["before"]).replace(",", "")) * 100)


def parse_day(match: re.Match[str]) -> tuple[int, int, int] | None:
    """Year (0 if none is written), month and day that `DATE` matched; None if there is no such day."""
    if match["month"]:
        year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    elif match["first"]:
        year, month, day = int(match["year_slash"] or 0), int(match["first"]), int(match["second"])
        year += 2000 if 0 < year < 100 else 0
    else:
        name = (match["name"] or match["name_after"])[:3].casefold()
        month = next(number for number, each in enumerate(_MONTH_NAMES, 1) if each.startswith(name))
        day = int(match["day_after"] or match["day_before"])
        year = int(match["year_after"] or match["year_last"] or 0)
    return (year, month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


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


_AMOUNT_TEXT = re.compile(r"(?:[€$£]\s?)?(-?\d{1,7}\.\d{2})(?:\s?(?:€|[A-Z]{3}))?")


def as_number(value: JsonValue) -> float | None:
    """Return a number, or an amount with two digits after the point that is written as a text."""
    if isinstance(value, str):
        match = _AMOUNT_TEXT.fullmatch(value)
        return None if match is None else float(match[1])
    return value if isinstance(value, int | float) else None


@dataclass
class PairSums:
    """Sums and differences of any two of a set of numbers that grows."""

    sums_of_two: set[int] = field(default_factory=set)
    differences: set[int] = field(default_factory=set)
    _numbers: set[int] = field(default_factory=set)

    def extend(self, numbers: set[int]) -> None:
        """Take up those of the numbers that are new."""
        for number in numbers - self._numbers if len(numbers) > len(self._numbers) else ():
            self.sums_of_two.update([number + other for other in self._numbers])
            self.differences.update([abs(number - other) for other in self._numbers])
            self._numbers.add(number)

    def make(self, total: int) -> bool:
        """Return whether a number is one of them, twice one, or the sum or the difference of two."""
        numbers = self._numbers
        return (
            total in numbers
            or total in self.sums_of_two
            or total in self.differences
            or (total % 2 == 0 and total // 2 in numbers)
            or (total == 0 and bool(numbers))
        )


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
    """The values that customers, systems, tools and the documents of the dialogue have stated so far."""

    amounts: set[int] = field(default_factory=set)
    """Every number, as an amount."""
    money: set[int] = field(default_factory=set)
    """Those that are amounts by their sign or the name of their field, and results that are a number."""
    rates: set[float] = field(default_factory=set)
    """The percentages that texts and results give, and what they leave and come to."""
    derived: set[int] = field(default_factory=set)
    """The amounts that the agent has told."""
    later: set[int] = field(default_factory=set)
    """The amounts of all results, also later ones."""
    totals: set[int] = field(default_factory=set)
    """Sums of amounts in lists of results, and their differences."""
    sums: set[int] = field(default_factory=set)
    """Sums of all amounts of a list."""
    prices: dict[str, int] = field(default_factory=dict)
    """The amount of each thing with an id."""
    records: dict[str, Record] = field(default_factory=dict)
    """What the results say of each thing, by its compact id."""
    _pairs: PairSums = field(default_factory=PairSums)
    _pairs_of_sums: PairSums = field(default_factory=PairSums)

    def add(self, text: str) -> None:
        """Take up a text."""
        for match in _NUMBER.finditer(text):
            number = float(match[0].replace(",", ""))
            self.amounts |= {round(number * 100), *([round(number)] if number >= 100 else [])}  # or cents
        self.money.update(cents(match) for match in AMOUNT.finditer(text))
        for match in PATTERNS.percent.finditer(text):
            self._add_rate(float(match[1]))

    def add_result(self, use: ToolUse) -> None:
        """Take up the structure of a call and its result."""
        self._walk(use.value, None)
        if not isinstance(use.value, list | dict):
            numbers = _NUMBER.findall(use.result or "")
            self.money.update(round(float(number.replace(",", "")) * 100) for number in numbers)
        for value in use.call.arguments.values():
            if isinstance(value, list):
                amounts = [
                    self.prices[item] for item in value if isinstance(item, str) and item in self.prices
                ]
                self._add_total(amounts)

    def explains(self, amount: int, stated: StatedAmounts) -> bool:
        """Return whether an amount follows from what is known and from the amounts `stated` in the same
        turn."""
        pool, totals = self.amounts, self.totals
        is_too_much = max(map(len, (pool, self.sums, self.derived))) > MAX_AMOUNTS
        if is_too_much or amount in pool or amount in totals:
            return True
        near = range(amount - 99, amount + 100)
        if amount % 100 == 0 and not (pool.isdisjoint(near) and totals.isdisjoint(near)):
            return True
        if amount % 1000 == 0 and (amount <= 50_000 or any(abs(amount - other) < 10_000 for other in pool)):
            return True
        self._pairs.extend(self.money)
        parts = [amount // n for n in range(1, 10) if amount % n == 0]
        if any(self._pairs.make(part) or part in self.derived for part in parts):
            return True
        if any(amount * n in self.later for n in range(1, 10)):
            return True
        if any(amount + other in totals or amount - other in totals for other in self.money):
            return True
        shares = self.rates.union(SHARES_PERCENT)
        bases = self.money.union(self.sums, self.derived, stated.amounts[:MAX_PARTS])
        if any(abs(100 * amount - other * percent) < 100 for other in bases for percent in shares):
            return True
        self._pairs_of_sums.extend(self.sums)
        rests = self._pairs_of_sums.sums_of_two
        return any(amount - other in rests for other in self.money | {0}) or stated.lead_to(amount)

    def _add_rate(self, percent: float) -> None:
        self.rates |= {percent, 100 + percent, 100 - percent}

    def _walk(self, value: JsonValue, key: str | None, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            return
        if isinstance(value, list):
            for each in value:
                self._walk(each, None, depth + 1)
            self._add_totals([each for each in value if isinstance(each, dict)])
        elif isinstance(value, dict):
            own = next(
                (
                    each
                    for name, each in value.items()
                    if isinstance(each, str) and (name == "id" or name.endswith(_KEY_ENDS))
                ),
                None,
            )
            price = next((each for name in _MONEY if (each := as_number(value.get(name))) is not None), None)
            for identifier in {each for each in (own, key) if each is not None}:
                if price is not None:
                    self.prices[identifier] = round(price * 100)
                self.records.setdefault(compact(identifier), Record()).add(value)
            for name, each in value.items():
                if PATTERNS.money_word.search(name):
                    numbers = map(as_number, each.values() if isinstance(each, dict) else [each])
                    self.money.update(abs(round(number * 100)) for number in numbers if number is not None)
                if PATTERNS.rate_word.search(name):
                    for rate in each.values() if isinstance(each, dict) else [each]:
                        if isinstance(rate, int | float):
                            self._add_rate(rate * 100 if abs(rate) < 1 else rate)
                self._walk(each, name, depth + 1)
            self._add_totals([each for each in value.values() if isinstance(each, dict)])

    def _add_totals(self, objects: Sequence[dict[str, JsonValue]]) -> None:
        for name in _MONEY:
            values = [as_number(each.get(name)) for each in objects]
            self._add_total([round(each * 100) for each in values if each is not None])

    def _add_total(self, amounts: Sequence[int]) -> None:
        if len(amounts) < 2:
            return
        sums = {sum(amounts)} | (_sums(amounts) if len(amounts) <= MAX_PARTS else set())
        if len(self.totals) < MAX_TOTALS:
            self.totals |= {abs(one - other) for one in sums for other in self.totals}
        self.totals |= sums
        self.sums.add(sum(amounts))


def _sums(amounts: Sequence[int]) -> set[int]:
    """Return the sums of any of the amounts."""
    sums = {0}
    for amount in amounts:
        sums |= {amount + other for other in sums}
    return sums - {0}


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
