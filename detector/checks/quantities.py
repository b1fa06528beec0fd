"""Days, times, amounts, spans and counts in text of English, German, Spanish, French and Russian, and in
JSON.

A text is read without accents, in lower case, with numbers in words as digits. Amounts and percentages
are in hundredths, times in minutes since midnight, spans in minutes or months; a day is ``100 * month +
day``.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from pydantic import JsonValue

from dialint.detector.checks.values import name_words, objects_of
from dialint.detector.checks.words import fold, patterns, read_words
from dialint.detector.records import Dialogue
from dialint.detector.tool_use import parse_result, per_dialogue

MONTHS: dict[str, int] = {
    fold(name): n for n, names in enumerate(read_words("months"), 1) for name in names.split()
}
WEEKDAYS: dict[str, int] = {
    name: n for n, names in enumerate(read_words("weekday_names")) for name in names.split()
}
NUMBER_WORDS: dict[str, int] = {
    word: int(n) for n, words in read_words("number_words").items() for word in words.split()
}
_ORDINALS: dict[str, int] = {word: int(n) for word, n in read_words("ordinal_words").items()}
PATTERNS = patterns(
    "quantities",
    month=rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b",
    weekday=rf"(?:{'|'.join(WEEKDAYS)})",
    spoken=rf"(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})",
    ordinal=rf"(?:{'|'.join(_ORDINALS)})",
)
MONEY_NAME = PATTERNS.money_name
"""Names of fields that hold an amount."""
ISO = PATTERNS.iso
"""Days in figures, the year first."""
_BLANK = re.compile(r"\s")
_DECIMALS = re.compile(r"[.,](?=\d{1,2}\Z)")
_TIME = re.compile(r"\d\d:\d\d")
_UTC = re.compile(r"T\d\d:\d\d[\d:.,]*+Z\Z")
_EPOCH = 10**9
MAX_TEXT = 400
"""Characters of a result's field that are read."""
STEM = 5
MAX_NUMBERS = 200
"""Numbers of a dialogue beyond which nearly any follows from them."""
MAX_MONEY = 40
"""Amounts likewise."""

Kind = str
"""``day``, ``day of month``, ``month``, ``weekday``, ``time``, ``clock`` (a time in either half of the day),
``hour`` (a number that may be one), ``money``, ``percent``, ``minutes``, ``days`` (in minutes), ``months``,
``number``, ``count of STEM``, or ``number of WORD`` ("gate 4")."""
Quantities = Mapping[Kind, frozenset[int]]


@dataclass(frozen=True)
class Field:
    """A quantity of a JSON value: its kind, its value, and the stems of its name and of its object's."""

    kind: Kind
    value: int
    stems: frozenset[str] = frozenset()


def hundredths(figure: str) -> int:
    """Return a figure, with the marks of any language, in hundredths."""
    whole, *rest = _DECIMALS.split(_BLANK.sub("", figure))
    return int(re.sub(r"[.,]", "", whole)) * 100 + int((rest or ["0"])[0].ljust(2, "0"))


def plain(text: str) -> str:
    """Return a text in lower case, without accents, with numbers and times in words as digits."""
    return PATTERNS.spoken_number.sub(_digits, PATTERNS.spoken_time.sub(_clock, fold(text)))


def _digits(match: re.Match[str]) -> str:
    total = current = 0
    for word in re.findall(r"[^\W_]++", match["words"] or ""):
        if word in ("hundred", "thousand"):
            current = max(current, 1) * (100 if word == "hundred" else 1000)
            total, current = (total + current, 0) if word == "thousand" else (total, current)
        else:
            current += _number(word)
    last = match["ordinal"] or match["alone"]
    return f"{total + current + _ORDINALS[last]}th" if last else str(total + current)


def _clock(match: re.Match[str]) -> str:
    hour = _number(match["sharp"] or match["hour"])
    if not hour or hour > 12:
        return match[0]
    if match["sharp"]:
        return f"{hour}:00"
    minutes = {"half": 30, "quarter": 15, "twenty-five": 25}.get(match["minutes"]) or _number(
        match["minutes"]
    )
    of_day = hour * 60 + (minutes if match["side"] == "past" else -minutes)
    return f"{of_day // 60 or 12}:{of_day % 60:02}"


