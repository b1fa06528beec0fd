"""What an agent has stated: times, prices, numbers, by patterns; and how each turns out wrong.

`otherwise` makes a value of the same form that is not the same: the only thing that differs between
a contradiction and a faithful repetition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from dialint.labeling.inject.wordings.patterns import STATED

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

_COMPILED = {
    kind: re.compile(pattern, 0 if kind == "reference" else re.IGNORECASE) for kind, pattern in STATED.items()
}


@dataclass(frozen=True)
class Stated:
    """A value of an attribute (`kind`), as the agent wrote it."""

    kind: str
    value: str


def stated_in(text: str) -> list[Stated]:
    """Every attribute that the text gives exactly one value of."""
    found = []
    for kind, pattern in _COMPILED.items():
        values = {match["value"] for match in pattern.finditer(text)}
        if len(values) == 1:
            found.append(Stated(kind, values.pop()))
    return found


def speaks_of(kind: str, text: str) -> bool:
    """Whether the text gives any value of this attribute."""
    return bool(_COMPILED[kind].search(text))


def otherwise(value: str, rng: Random) -> str | None:
    """Another value of the same form, or None if the form is not known."""
    if clock := re.fullmatch(r"(\d{1,2}):(\d{2})(.*)", value):
        return _other_time(clock, rng)
    if value.capitalize() in _DAYS:
        return _cased(rng.choice([day for day in _DAYS if day != value.capitalize()]), value)
    if value.lower() in _WORDS:
        return _cased(rng.choice([word for word in _WORDS if word != value.lower()]), value)
    digits = re.findall(r"\d", value)
    if len(digits) >= 7 or re.fullmatch(r"[A-Z0-9]{6,}|cb[\d, ]+[a-z]{2}", value, re.IGNORECASE):
        return _other_code(value, rng)
    if number := re.search(r"\d+(?:[.,]\d+)?", value):
        return value[: number.start()] + _other_number(number[0], rng) + value[number.end() :]
    return None


def _cased(new: str, like: str) -> str:
    return new.lower() if like.islower() else new


def _other_time(clock: re.Match[str], rng: Random) -> str:
    shift = rng.choice((-120, -90, -60, -45, -30, -20, 15, 20, 30, 40, 60, 75, 90, 120))
    half_day = bool(clock[3].strip())
    span = 12 * 60 if half_day else 24 * 60
    minutes = (int(clock[1]) * 60 + int(clock[2]) + shift) % span
    hours = minutes // 60 or (12 if half_day else 0)
    wide = len(clock[1]) == 2
    return f"{hours:02d}:{minutes % 60:02d}{clock[3]}" if wide else f"{hours}:{minutes % 60:02d}{clock[3]}"


def _other_code(value: str, rng: Random) -> str:
    places = [i for i, char in enumerate(value) if char.isalnum()][2:]
    chars = list(value)
    for place in rng.sample(places, min(len(places), rng.choice((1, 2, 3)))):
        old = chars[place]
        kind = "0123456789" if old.isdigit() else "ABCDEFGHJKLMNPRSTUVWXYZ"
        new = rng.choice([char for char in kind if char != old.upper()])
        chars[place] = new if old.isupper() or old.isdigit() else new.lower()
    return "".join(chars)


def _other_number(number: str, rng: Random) -> str:
    if split := re.fullmatch(r"\A(\d++)([.,])(\d{1,2})", number):
        places, amount = len(split[3]), float(f"{split[1]}.{split[3]}")
        other = amount * rng.choice((0.5, 0.8, 0.9, 1.1, 1.25, 1.5, 2)) + rng.choice((0, 1, 2))
        made = f"{other:.{places}f}".replace(".", split[2])
        return made if made != number else f"{amount + 3:.{places}f}".replace(".", split[2])
    value = int(re.sub(r"\D", "", number))
    if len(number) == 1:
        return str(rng.choice([digit for digit in range(1, 10) if digit != value]))
    steps = [step for step in (-20, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10, 15, 20) if value + step > 0 and step]
    made_value = value + rng.choice(steps) * (1 if value < 200 else 5)
    return f"{made_value:,}" if "," in number else str(made_value)


_UNITS = {"hour": 60, "hours": 60, "week": 7, "weeks": 7, "month": 30, "months": 30}
_NUMBERS = {word: number for number, word in enumerate(_WORDS, 2)} | {
    "a": 1, "an": 1, "one": 1, "eleven": 11, "twelve": 12,
}  # fmt: skip
_SMALL = frozenset(
    {"a", "an", "of", "the", "one", "on", "in", "at", "next", "business", "working", "mr", "ms", "dr"}
)


def same_value(one: str, other: str) -> bool:
    """Whether two values may mean the same, however they are written: "nine weeks" and "63 days", "2:15 pm"
    and "14:15", "Mr Miller" and "Dr Miller". Errs towards yes."""
    a, b = _meaning(one), _meaning(other)
    return a <= b or b <= a


def _meaning(value: str) -> set[str]:
    """What a value comes down to: its amount if it is one, else its words."""
    text = value.lower().replace("half an hour", "30 minutes").strip(" .,")
    if text == "noon":
        return {"0 h"}
    clock = re.fullmatch(r"(?:at )?(\d{1,2})(?::(\d\d))? ?(am|pm)?", text)
    if clock and (clock[2] or clock[3]):
        return {f"{int(clock[1]) % 12 * 60 + int(clock[2] or 0)} h"}
    if amount := re.fullmatch(
        r"[$£€]?(\d++(?:[.,]\d++)?|[a-z]++)(?: ?%|(?: [a-z]++){0,2}+ ?([a-z]++)?)?", text
    ):
        number, unit = amount[1], text.split()[-1]
        if number[0].isdigit():
            return {f"{float(number.replace(',', '.')) * _UNITS.get(unit, 1):g}"}
        if number in _NUMBERS and (unit in _UNITS or number not in ("a", "an")):
            return {f"{_NUMBERS[number] * _UNITS.get(unit, 1):g}"}
    return {word for word in re.findall(r"[a-z0-9]+", text) if word not in _SMALL} or {text}
