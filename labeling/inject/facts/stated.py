"""What an agent has stated: times, prices, numbers, by patterns; and how each turns out wrong.

`otherwise` makes a value of the same form that is not the same: the only thing that differs between
a contradiction and a faithful repetition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from labeling.inject.wordings.patterns import STATED

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
    if "." in number and len(number.split(".")[1]) <= 2:
        places = len(number.split(".")[1])
        value = float(number)
        made = f"{value * rng.choice((0.5, 0.8, 0.9, 1.1, 1.25, 1.5, 2)) + rng.choice((0, 1, 2)):.{places}f}"
        return made if made != number else f"{value + 3:.{places}f}"
    value = int(re.sub(r"\D", "", number))
    if len(number) == 1:
        return str(rng.choice([digit for digit in range(1, 10) if digit != value]))
    steps = [step for step in (-20, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10, 15, 20) if value + step > 0 and step]
    return str(value + rng.choice(steps) * (1 if value < 200 else 5))
