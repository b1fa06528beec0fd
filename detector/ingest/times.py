"""Parses the times of logs: ISO 8601, epoch numbers, e-mail dates, and local forms such as 24.11.2025 15:17.

No single value shows whether 03/04/2026 is in March or April: `DateOrderDetector` reads a whole column, and
if that is ambiguous the user has to decide. Dates with points have the day first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal
from zoneinfo import ZoneInfo

from dialint.detector.errors import ConfigError, Message, excerpt

Order = Literal["day-first", "month-first"]
DAY_FIRST: Order = "day-first"
MONTH_FIRST: Order = "month-first"

MILLISECONDS_FROM = 1e11
"""Epoch numbers from here on are milliseconds: as seconds they would lie after the year 5000."""
CENTURY = 2000
"""Century of years of two digits."""

_EPOCH = re.compile(r"-?\d{9,14}(?:\.\d{1,9})?")
_CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,6}))?)?"
_ZONE = r"(?: ?(Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
_DATE = re.compile(
    rf"(\d{{1,4}})([./-])(\d{{1,2}})([./-])(\d{{4}}|\d{{2}})(?:(?:,? {{1,3}}|T){_CLOCK})?{_ZONE}"
)
_HALF_DAY = re.compile(r"(?<!\d)(0?[1-9]|1[0-2])(:\d{2}(?::\d{2}(?:[.,]\d{1,6})?)?) ?([AaPp])\.?[Mm]\b\.?")
_TIME_OF_DAY = re.compile(_CLOCK + _ZONE)
_MIDNIGHT = re.compile(r"(?<=\d)[T ]00?:00(?::00(?:\.0+)?)?$")
"""The clock that spreadsheets and databases write for a day without one."""
SEPARATED = re.compile(r"\s+")
SHARE = 0.9
"""Least share of a column's times that are days, or clock times, if it is one of those."""


def check_time_format(pattern: str, zone: str | None) -> None:
    """Validate the options of times.

    Raises:
        ConfigError: E_OPTION, `pattern` reads no dates, or `zone` is unknown.
    """
    if pattern not in ("auto", DAY_FIRST, MONTH_FIRST):
        day = datetime(2025, 11, 24)
        try:
            whole = "%" in pattern and datetime.strptime(day.strftime(pattern), pattern).date() == day.date()
        except ValueError:
            whole = False
        if not whole:
            raise ConfigError(
                "E_OPTION",
                "--time-format {pattern!r}: expected day-first, month-first, or a pattern of day, month and "
                "year, such as '%d.%m.%Y %H:%M'", pattern=pattern,
            )  # fmt: skip
    if zone is not None:
        try:
            ZoneInfo(zone)
        except (OSError, ValueError, KeyError):
            raise ConfigError(
                "E_OPTION", "--time-zone {zone!r}: expected a name such as Europe/Berlin", zone=zone
            ) from None


@dataclass(frozen=True)
class TimeFormat:
    """Format of the times of one log; `order` is that of day and month where neither is a name."""

    pattern: str | None = None
    order: Order = DAY_FIRST

    @classmethod
    def of(cls, pattern: str, order: Order = DAY_FIRST) -> TimeFormat:
        """The format of the options; `order` is the detected order, used if they do not set one."""
        orders: dict[str, Order] = {MONTH_FIRST: MONTH_FIRST, DAY_FIRST: DAY_FIRST}
        used = pattern if "%" in pattern else None
        return cls(used, orders.get(pattern, order))

    def parse(self, value: str) -> datetime | None:
        """Parse a time; None if `value` is not one."""
        text = SEPARATED.sub(" ", value).strip()
        if self.pattern is not None:
            with suppress(ValueError):
                return datetime.strptime(text, self.pattern)
            return None
        text = _in_24_hours(text)
        time = parse_iso(text)
        if time is None and _EPOCH.fullmatch(text):
            time = from_epoch(float(text))
        if time is None:
            time = _local(text, self.order)
        if time is None:
            with suppress(ValueError, TypeError, OverflowError, IndexError):
                time = parsedate_to_datetime(text if ":" in text else f"{text} 0:00")
        return time


def _in_24_hours(text: str) -> str:
    """A time with its hours of a.m. and p.m. as those of 24."""
    if "m" not in text and "M" not in text:
        return text
    return _HALF_DAY.sub(lambda match: f"{int(match[1]) % 12 + 12 * (match[3] in 'pP'):02}{match[2]}", text)