def _number(word: str) -> int:
    return int(word) if word.isdigit() else NUMBER_WORDS.get(word, int(word == "one"))


@lru_cache(2048)
def quantities(text: str) -> Quantities:
    """Return the quantities of a text, by kind."""
    by_kind: dict[Kind, set[int]] = {}
    for kind, value, _ in _read(plain(text)):
        by_kind.setdefault(kind, set()).add(value)
    return {kind: frozenset(values) for kind, values in by_kind.items()}


def find_quantities(text: str) -> Iterator[tuple[Kind, int, tuple[int, int]]]:
    """Yield kind, value and place of the quantities of a text, but those in words."""
    lower = text.lower()
    return _read(lower if len(lower) == len(text) else text)


def _read(text: str) -> Iterator[tuple[Kind, int, tuple[int, int]]]:
    for match in PATTERNS.weekday_name.finditer(text):
        yield "weekday", WEEKDAYS[match["name"]], match.span()
    rest = PATTERNS.iso.sub(lambda match: " " * len(match[0]), text)
    for match in (*PATTERNS.iso.finditer(text), *PATTERNS.day.finditer(rest)):
        yield from (("day", day, match.span()) for day in _days(match))
    for match in PATTERNS.month_alone.finditer(rest):
        yield "month", MONTHS[match["name"]], match.span()
    for match in PATTERNS.day_of_month.finditer(rest):
        if 1 <= (day := int(match["n"])) <= 31:
            yield "day of month", day, match.span()
    for match in PATTERNS.time.finditer(text):
        hour, minute = int(match["hour"] or match["whole"] or match["sharp"]), int(match["minute"] or 0)
        half = match["half"] or match["its_half"]
        is_exact = (
            half
            or match["seconds"]
            or match[0].startswith("0")
            or text[match.start() - 1 : match.start()] == "t"
        )
        is_open = hour <= 12 and not is_exact
        hour = hour % 12 + (12 if half in "pP" else 0) if half and hour <= 12 else hour
        if hour <= 24 and minute < 60:
            yield "clock" if is_open else "time", hour % 24 * 60 + minute, match.span()
    for match in PATTERNS.hour.finditer(rest):
        yield "hour", int(match["n"] or match["alone"]) % 24 * 60, match.span()
    for match in PATTERNS.money.finditer(rest):
        yield "money", hundredths(match["after"] or match["before"]), match.span()
    for match in PATTERNS.percent.finditer(rest):
        yield "percent", hundredths(match["n"]), match.span()
    for match in PATTERNS.span.finditer(rest):
        for n in filter(None, (match["n"], match["to"])):
            yield *span(match["unit"], _number(n)), match.span()
    for match in PATTERNS.count.finditer(rest):
        for word in filter(None, (match["word"], match["next"])):
            yield count_of(word), int(match["n"]) if match["n"].isdigit() else 1, match.span()
    for match in PATTERNS.thing.finditer(rest):
        if match["word"] not in MONTHS and match["word"] not in WEEKDAYS:
            yield f"number of {match['word']}", int(match["n"]), match.span()
    for match in PATTERNS.number.finditer(rest):
        yield "number", hundredths(match[0]), match.span()


def _days(match: re.Match[str]) -> Iterator[int]:
    groups = match.groupdict()
    if groups.get("first"):
        pairs = [(int(match["first"]), int(match["second"])), (int(match["second"]), int(match["first"]))]
    elif groups.get("iso_month"):
        pairs = [(int(match["iso_month"]), int(match["iso_day"]))]
    else:
        month = MONTHS[match["name"] or match["name_before"]]
        pairs = [(month, int(n)) for n in (match["n"], match["also"], match["n_after"]) if n]
    yield from (100 * month + day for month, day in pairs if 1 <= month <= 12 and 1 <= day <= 31)


