"""Values of tool calls and results: paths into them, comparisons and small calculations.

`UNKNOWN` is the value of what the log does not show; a comparison with it is None, neither true nor false.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Any, Final

from dialint.detector.policy.format import Test


class _Unknown:
    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = _Unknown()

_WORD = re.compile(r"[^\W_]++")
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


def number(value: Any) -> float | None:
    """A value as a number, None if it is none."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _equal(left: Any, right: Any) -> bool:
    one, other = number(left), number(right)
    if one is not None and other is not None:
        return one == other
    return str(left).strip().casefold() == str(right).strip().casefold()


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
    total, product, sign = 0.0, numbers[0], 1.0
    for how, value in zip(parts[1::2], numbers[1:], strict=True):
        if value is None or product is None:
            return UNKNOWN
        if how == "*":
            product *= value
        else:
            total, product, sign = total + sign * product, value, 1.0 if how == "+" else -1.0
    return UNKNOWN if product is None else total + sign * product


def is_stated(value: Any, text: str) -> bool:
    """Whether a value stands in a text: as it is, or a date (2024-05-20) with its month in words or figures,
    or a number with its decimals written otherwise."""
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
        month, short = day.strftime("%B").casefold(), day.strftime("%b").casefold()
        around = {f"{month} {day.day}", f"{short} {day.day}", f"{day.day} {month}", f"{day.day} {short}"}
        around |= {
            f"{month} {day.day:02}",
            f"{short}. {day.day}",
            f"{day.day}th of {month}",
            f"the {day.day}th",
        }
        around |= {f"{day.month}/{day.day}", f"{day.day}.{day.month}.", f"{day.month:02}/{day.day:02}"}
        return any(each in lower for each in around)
    if (size := number(value)) is not None:
        return any(
            _stands_in(form, lower) for form in (f"{size:g}", f"{size:.2f}", f"{size:,.0f}", f"{size:,.2f}")
        )
    return all(_stands_in(word, lower) for word in re.findall(r"\w+", wanted))


def _stands_in(word: str, text: str) -> bool:
    """Whether a word stands in a text, not as a part of a longer one."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (start and text[start - 1].isalnum()) and not (end < len(text) and text[end].isalnum()):
            return True
        start = text.find(word, start + 1)
    return False


@lru_cache(maxsize=2048)
def plain(text: str) -> str:
    """A text as lower-case words between blanks, without apostrophes, for the search of phrases."""
    return f" {' '.join(_WORD.findall(text.casefold().replace('’', '').replace(chr(39), '')))} "
