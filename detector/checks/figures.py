"""Figures that an agent reads off or works out wrongly, in any language: the amount of a field, a time, a
numbered place, a sum, a share."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from itertools import product
from math import isclose

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.claims import statements
from dialint.detector.checks.quantities import (
    NUMBER_WORDS,
    STEM,
    Field,
    Kind,
    Quantities,
    fields,
    hundredths,
    plain,
    quantities,
    same_time,
    show,
)
from dialint.detector.checks.words import patterns, sentences
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import ToolUse, tool_uses

PATTERNS = patterns("figures")
MAX_KNOWN = 200
"""Numbers of a dialogue beyond which too much follows from them."""
MAX_MONEY = 40
"""Amounts likewise."""
MAX_FIELDS = 400
"""Fields of the results of a dialogue, likewise."""
KINDS = ("day", "time", "clock", "money", "percent", "minutes", "days", "months")
"""Kinds of which a message means that of a result, beside the numbers of things."""
ROUNDED_KINDS = ("minutes", "days", "money")
MAX_RATIO, MAX_DAYS = 3, 62
"""How far what is misread is from what was returned."""


@check(I4=Evidence())
def misread_figure(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a day, a time, an amount, a percentage, a span or a count that stands nowhere in the log and follows
    from nothing in it, in a message that leaves out the only one of its kind that tools had just returned, or
    the only one of theirs that its words name; and the number of a thing that has another ("gate 4"). The
    first of a turn.

    A suggestion: no hit on real dialogues (all of tau_bench and STAR, 2026-11-30).
    """
    by_result = {use.result_turn: use for use in tool_uses(dialogue) if use.was_run and not use.failed}
    if not by_result:
        return
    known, returned, act = Known(), list[Field](), _Act()
    for text in dialogue.sources:
        known.add(text)
    for turn in dialogue.turns:
        if turn.role == "customer" and turn.text.strip():
            act = _Act(turn.text)
        if turn.role not in JUDGED_ROLES:
            known.add(turn.text)
            if turn.index in by_result:
                own = act.add(by_result[turn.index])
                returned += own
                known.add_fields(own)
            continue
        known.add(str([call.arguments for call in turn.tool_calls]))
        if turn.text.strip() and len(returned) <= MAX_FIELDS:
            told = quantities(turn.text)
            for start, end in statements(turn.text):
                words = turn.text[start:end]
                if words.endswith("?"):
                    continue
                why = _misread(words, told, known, act, returned) or act.contradict(quantities(words), told)
                if why is not None:
                    yield Hit(turn.index, start, end, why)
                    break
        known.add(turn.text)


class _Act:
    """What a customer's message asks, and what the calls for it were sent with and returned."""

    def __init__(self, request: str = "") -> None:
        self.fields = list[Field]()
        self._request = quantities(request)
        self._asked = quantities(" ".join(words for words in sentences(request) if words.endswith("?")))
        self._uses = list[tuple[list[Field], list[Field]]]()

    def is_news(self, field: Field, told: Quantities) -> bool:
        """Return whether a message leaves out a quantity, and the customer has not named it himself."""
        return bool(field.value) and not is_told(field, told) and not is_told(field, self._request)

    def add(self, use: ToolUse) -> list[Field]:
        """Take up a call with its result, and return the fields of this."""
        own = list(fields(use.value))
        self.fields += own
        self._uses.append((list(fields(use.call.arguments)), own))
        return own

    def contradict(self, words: Quantities, told: Quantities) -> str | None:
        """Return why a sentence tells what a call asked for, or what the customer asked whether it is so, where the
        result has another in its place that the message leaves out."""
        for sent, own in self._uses:
            for field in own:
                asked = {each.value for each in sent if each.kind == field.kind and each.stems & field.stems}
                if (
                    field.kind in KINDS
                    and len(asked) == 1
                    and not is_told(field, told)
                    and asked & words.get(field.kind, frozenset())
                    and sum(each.kind == field.kind and each.stems == field.stems for each in own) == 1
                ):
                    return f"the tool returned {show(field.kind, field.value)} where {show(field.kind, *asked)} was asked"
        for kind in words:
            values = {field.value for field in self.fields if field.kind == kind}
            if (kind == "money" or kind.startswith("count")) and len(values) == 1:
                other = Field(frozenset(), kind, next(iter(values)))
                sent_values = {each.value for sent, _ in self._uses for each in sent}
                repeated = words[kind] & self._asked.get(kind, frozenset()) - values - sent_values
                if repeated and not is_told(other, told):
                    return f"the tool returned {show(kind, other.value)} where {show(kind, min(repeated))} was asked"
        return None