def span(unit: str, n: int) -> tuple[Kind, int]:
    """Return kind and value of `n` of a unit of time."""
    match = PATTERNS.unit.match(unit)
    name = match.lastgroup if match is not None else None
    if name in ("month", "year"):
        return "months", n * (12 if name == "year" else 1)
    minutes = n * _MINUTES[name or "minute"]
    return "minutes" if minutes % _MINUTES["day"] else "days", minutes


_MINUTES = {"minute": 1, "hour": 60, "day": 1440, "week": 10080}


def count_of(word: str) -> Kind:
    """Return the kind of the counts of a word's things."""
    return f"count of {_KINDS.get(word, word.removesuffix('s'))[:STEM]}"


def same_time(kind: Kind, minute: int, times: Mapping[Kind, Collection[int]]) -> bool:
    """Return whether a time is one of `times`, modulo 12 hours if the half of the day is open in either."""
    turn = 1440 if kind == "time" else 720
    return any((each - minute) % turn == 0 for each in times.get("time", ())) or any(
        (each - minute) % 720 == 0 for name in ("clock", "hour") for each in times.get(name, ())
    )


def show(kind: Kind, value: int) -> str:
    """Return a quantity as reasons give it."""
    if kind == "day":
        return f"{value // 100:02}-{value % 100:02}"
    if kind in ("time", "clock"):
        return f"{value // 60}:{value % 60:02}"
    if kind in ("minutes", "days"):
        unit = next(name for name in reversed(_MINUTES) if value % _MINUTES[name] == 0)
        return f"{value // _MINUTES[unit]} {unit}s"
    if kind == "months":
        return f"{value} months"
    figure = value if " of " in kind else value / 100
    return f"{figure:g} %" if kind == "percent" else f"{figure:g}"


_KINDS: dict[str, str] = {
    word: kind for kind, words in read_words("counted_words").items() for word in words.split()
}


def fields(value: JsonValue) -> Iterator[Field]:
    """Yield the quantities of the fields of a JSON value, those of lists each; a value that is no object has
    no name."""
    objects = [*objects_of(value)] or [("", {"": value})]
    for key, each in objects:
        for name, field in each.items():
            stems, unit = _read_name(key, name)
            for one in field if isinstance(field, list) else (field,):
                yield from (Field(kind, n, stems) for kind, n in _quantities_of(unit, one))


@per_dialogue
def result_fields(dialogue: Dialogue) -> Mapping[int, Sequence[Field]]:
    """Return the quantities of the results of tools, by the index of their turn."""
    tools = (turn for turn in dialogue.turns if turn.role == "tool")
    return {turn.index: list(fields(parse_result(turn.text))) for turn in tools}


@lru_cache(1024)
def _read_name(key: str, name: str) -> tuple[frozenset[str], str | tuple[str, ...]]:
    """Return the stems of the names of an object and a field of it, and what a number there is in: ``cents``,
    ``money``, ``percent``, or a unit of time; else the words for what it counts."""
    words = [fold(word) for word in (*name_words(key), *name_words(name))]
    stems, joined = frozenset(word[:STEM] for word in words) - _GENERIC, "_".join(words)
    for unit, pattern in (
        ("cents", PATTERNS.cents_name), ("money", MONEY_NAME), ("percent", PATTERNS.percent_name),
    ):  # fmt: skip
        if pattern.search(joined):
            return stems, unit
    if (match := PATTERNS.span_name.search(joined)) is not None:
        return stems, str(match["unit"])
    is_id = PATTERNS.id_name.search(joined) is not None
    return stems, () if is_id else tuple(word for word in words[-2:] if len(word) > 2)


