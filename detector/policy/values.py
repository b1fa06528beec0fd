"""Values of tool calls and results: paths into them, comparisons and small calculations.

`UNKNOWN` is the value of what the log does not show; a comparison with it is None, neither true nor false.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Any, Final

from dialint.detector.policy.format import Test


class _Unknown:
    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = _Unknown()

_WORD = re.compile(r"[^\W_]++")
_FIGURE = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})")
_IDENTIFIER = re.compile(r"[+-]?(?:0[0-9][0-9.]*|[0-9](?:\.?[0-9]){14,})")
"""A figure with a leading zero, or of so many digits: an id or a telephone number, not an amount."""
_SEPARATOR = re.compile(r"[ \u00a0\u202f-]")
_DIGIT_GROUPS = re.compile(r"[0-9]++(?:[ \u00a0\u202f-][0-9]++)*+")
"""Digits in groups, as telephone numbers are written."""
_SPOKEN_DIGITS = 6
"""Digits from which on a number may be said in groups, as ids and telephone numbers are."""
_NAMES = {True: ("yes", "true"), False: ("no", "false"), None: ("null", "none")}
"""How a policy writes the values of JSON that are neither texts nor numbers."""
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


def values_at(value: Any, path: str) -> Any:
    """What lies at ``field.field`` in `value`; of a list, the values of every item."""
    for name in path.split(".") if path else ():
        if isinstance(value, list):
            items = [values_at(item, name) for item in _flat(value)]
            if any(item is UNKNOWN for item in items):
                return UNKNOWN
            value = items
        elif isinstance(value, dict):
            value = value.get(name, UNKNOWN)
        else:
            return UNKNOWN
    return value


def test(value: Any, how: Test, lookup: Callable[[str], Any]) -> bool | None:
    """Whether a value passes a test; None if it, or what it is compared with, is unknown. `lookup` gives the
    value of a reference."""
    if value is UNKNOWN:
        return None
    results: list[bool | None] = []
    items = _items(value)
    for operator, passes in _SETS.items():
        if (operand := getattr(how, operator)) is not None:
            other = _calculate(operand, lookup)
            results.append(None if other is UNKNOWN else passes(_words(items), _words(_items(other))))
    for names, wanted in ((how.is_, True), (how.not_, False)):
        if names is not None:
            others = [_calculate(name, lookup) for name in names]
            other_items = [item for other in others if other is not UNKNOWN for item in _items(other)]
            matches = [any(_equal(item, other) for other in other_items) for item in items]
            passed = all(matches) if wanted else not any(matches)
            unsure = (
                any(other is UNKNOWN for other in others) and passed is not wanted
                if wanted
                else any(other is UNKNOWN for other in others) and passed
            )
            results.append(None if unsure else passed)
    if how.starts_with is not None:
        starts = tuple(start.casefold() for start in how.starts_with)
        results.append(all(str(item).casefold().startswith(starts) for item in items))
    for name, compare in _COMPARISONS.items():
        if (operand := getattr(how, name)) is not None:
            other = _calculate(operand, lookup)
            results.append(_all(_compare(item, other, compare) for item in items))
    if False in results:
        return False
    return None if None in results else True


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "at_least": lambda left, right: bool(left >= right),
    "at_most": lambda left, right: bool(left <= right),
    "above": lambda left, right: bool(left > right),
    "below": lambda left, right: bool(left < right),
}
_SETS: dict[str, Callable[[list[str], list[str]], bool]] = {
    "same_items_as": lambda left, right: left == right,
    "other_items_than": lambda left, right: left != right,
}


def _all(results: Any) -> bool | None:
    results = list(results)
    return False if False in results else None if None in results else True


def _items(value: Any) -> list[Any]:
    """The items of a list, flat; the keys of a mapping; a single value as a list."""
    if isinstance(value, dict):
        return list(value)
    return _flat(value)


def _flat(value: Any) -> list[Any]:
    """The items of lists in lists, in order; without recursion, as a tool's result may be nested deeply."""
    results, ahead = [], [value]
    while ahead:
        item = ahead.pop()
        if isinstance(item, list):
            ahead.extend(reversed(item))
        else:
            results.append(item)
    return results


def scalars(value: Any) -> list[Any]:
    """The values of all fields and items of `value`, in order; none of what is unknown or null."""
    results, ahead = [], [value]
    while ahead:
        item = ahead.pop()
        if isinstance(item, (list, dict)):
            ahead.extend(reversed(list(item.values()) if isinstance(item, dict) else item))
        elif item is not UNKNOWN and item is not None:
            results.append(item)
    return results


def _words(items: list[Any]) -> list[str]:
    return sorted(str(item).strip().casefold() for item in items)


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


