"""Values of tool calls and results: paths into them, comparisons and small calculations.

`UNKNOWN` is the value of what the log does not show; a comparison with it is None, neither true nor false.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import accumulate
from math import inf
from typing import Any, Final

from dialint.detector.policy.format import Test, all_match_keys, match_keys, number

Moment = tuple[int, int]
"""Position of a turn in the dialogue, and of a call in that turn from 1; 0 is the turn's text."""
MAX_SEARCHES = 1000
"""Different values of one dialogue that are searched for in its texts; more count as stated."""


class _Unknown:
    def __repr__(self) -> str:
        return "unknown"


UNKNOWN: Final = _Unknown()

_WORD = re.compile(r"[^\W_]++")
_SEPARATOR = re.compile(r"[ \u00a0\u202f-]")
_DIGIT_GROUPS = re.compile(r"[0-9]++(?:[ \u00a0\u202f-][0-9]++)*+")
"""Digits in groups, as telephone numbers are written."""
_SPOKEN_DIGITS = 6
"""Digits from which on a number may be written in groups, as ids and telephone numbers are."""
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


def values_at(value: Any, path: str) -> Any:
    """Return what lies at ``field.field`` in `value`; of a list, the values of every item."""
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
    """Return whether a value passes a test; None if it, or what it is compared with, is unknown. `lookup`
    gives the value of a reference."""
    if value is UNKNOWN:
        return None
    results: list[bool | None] = []
    items = _items(value)
    for operator, passes in _SETS.items():
        if (operand := getattr(how, operator)) is not None:
            other = _calculate(operand, lookup)
            results.append(None if other is UNKNOWN else passes(_words(items), _words(_items(other))))
    for names, literals, wanted in ((how.is_, how.is_any, True), (how.not_, how.not_any, False)):
        if names is not None:
            others = [_calculate(name, lookup) for name in names if "$" in name]
            is_unsure = any(other is UNKNOWN for other in others)
            keys_of_others = all_match_keys(
                item for other in others if other is not UNKNOWN for item in _items(other)
            )
            keys = map(match_keys, items)
            matches = (bool(own & literals or own & keys_of_others) for own in keys)
            passed = all(matches) if wanted else not any(matches)
            results.append(None if is_unsure and passed is not wanted else passed)
    if how.starts_with is not None:
        results.append(all(str(item).casefold().startswith(how.prefixes) for item in items))
    for name, compare in _COMPARISONS.items():
        if (operand := getattr(how, name)) is not None:
            other = _calculate(operand, lookup)
            results += [_compare(item, other, compare) for item in items]
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


def _items(value: Any) -> list[Any]:
    """Return the items of a list, flat; the keys of a mapping; a single value as a list."""
    if isinstance(value, dict):
        return list(value)
    return _flat(value)


def _flat(value: Any) -> list[Any]:
    """Return the items of lists in lists, in order; without recursion, as a tool's result may be nested
    deeply."""
    results, ahead = [], [value]
    while ahead:
        item = ahead.pop()
        if isinstance(item, list):
            ahead.extend(reversed(item))
        else:
            results.append(item)
    return results


def scalars(value: Any) -> list[Any]:
    """Return the values of all fields and items of `value`, in order; none of what is unknown or null."""
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
    """Returns the value of an operand: a plain one itself, else a single reference of any kind, or a sum of
    products."""
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