def _quantities_of(unit: str | tuple[str, ...], value: JsonValue) -> Iterator[tuple[Kind, int]]:
    if isinstance(value, str) and (figure := PATTERNS.figure_text.fullmatch(value.strip())) is not None:
        amount = hundredths(figure["n"])
        if figure["before"] or figure["after"] or "." in figure["n"] or "," in figure["n"]:
            yield "money", amount
            return
        if len(figure["n"]) > 6 or figure["n"].startswith("0"):
            return
    elif isinstance(value, str) and _UTC.search(value):  # in another time zone
        return
    elif isinstance(value, str):
        is_exact = _TIME.fullmatch(value) is not None
        for kind, numbers in quantities(value[:MAX_TEXT]).items():
            yield from (("time" if is_exact and kind == "clock" else kind, n) for n in numbers)
        return
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _EPOCH:
        amount = round(abs(value) * 100)
    else:
        return
    yield "number", amount
    if unit in ("cents", "money", "percent"):
        yield ("money", amount // 100) if unit == "cents" else (str(unit), amount)
    elif amount % 100 == 0 and isinstance(unit, str):
        yield span(unit, amount // 100)
    elif amount % 100 == 0:
        yield from ((count_of(word), amount // 100) for word in unit)


_GENERIC = {word[:STEM] for word in read_words("generic_fields")}


def by_kind(fields: Iterable[Field]) -> dict[Kind, set[int]]:
    """Return the values of fields by their kinds."""
    kinds = dict[Kind, set[int]]()
    for field in fields:
        kinds.setdefault(field.kind, set()).add(field.value)
    return kinds


def is_stated(field: Field, message: Mapping[Kind, Collection[int]]) -> bool:
    """Return whether the quantities of a message have one of a result, in any form."""
    kind, value = field.kind, field.value
    numbers = message.get("number", ())
    if kind == "day":
        return value in message.get(kind, ()) or value % 100 * 100 in numbers
    if kind in ("time", "clock"):
        hours = {value // 60 * 100, value // 60 % 12 * 100} if value % 60 == 0 else set[int]()
        return same_time(kind, value, message) or not hours.isdisjoint(numbers)
    if kind in ("minutes", "days", "months"):
        return value in message.get(kind, ())
    if value % 100 == 0 and value // 100 in message.get(kind, ()):  # in cents
        return True
    return value in message.get(kind, ()) or value * (100 if kind.startswith("count") else 1) in numbers


def is_made_of(value: int, figures: Collection[int], percents: Collection[int] = ()) -> bool:
    """Return whether an amount is a multiple of a figure, beside another or not, a sum of some of them, or a
    share."""
    multiples = {n * each for each in figures for n in range(1, 32)}
    sums = {0}
    for each in figures:
        sums |= {total + each for total in sums}
    shares = [rate for percent in percents for rate in (percent, 10_000 - percent, 10_000 + percent)]
    return (
        value in multiples | sums
        or any(abs(value - each) in multiples | sums for each in figures)
        or any(value * n in figures for n in range(2, 13))
        or any(abs(each * rate - 10_000 * value) <= 10_000 for each in multiples for rate in shares)
    )


class StatedQuantities:
    """The quantities stated so far in a dialogue, and those that follow from them."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._unread = [*texts]
        self._by_kind: dict[Kind, set[int]] = {}

    def add(self, text: str) -> None:
        """Adds the quantities of a text, which is read when they are needed."""
        self._unread.append(text)

    def add_fields(self, fields: Iterable[Field]) -> None:
        """Adds the fields of a result."""
        for field in fields:
            self._by_kind.setdefault(field.kind, set()).add(field.value)

    def of(self, kind: Kind) -> set[int]:
        """Return the stated quantities of a kind."""
        unread, self._unread = self._unread, []
        for text in unread:
            for name, values in quantities(text).items():
                self._by_kind.setdefault(name, set()).update(values)
        return self._by_kind.setdefault(kind, set())

    def has_amount(self, value: int) -> bool:
        """Return whether an amount was stated, also in cents or as a number."""
        return not self.of("number").union(self.of("money")).isdisjoint({value, value * 100})

    def explains(self, kind: Kind, value: int, message: Mapping[Kind, Set[int]]) -> bool:
        """Return whether a quantity was stated, or follows from what was stated and from the other quantities
        of its `message`."""
        numbers = self.of("number")
        if value in self.of(kind) or len(numbers) > MAX_NUMBERS:
            return True
        if kind.startswith("number of"):
            return False
        if kind == "day":
            return self._has_day(value, message)
        if kind in ("time", "clock"):
            return self._has_time(kind, value, message)
        if kind in ("minutes", "days"):
            units = (1, 60) if kind == "minutes" else (1440, 10080)
            if kind == "days" and value // 1440 in self._distances():
                return True
            return any(value // n * 100 in numbers for n in units if value % n == 0)
        if kind == "months":
            return value * 100 in numbers or (value % 12 == 0 and value // 12 * 100 in numbers)
        if kind == "percent":
            return value in numbers or 10_000 - value in numbers
        return self._makes(value, message)

    def _distances(self) -> set[int]:
        """Return the numbers of days between stated ones."""
        days = {day_of_year(day) for day in self.of("day")}
        return {abs(one - other) + more for one in days for other in days for more in (0, 1)}

    def _has_day(self, value: int, message: Mapping[Kind, Set[int]]) -> bool:
        if value % 100 in self.of("day of month") or value % 100 == monthrange(2026, value // 100)[1]:
            return True
        if message.get("days"):  # from today
            return True
        if any(
            abs(day_of_year(day) - day_of_year(value)) == 1
            for day in self.of("day").intersection(message.get("day", ()))
        ):
            return True  # consecutive nights
        days = [n // 1440 for n in self.of("days")]
        spans = {n + more for n in days for more in range(-1, 2 * (n // 5) + 4)}  # of working days, too
        for other in self.of("day").union(message.get("day", ())) - {value}:
            first, day = (day_of_year(each) for each in (other, value))
            if any((first + sign * n - day) % 365 == 0 for n in spans for sign in (1, -1)):
                return True
            if other % 100 == value % 100 and (value - other) // 100 % 12 in self.of("months"):
                return True
        return False

    def _has_time(self, kind: Kind, value: int, message: Mapping[Kind, Set[int]]) -> bool:
        stated = {name: self.of(name) for name in ("time", "clock", "hour")}
        spans = {0, *self.of("minutes"), *message.get("minutes", ())}
        beside = {name: {*message.get(name, ())} - {value} for name in stated}
        return any(
            same_time(kind, (value + sign * n) % 1440, times)
            for n in spans
            for sign in (1, -1)
            for times in (stated, beside)
        )

    def _makes(self, value: int, message: Mapping[Kind, Set[int]]) -> bool:
        """Return whether an amount is a number, or a sum, a difference, a multiple or a share of amounts."""
        if value == 0 or self.has_amount(value):
            return True
        if any(abs(each - value) < 100 for each in self.of("money") if value % 100 == 0):
            return True
        money = self.of("money") | set(message.get("money", ())) - {value, 0}
        if len(money) > MAX_MONEY:
            return True
        numbers = self.of("number").union(message.get("number", ()))
        counts = {*range(2, 13), *(n // 100 for n in numbers if n % 100 == 0 and 200 <= n <= 10_000)}
        parts = money | {n for n in numbers if n >= 1000 and n != value}
        rates = self.of("percent") | set(message.get("percent", ()))
        multiples = money | {n * each for n in counts for each in money}

        def is_sum(total: int) -> bool:
            others = (other for part in parts for other in (total - part, total + part, part - total))
            return total >= 0 and (total in multiples or not multiples.isdisjoint(others))

        if is_sum(value) or any(value * n in money for n in counts):
            return True
        if any(is_sum(value - each) for each in money):
            return True
        if not rates:
            return False
        sums = multiples | {abs(each + sign * n) for each in multiples for n in parts for sign in (1, -1)}
        return any(
            abs(each * rate - 10_000 * value) <= 5_000
            for each in sums
            for percent in rates
            for rate in (percent, 10_000 - percent, 10_000 + percent)
        )


def day_of_year(day: int) -> int:
    """Return the number of a day in a year of 365."""
    return date(2026, day // 100, min(day % 100, monthrange(2026, day // 100)[1])).toordinal()