def _equal(left: Any, right: Any) -> bool:
    for value, other in ((left, right), (right, left)):
        if value is None or isinstance(value, bool):
            return other is value or (isinstance(other, str) and other.strip().casefold() in _NAMES[value])
    texts = [str(value).strip().casefold() for value in (left, right)]
    numbers = [number(value) for value in (left, right)]
    is_identifier = any(
        isinstance(value, (str, int)) and _IDENTIFIER.fullmatch(text)
        for value, text in zip((left, right), texts, strict=True)
    )
    if None in numbers or is_identifier:
        return texts[0] == texts[1]
    return numbers[0] == numbers[1]


def _compare(left: Any, right: Any, how: Callable[[Any, Any], bool]) -> bool | None:
    """Numbers as numbers; texts by their letters, which is right for dates such as 2024-05-15T15:00:00."""
    if right is UNKNOWN:
        return None
    one, other = number(left), number(right)
    if one is not None and other is not None:
        return how(one, other)
    if isinstance(left, str) and isinstance(right, str) and one is None and other is None:
        return how(left, right)
    return None


def _calculate(operand: str, lookup: Callable[[str], Any]) -> Any:
    """A plain operand is itself. One with $references is a single value of any kind, or a sum of products."""
    if "$" not in operand:
        return operand
    parts = operand.split(" ")
    values = [lookup(part[1:]) if part.startswith("$") else part for part in parts[::2]]
    if len(values) == 1:
        return values[0]
    numbers = [number(value) for value in values]
    total, product, sign = Decimal(0), numbers[0], 1
    for how, value in zip(parts[1::2], numbers[1:], strict=True):
        if value is None or product is None:
            return UNKNOWN
        if how == "*":
            product *= value
        else:
            total, product, sign = total + sign * product, value, 1 if how == "+" else -1
    return UNKNOWN if product is None else total + sign * product


def is_stated(value: Any, text: str) -> bool:
    """Whether a value stands in a text: as it is, or a date (2024-05-20) with its month in words or figures,
    or a number with its decimals written otherwise, or one of many digits said in groups."""
    wanted = str(value).strip().strip("#").casefold()
    if not wanted or isinstance(value, bool):
        return True
    lower = text.casefold()
    if _stands_in(wanted, lower):
        return True
    if match := _ISO_DATE.fullmatch(wanted):
        try:
            day = date(*map(int, match.groups()))
        except ValueError:
            return False
        return any(_stands_in(form, lower) for form in _date_forms(day))
    digits = wanted.removeprefix("+")
    if len(digits) >= _SPOKEN_DIGITS and digits.isascii() and digits.isdigit():
        runs = (_SEPARATOR.split(match[0]) for match in _DIGIT_GROUPS.finditer(lower))
        if any(_is_said_in_groups(digits, groups) for groups in runs):
            return True
    if (size := number(value)) is not None:
        figure = f"{size:f}"
        short = figure.rstrip("0").rstrip(".") if "." in figure else figure
        forms = {short, f"{size:.2f}", f"{size:,.2f}"}
        if "." not in short:
            forms.add(f"{size:,.0f}")
        return any(_stands_in(form, lower) for form in forms)
    return all(_stands_in(word, lower) for word in re.findall(r"\w+", wanted))


def _is_said_in_groups(digits: str, groups: list[str]) -> bool:
    """Whether neighbouring groups of digits are together the wanted ones."""
    return any(
        "".join(groups[first : last + 1]) == digits
        for first in range(len(groups))
        if digits.startswith(groups[first])
        for last in range(first, min(len(groups), first + len(digits)))
    )


def _date_forms(day: date) -> set[str]:
    """How people write a day without its year, in lower case."""
    n = day.day
    ending = "th" if n in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    forms = {f"the {n}{ending}", f"{n}{ending} of {day:%B}"}
    forms |= {f"{day.month}/{n}", f"{day:%m/%d}", f"{n}.{day.month}.", f"{day:%d.%m.}"}
    for month in (f"{day:%B}", f"{day:%b}", f"{day:%b}."):
        for figure in (f"{n}", f"{n:02}", f"{n}{ending}"):
            forms |= {f"{month} {figure}", f"{month} the {figure}", f"{figure} {month}"}
    return {form.casefold() for form in forms}


def _stands_in(word: str, text: str) -> bool:
    """Whether a word stands in a text, not as a part of a longer one; after a point at its end a year may
    follow."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        ends = word.endswith(".") or not text[end : end + 1].isalnum()
        if ends and not (start and text[start - 1].isalnum()):
            return True
        start = text.find(word, start + 1)
    return False


@lru_cache(maxsize=2048)
def plain(text: str) -> str:
    """A text as lower-case words between blanks, without apostrophes, for the search of phrases."""
    return f" {' '.join(_WORD.findall(text.casefold().replace('’', '').replace(chr(39), '')))} "
