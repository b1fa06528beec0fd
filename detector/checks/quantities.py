"""Days, times, amounts, spans and counts in text of English, German, Spanish, French and Russian, and in JSON.

A text is read without accents, in lower case, with numbers in words as digits. Amounts and percentages count in
hundredths, times in minutes since midnight, spans in minutes or months, and a day is ``100 * month + day``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pydantic import JsonValue

from dialint.detector.checks.claims import name_words
from dialint.detector.checks.values import objects_of
from dialint.detector.checks.words import fold, patterns, read_words

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
_BLANK = re.compile(r"\s")
_DECIMALS = re.compile(r"[.,](?=\d{1,2}\Z)")
_TIME = re.compile(r"\d\d:\d\d")
_UTC = re.compile(r"T\d\d:\d\d\S*Z\Z")
_EPOCH = 10**9
MAX_TEXT = 400
"""Characters of a result's field that are read."""
STEM = 5

Kind = str
"""``day``, ``day of month``, ``month``, ``weekday``, ``time``, ``clock`` (a time in either half of the day), ``hour`` (a number
that may be one), ``money``, ``percent``, ``minutes``, ``days`` (in minutes), ``months``, ``number``, ``count of STEM``, or ``number of WORD`` ("gate 4")."""
Quantities = Mapping[Kind, frozenset[int]]


@dataclass(frozen=True)
class Field:
    """A quantity of a JSON value: the stems of its name and of its object's, its kind, and its value."""

    stems: frozenset[str]
    kind: Kind
    value: int


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
            current += NUMBER_WORDS.get(word, 0)
    last = match["ordinal"] or match["alone"]
    return f"{total + current + _ORDINALS[last]}th" if last else str(total + current)


def _clock(match: re.Match[str]) -> str:
    hour = _number(match["sharp"] or match["hour"])
    if not hour or hour > 12:
        return match[0]
    if match["sharp"]:
        return f"{hour}:00"
    minutes = {"half": 30, "quarter": 15, "twenty-five": 25}.get(match["minutes"]) or _number(match["minutes"])
    of_day = hour * 60 + (minutes if match["side"] == "past" else -minutes)
    return f"{of_day // 60 or 12}:{of_day % 60:02}"


def _number(word: str) -> int:
    return int(word) if word.isdigit() else NUMBER_WORDS.get(word, int(word == "one"))


@lru_cache(256)
def quantities(text: str) -> Quantities:
    """Return the quantities of a text, by kind."""
    found: dict[Kind, set[int]] = {}
    for kind, value in _read(plain(text)):
        found.setdefault(kind, set()).add(value)
    return {kind: frozenset(values) for kind, values in found.items()}


def _read(text: str) -> Iterator[tuple[Kind, int]]:
    yield from (("weekday", WEEKDAYS[match["name"]]) for match in PATTERNS.named_weekday.finditer(text))
    rest = PATTERNS.iso.sub(" ", text)
    days = [*PATTERNS.iso.finditer(text), *PATTERNS.day.finditer(rest)]
    for match in days:
        yield from (("day", day) for day in _days(match))
    yield from (("month", MONTHS[match["name"]]) for match in PATTERNS.month_alone.finditer(rest))
    for match in PATTERNS.day_of_month.finditer(rest):
        if 1 <= (day := int(match["n"])) <= 31:
            yield "day of month", day
    for match in PATTERNS.time.finditer(text):
        hour, minute = int(match["hour"] or match["whole"] or match["sharp"]), int(match["minute"] or 0)
        half = match["half"] or match["its_half"]
        is_exact = half or match["seconds"] or match[0].startswith("0") or text[match.start() - 1 : match.start()] == "t"
        is_open = hour <= 12 and not is_exact
        hour = hour % 12 + (12 if half in "pP" else 0) if half and hour <= 12 else hour
        if hour <= 24 and minute < 60:
            yield "clock" if is_open else "time", hour % 24 * 60 + minute
    yield from (("hour", int(match["n"]) % 24 * 60) for match in PATTERNS.hour.finditer(rest))
    for match in PATTERNS.money.finditer(rest):
        yield "money", hundredths(match["after"] or match["before"])
    yield from (("percent", hundredths(match["n"])) for match in PATTERNS.percent.finditer(rest))
    for match in PATTERNS.span.finditer(rest):
        for n in filter(None, (match["n"], match["to"])):
            yield span(match["unit"], int(n))
    for match in PATTERNS.count.finditer(rest):
        for word in filter(None, (match["word"], match["next"])):
            yield count_of(word), int(match["n"]) if match["n"].isdigit() else 1
    for match in PATTERNS.thing.finditer(rest):
        if match["word"] not in MONTHS and match["word"] not in WEEKDAYS:
            yield f"number of {match['word']}", int(match["n"])
    for match in PATTERNS.number.finditer(rest):
        yield "number", hundredths(match[0])


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


def same_time(kind: Kind, minute: int, known: Mapping[Kind, Collection[int]]) -> bool:
    """Return whether a time is one of the known ones, on the dial if the half of the day is open in either."""
    turn = 1440 if kind == "time" else 720
    return any((each - minute) % turn == 0 for each in known.get("time", ())) or any(
        (each - minute) % 720 == 0 for name in ("clock", "hour") for each in known.get(name, ())
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
    """Yield the quantities of the fields of a JSON value, those of lists each; a value that is no object has no
    name."""
    objects = [*objects_of(value)] or [("", {"": value})]
    for key, each in objects:
        for name, field in each.items():
            names = (*name_words(key), *name_words(name))
            stems = frozenset(fold(word)[:STEM] for word in names) - _GENERIC
            for one in field if isinstance(field, list) else (field,):
                yield from (Field(stems, kind, n) for kind, n in _quantities_of(names, one))


def _quantities_of(names: tuple[str, ...], value: JsonValue) -> Iterator[tuple[Kind, int]]:
    name = "_".join(map(fold, names))
    if isinstance(value, str) and (figure := PATTERNS.figure_text.fullmatch(value.strip())) is not None:
        amount = hundredths(figure["n"])
        if figure["before"] or figure["after"] or "." in figure["n"] or "," in figure["n"]:
            yield "money", amount
            return
        if len(figure["n"]) > 6 or figure["n"].startswith("0"):
            return
    elif isinstance(value, str) and _UTC.search(value):  # told in another zone
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
    if PATTERNS.money_name.search(name):
        yield "money", amount
    elif PATTERNS.percent_name.search(name):
        yield "percent", amount
    elif amount % 100 == 0 and (unit := PATTERNS.span_name.search(name)) is not None:
        yield span(unit["unit"], amount // 100)
    elif amount % 100 == 0 and names and not PATTERNS.id_name.search(name):
        yield from ((count_of(word), amount // 100) for word in map(fold, names[-2:]) if len(word) > 2)


_GENERIC = {word[:STEM] for word in read_words("generic_fields")}