def parse_iso(value: str) -> datetime | None:
    """Parses an ISO 8601 time; None if it is not one."""
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def from_epoch(value: float) -> datetime | None:
    """The time of an epoch number in seconds, or in milliseconds from `MILLISECONDS_FROM` on."""
    try:
        seconds = value / 1000 if abs(value) >= MILLISECONDS_FROM else value
        if not seconds >= 0:  # not a number, too
            return None
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _local(text: str, order: Order) -> datetime | None:
    match = _DATE.fullmatch(text)
    if match is None or match[2] != match[4]:
        return None
    first, second, third = int(match[1]), int(match[3]), int(match[5])
    if len(match[1]) == 4:
        year, month, day = first, second, third
    else:
        is_day_first = match[2] == "." or order == DAY_FIRST
        day, month = (first, second) if is_day_first else (second, first)
        year = third if len(match[5]) == 4 else CENTURY + third
    hour, minute, second_of = int(match[6] or 0), int(match[7] or 0), int(match[8] or 0)
    try:
        time = datetime(year, month, day, hour, minute, second_of, int((match[9] or "").ljust(6, "0")))
    except ValueError:
        return None
    zone = match[10]
    return time if zone is None else parse_iso(time.isoformat() + ("Z" if zone.isalpha() else zone))


def lacks_year(text: str) -> bool:
    """Returns whether a text that is no time is a day without a year, a clock time, or both."""
    day, n_clocks = re.subn(_CLOCK, "", text)
    numbers = re.findall(r"\d+", day)
    return bool(n_clocks or numbers) and len(numbers) < 3 and all(len(number) < 3 for number in numbers)


def time_cell(cells: Mapping[str, object], names: str) -> object:
    """The cell of that name; or those whose names + joins, with a blank between: a day, without the midnight
    that may stand beside it, and a clock time. None if one is empty."""
    if names in cells:
        return cells[names]
    parts = [cells.get(name) for name in names.split("+")]
    is_whole = all(part is not None and part != "" for part in parts)
    return " ".join(_MIDNIGHT.sub("", str(part)) for part in parts) if is_whole else None


def time_column(columns: Mapping[str, DateOrderDetector]) -> str:
    """The first of several columns of times; joined by + if one holds days, one clock times, and no other
    either: the day first."""
    first = next(iter(columns))
    days = [name for name, times in columns.items() if times.days > SHARE * times.n]
    clocks = [name for name, times in columns.items() if times.clocks > SHARE * times.n]
    return f"{days[0]}+{clocks[0]}" if len(days) == len(clocks) == 1 and first in days + clocks else first


@dataclass
class DateOrderDetector:
    """Detects the order of day and month in the dates of a column. `example` is the first ambiguous date,
    masked. Of `n` cells, `days` have no clock, `clocks` no day, and `others` are no time."""

    day_first: int = 0
    month_first: int = 0
    either: int = 0
    example: str = ""
    n: int = 0
    days: int = 0
    clocks: int = 0
    others: int = 0

    def add(self, value: object) -> None:
        """Add one cell."""
        if value is None or value == "":
            return
        self.n += 1
        text = _in_24_hours(SEPARATED.sub(" ", str(value)).strip())
        match = _DATE.fullmatch(_MIDNIGHT.sub("", text) if "0:00" in text else text)
        if match is None:
            is_clock = _TIME_OF_DAY.fullmatch(text) is not None
            is_day = not is_clock and TimeFormat().parse(f"{text} 0:00") is not None
            self.clocks += is_clock
            self.days += is_day
            self.others += not (is_clock or is_day or _EPOCH.fullmatch(text) or TimeFormat().parse(text))
            return
        self.days += match[6] is None
        if not isinstance(value, str):
            return
        if match[2] == "." or match[2] != match[4] or len(match[1]) > 2:
            return
        first, second = int(match[1]), int(match[3])
        if first > 12 >= second:
            self.day_first += 1
        elif second > 12 >= first:
            self.month_first += 1
        elif first != second:
            self.either += 1
            self.example = self.example or excerpt(value)

    @property
    def is_ambiguous(self) -> bool:
        """True if some dates can be read in two ways and none decides."""
        return bool(self.either or self.day_first) and not self.is_decided

    @property
    def is_decided(self) -> bool:
        """True if the dates show the order."""
        return bool(self.day_first) != bool(self.month_first)

    @property
    def order(self) -> Order:
        """The order, if it is not ambiguous."""
        return MONTH_FIRST if self.month_first > self.day_first else DAY_FIRST

    def ambiguity_message(self) -> Message:
        """The error message for an ambiguous order."""
        both, neither = Message("both stand there"), Message("no day above 12 stands there")
        return Message(
            "dates such as {example} may have the day or the month first, and {why}; say which with "
            "--time-format {day_first} or --time-format {month_first}",
            example=self.example, why=both if self.day_first else neither,
            day_first=DAY_FIRST, month_first=MONTH_FIRST,
        )  # fmt: skip