def _misread(words: str, told: Quantities, known: Known, act: _Act, returned: list[Field]) -> str | None:
    """Return why a sentence tells another figure than the results, None if it does not."""
    stems = {word[:STEM] for word in re.findall(r"[^\W\d_]{2,}+", plain(words))}
    for kind, values in quantities(words).items():
        is_rough = kind in ROUNDED_KINDS and PATTERNS.rounded.search(words) is not None
        if is_rough or not (kind in KINDS or kind.startswith("number of")):
            continue
        unknown = {value for value in values if not known.explains(kind, value, told)}
        kinds = ("time", "clock") if kind == "clock" else (kind,)
        left = [field for field in act.fields if field.kind in kinds and act.is_news(field, told)]
        if len({field.value for field in left}) != len(unknown):
            left = [
                field
                for field in left or returned
                if field.kind in kinds and field.stems & stems and act.is_news(field, told)
            ]
        others = {field.value for field in left}
        if not 0 < len(unknown) == len(others) <= 2 or not _is_other(kind, unknown, others):
            continue
        return (
            f"the tool returned {' and '.join(show(kind, value) for value in sorted(others))}, "
            f"and {' and '.join(show(kind, value) for value in sorted(unknown))} stands nowhere"
        )
    return None


def _is_other(kind: Kind, unknown: set[int], others: set[int]) -> bool:
    """Return whether some figures may be others misread: days of a season, amounts and spans of a size, and no
    span that is another rounded."""
    if kind == "day":
        days = [_ordinal(value) for value in unknown | others]
        return max(days) - min(days) <= MAX_DAYS
    if kind in ROUNDED_KINDS:
        small, large = min(unknown | others), max(unknown | others)
        return large <= MAX_RATIO * small and (kind == "money" or large - small > large // 10)
    return True


def by_kind(fields: Iterable[Field]) -> dict[Kind, set[int]]:
    """Return the values of fields by their kinds."""
    kinds = dict[Kind, set[int]]()
    for field in fields:
        kinds.setdefault(field.kind, set()).add(field.value)
    return kinds


def is_told(field: Field, told: Mapping[Kind, Collection[int]]) -> bool:
    """Return whether a message tells a quantity of a result, in any form."""
    kind, value = field.kind, field.value
    numbers = told.get("number", ())
    if kind == "day":
        return value in told.get(kind, ()) or value % 100 * 100 in numbers
    if kind in ("time", "clock"):
        hours = {value // 60 * 100, value // 60 % 12 * 100} if value % 60 == 0 else set[int]()
        return same_time(kind, value, told) or not hours.isdisjoint(numbers)
    if kind in ("minutes", "days", "months"):
        return value in told.get(kind, ())
    if value % 100 == 0 and value // 100 in told.get(kind, ()):  # in cents
        return True
    return value in told.get(kind, ()) or value * (100 if kind.startswith("count") else 1) in numbers


class Known:
    """What the dialogue so far has named, and what follows from it."""

    def __init__(self) -> None:
        self._unread = list[str]()
        self._found: dict[Kind, set[int]] = {}

    def add(self, text: str) -> None:
        """Take up a text."""
        self._unread.append(text)

    def add_fields(self, fields: list[Field]) -> None:
        """Take up the fields of a result."""
        for field in fields:
            self._of(field.kind).add(field.value)

    def has(self, kind: Kind, value: int) -> bool:
        """Return whether a quantity of this kind is known."""
        self._read()
        return value in self._of(kind)

    def _of(self, kind: Kind) -> set[int]:
        return self._found.setdefault(kind, set())

    def _read(self) -> None:
        for text in self._unread:
            for kind, values in quantities(text).items():
                self._of(kind).update(values)
        self._unread.clear()

    def explains(self, kind: Kind, value: int, told: Quantities) -> bool:
        """Return whether a quantity is known, or follows from what is known and what its turn tells."""
        self._read()
        numbers = self._of("number")
        if value in self._of(kind) or len(numbers) > MAX_KNOWN:
            return True
        if kind.startswith("number of"):
            return False
        if kind == "day":
            return self._has_day(value, told)
        if kind in ("time", "clock"):
            return self._has_time(kind, value, told)
        if kind in ("minutes", "days"):
            units = (1, 60) if kind == "minutes" else (1440, 10080)
            if kind == "days" and value // 1440 in self._distances():
                return True
            return any(value // n * 100 in numbers for n in units if value % n == 0)
        if kind == "months":
            return value * 100 in numbers or (value % 12 == 0 and value // 12 * 100 in numbers)
        if kind == "percent":
            return value in numbers or 10_000 - value in numbers
        return self._makes(value, told)

    def _distances(self) -> set[int]:
        """Return the numbers of days between known ones."""
        days = {_ordinal(day) for day in self._of("day")}
        return {abs(one - other) + more for one in days for other in days for more in (0, 1)}

    def _has_day(self, value: int, told: Quantities) -> bool:
        if value % 100 in self._of("day of month") or value % 100 == monthrange(2026, value // 100)[1]:
            return True
        if told.get("days"):  # from today
            return True
        if any(abs(_ordinal(day) - _ordinal(value)) == 1 for day in self._of("day").intersection(told.get("day", ()))):
            return True  # nights on end
        days = [n // 1440 for n in self._of("days")]
        spans = {n + more for n in days for more in range(-1, 2 * (n // 5) + 4)}  # of working days, too
        for known in self._of("day").union(told.get("day", ())) - {value}:
            first, day = (_ordinal(each) for each in (known, value))
            if any((first + sign * n - day) % 365 == 0 for n in spans for sign in (1, -1)):
                return True
            if known % 100 == value % 100 and (value - known) // 100 % 12 in self._of("months"):
                return True
        return False

    def _has_time(self, kind: Kind, value: int, told: Quantities) -> bool:
        known = {name: self._of(name) for name in ("time", "clock", "hour")}
        spans = {0, *self._of("minutes"), *told.get("minutes", ())}
        beside = {name: told.get(name, frozenset()) - {value} for name in known}
        return any(
            same_time(kind, (value + sign * n) % 1440, times) for n in spans for sign in (1, -1) for times in (known, beside)
        )

    def _makes(self, value: int, told: Quantities) -> bool:
        """Return whether an amount is a number, or a sum, a difference, a multiple or a share of amounts."""
        numbers = self._of("number")
        if value == 0 or not numbers.isdisjoint({value, value * 100, value / 100}):
            return True
        if any(abs(each - value) < 100 for each in self._of("money") if value % 100 == 0):
            return True
        money = self._of("money") | set(told.get("money", ())) - {value, 0}
        if len(money) > MAX_MONEY:
            return True
        counts = {n // 100 for n in numbers | set(told.get("number", ())) if n % 100 == 0 and n <= 10_000} - {0, 1}
        counts.update(range(2, 13))
        parts = money | {n for n in numbers if n >= 1000}
        rates = self._of("percent") | set(told.get("percent", ()))
        multiples = money | {n * each for n in counts for each in money}
        sums = multiples | {each + other for each in multiples for other in parts}
        sums |= {abs(each - other) for each in multiples for other in parts}
        if value in sums or any(value * n in money for n in counts) or any(value - each in sums for each in money):
            return True
        return any(
            abs(each * rate - 10_000 * value) <= 5_000
            for each in sums
            for percent in rates
            for rate in (percent, 10_000 - percent, 10_000 + percent)
        )

    def has_share(self, amount: int, percent: int, text: str) -> bool:
        """Return whether an amount is known, or so many per cent of a number or of a sum of two, or what they
        leave or come to; those of the `text` that tells it included."""
        self._read()
        numbers = self._of("number") | set(quantities(text).get("number", ()))
        if amount in self._of("number") or len(numbers) > MAX_KNOWN:
            return True
        totals = numbers.union(one + other for one, other in product(numbers - {amount}, repeat=2))
        shares = (percent, 10_000 - percent, 10_000 + percent)
        near = max(100, amount // 100)
        return any(abs(n * share / 10_000 - amount) <= near for n in totals for share in shares)


def _ordinal(day: int) -> int:
    """Return the number of a day in a year of 365."""
    return date(2026, day // 100, min(day % 100, monthrange(2026, day // 100)[1])).toordinal()


@check(I4=Evidence())
def wrong_sum(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a number of things at a price each whose total in the same sentence is another one, and an amount
    told as so many per cent which is that share of no number before it; a total with tax, a fee or a discount
    beside it, or one that is rounded, is left alone."""
    known = Known()
    for text in dialogue.sources:
        known.add(text)
    for turn in dialogue.turns:
        for start, end in statements(turn.text) if turn.role in JUDGED_ROLES else ():
            words = turn.text[start:end]
            if (why := _wrong_product(words) or _wrong_share(words, turn.text, known)) is not None:
                yield Hit(turn.index, start, end, why)
                break
        known.add(turn.text)


def _wrong_product(words: str) -> str | None:
    match = PATTERNS.product.search(words)
    if match is None or PATTERNS.beside.search(words):
        return None
    count, price, total = (_value(match[name]) for name in ("count", "price", "total"))
    is_right = isclose(count * price, total, abs_tol=0.011)
    return None if is_right else f"{count:g} times {price:g} are {count * price:g}"


def _wrong_share(words: str, text: str, known: Known) -> str | None:
    match = PATTERNS.share.search(words)
    if match is None or len(PATTERNS.percent.findall(words)) != 1:
        return None
    percent = hundredths(match["percent"] or match["percent_after"])
    amount = hundredths(match["amount"] or match["amount_after"] or match["amount_last"])
    if known.has_share(amount, percent, text):
        return None
    return f"no number before it has {amount / 100:g} as its share of {percent / 100:g} %"


def _value(text: str) -> float:
    return float(NUMBER_WORDS.get(text.casefold()) or text.replace(",", ""))