class Statements:
    """Texts in the order of the dialogue, in which values are searched."""

    def __init__(self, texts: Sequence[tuple[Moment, str]]) -> None:
        lower = [text.casefold() for _, text in texts]
        self._text = "\n".join(lower)
        self._moments = [moment for moment, _ in texts]
        self._ends = list(accumulate((len(text) + 1 for text in lower), initial=-1))
        self._words: dict[str, int] = {}
        for match in _WORD.finditer(self._text):
            self._words.setdefault(match[0], match.start())
        self._places: dict[str, float] = {}
        self._n_searches = 0

    def has(self, value: Any, before: Moment) -> bool:
        """Return whether a value stands in the texts before a moment: as it is, or a date (2024-05-20) with
        its month in words or figures, or a number with its decimals written otherwise, or one of many digits
        written in groups. After `MAX_SEARCHES` different values that are no single words, always true."""
        wanted = str(value).strip().strip("#").casefold()
        if not wanted or isinstance(value, bool):
            return True
        end = self._ends[bisect_left(self._moments, before)]
        if self._place(wanted) <= end:
            return True
        if match := _ISO_DATE.fullmatch(wanted):
            try:
                day = date(*map(int, match.groups()))
            except ValueError:
                return False
            return any(self._place(form) <= end for form in _date_forms(day))
        digits = wanted.removeprefix("+")
        is_number = len(digits) >= _SPOKEN_DIGITS and digits.isascii() and digits.isdigit()
        if is_number and self._groups.place(digits) <= end:
            return True
        if (size := number(value)) is not None:
            figure = f"{size:f}"
            short = figure.rstrip("0").rstrip(".") if "." in figure else figure
            forms = {short, f"{size:.2f}", f"{size:,.2f}"}
            if "." not in short:
                forms.add(f"{size:,.0f}")
            return any(self._place(form) <= end for form in forms)
        return all(self._place(word) <= end for word in re.findall(r"\w+", wanted))

    def _place(self, form: str) -> float:
        """Return where a form ends that stands in the texts first, not as a part of a longer word; after a
        point at its end a year may follow. Infinity if it stands nowhere."""
        if form not in self._places:
            words = _WORD.findall(form)
            starts = [self._words.get(word, inf) for word in words]
            start = max(starts, default=0)
            if start == inf:
                self._places[form] = inf
            elif words == [form]:
                self._places[form] = start + len(form)
            else:
                self._n_searches += 1
                is_over = self._n_searches > MAX_SEARCHES
                self._places[form] = -1 if is_over else self._search(form, max(0, int(start) - len(form)))
        return self._places[form]

    def _search(self, form: str, start: int) -> float:
        text = self._text
        while (start := text.find(form, start)) >= 0:
            end = start + len(form)
            if (form.endswith(".") or not text[end : end + 1].isalnum()) and not (
                start and text[start - 1].isalnum()
            ):
                return end
            start += 1
        return inf

    @cached_property
    def _groups(self) -> _DigitGroups:
        return _DigitGroups(self._text)


class _DigitGroups:
    """Digits of a text in groups, as telephone numbers are written."""

    def __init__(self, text: str) -> None:
        runs = list(_DIGIT_GROUPS.finditer(text))
        groups = [_SEPARATOR.split(run[0]) for run in runs]
        self._digits = "\n".join("".join(group) for group in groups)
        self._bounds: set[int] = set()
        """Indices of runs at which groups begin and end."""
        self._ends: list[int] = []
        self._run_ends = [run.end() for run in runs]
        place = 0
        for group in groups:
            bounds = list(accumulate(map(len, group), initial=place))
            self._bounds.update(bounds)
            self._ends.append(bounds[-1])
            place = bounds[-1] + 1
        self._places: dict[str, float] = {}

    def place(self, digits: str) -> float:
        """Return where the first run of groups ends of which neighbouring ones are together these digits;
        infinity without any."""
        if digits not in self._places:
            self._places[digits] = -1 if len(self._places) >= MAX_SEARCHES else self._search(digits)
        return self._places[digits]

    def _search(self, digits: str) -> float:
        start = -1
        while (start := self._digits.find(digits, start + 1)) >= 0:
            if start in self._bounds and start + len(digits) in self._bounds:
                return self._run_ends[bisect_left(self._ends, start + len(digits))]
        return inf


def _date_forms(day: date) -> set[str]:
    """Returns the forms in which people write a day without its year, in lower case."""
    n = day.day
    ending = "th" if n in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    forms = {f"the {n}{ending}", f"{n}{ending} of {day:%B}"}
    forms |= {f"{day.month}/{n}", f"{day:%m/%d}", f"{n}.{day.month}.", f"{day:%d.%m.}"}
    for month in (f"{day:%B}", f"{day:%b}", f"{day:%b}."):
        for figure in (f"{n}", f"{n:02}", f"{n}{ending}"):
            forms |= {f"{month} {figure}", f"{month} the {figure}", f"{figure} {month}"}
    return {form.casefold() for form in forms}


@lru_cache(maxsize=2048)
def plain(text: str) -> str:
    """Return a text as lower-case words between blanks, without apostrophes, for the search of phrases."""
    return f" {' '.join(_WORD.findall(text.casefold().replace('’', '').replace(chr(39), '')))} "
