"""Figures that an agent reads off or works out wrongly, in any language: the amount of a field, a time, a
numbered place, a sum, a share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from math import isclose

from pydantic import JsonValue

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.claims import name_words, statements
from dialint.detector.checks.values import objects_of
from dialint.detector.checks.words import fold, patterns, read_words
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import tool_uses

PATTERNS = patterns("figures")
_BLANK = re.compile(r"\s")
_DECIMALS = re.compile(r"[.,](?=\d{1,2}\Z)")
MAX_KNOWN = 200
"""Numbers of a dialogue, and fields of its results, beyond which too much follows from them."""
MAX_TEXT = 80
"""Characters of a result's text that may name a numbered place."""
STEM = 5


def _hundredths(figure: str) -> int:
    """Return a figure, with the marks of any language, in hundredths."""
    whole, *rest = _DECIMALS.split(_BLANK.sub("", figure))
    return int(re.sub(r"[.,]", "", whole)) * 100 + int((rest or ["0"])[0].ljust(2, "0"))


def _amounts(text: str) -> list[tuple[int, int]]:
    """Return place and amount in hundredths of each amount of money in a text."""
    return [
        (match.start(), _hundredths(match["after"] or match["before"]))
        for match in PATTERNS.money.finditer(text)
    ]


def _numbers(text: str) -> Iterator[int]:
    """Yield all numbers of a text in hundredths; a whole one may be hundredths itself."""
    for match in PATTERNS.number.finditer(text):
        yield _hundredths(match[0])
        if match[0].isdigit() and len(match[0]) > 2:
            yield int(match[0])
    yield from (amount for _, amount in _amounts(text))


def _minutes(text: str) -> Iterator[tuple[str, int]]:
    """Yield each time of day of a text, and its minutes since midnight."""
    for match in PATTERNS.time.finditer(text):
        hour, half = int(match["hour"]), match["half"]
        hour = hour % 12 + (12 if half in "pP" else 0) if half and hour <= 12 else hour
        if hour <= 24 and int(match["minute"]) < 60:
            yield match[0], hour % 24 * 60 + int(match["minute"])


@check(I4=Evidence())
def misread_figure(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find the amount of a field of the results ("the deposit is $250") that has another one, the number of a
    thing that has another ("gate 4"), and a time that stands nowhere beside one of a result: the first of
    a turn, where nothing in the log explains the figure.

    A suggestion: no hit on real dialogues (all of tau_bench and STAR, 2026-11-30).
    """
    by_result = {use.result_turn: use.value for use in tool_uses(dialogue) if use.was_run and not use.failed}
    if not by_result:
        return
    known, fields = _Known(), _Fields()
    for text in dialogue.sources:
        known.add(text)
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            known.add(turn.text)
            fields.add(by_result.get(turn.index))
            continue
        known.add(str([call.arguments for call in turn.tool_calls]))
        for start, end in statements(turn.text):
            words = turn.text[start:end]
            if not words.endswith("?") and (why := fields.contradict(words, known)) is not None:
                yield Hit(turn.index, start, end, why)
                break
        known.add(turn.text)


class _Known:
    """The numbers, times and numbered things of the dialogue so far, read when they are asked for."""

    def __init__(self) -> None:
        self._unread = list[str]()
        self._numbers, self._times, self._things = set[int](), set[int](), set[tuple[str, str]]()

    def add(self, text: str) -> None:
        """Take up a text."""
        self._unread.append(text)

    def _read(self) -> None:
        for text in self._unread:
            self._numbers.update(_numbers(text))
            for _, minute in _minutes(text):
                self._times |= {minute, (minute + 720) % 1440}
            self._things.update(_things(text))
        self._unread.clear()

    def has_time(self, minute: int) -> bool:
        """Return whether a time is known, by the dial."""
        self._read()
        return minute in self._times

    def has_thing(self, thing: tuple[str, str]) -> bool:
        """Return whether a numbered thing is known."""
        self._read()
        return thing in self._things

    def explains(self, amount: int) -> bool:
        """Return whether an amount is known, or a sum, a difference, a multiple or a share of what is."""
        self._read()
        return (
            len(self._numbers) > MAX_KNOWN
            or amount in self._numbers | {0}
            or any(
                amount - each in self._numbers
                or amount + each in self._numbers
                or (amount % each == 0 and amount // each <= 12)
                or (each % amount == 0 and each // amount <= 12)
                or (amount * 100 % each == 0 and amount * 100 // each in self._numbers)
                or (amount * 10_000 % each == 0 and amount * 10_000 // each in self._numbers)
                for each in self._numbers - {0}
            )
        )

    def has_share(self, amount: int, percent: int, text: str) -> bool:
        """Return whether an amount is known, or so many per cent of a number or of a sum of two, or what they
        leave or come to; those of the `text` that tells it included."""
        self._read()
        numbers = self._numbers.union(_numbers(text))
        if amount in self._numbers or len(numbers) > MAX_KNOWN:
            return True
        totals = numbers.union(one + other for one, other in product(numbers - {amount}, repeat=2))
        shares = (percent, 10_000 - percent, 10_000 + percent)
        near = max(100, amount // 100)
        return any(abs(n * share / 10_000 - amount) <= near for n in totals for share in shares)


class _Fields:
    """What the results so far hold."""

    def __init__(self) -> None:
        self._amounts: dict[frozenset[str], set[int]] = {}
        self._things: dict[str, set[str]] = {}
        self._times = set[int]()

    def add(self, value: JsonValue) -> None:
        """Take up a result."""
        for key, each in objects_of(value):
            for name, field in each.items():
                stems = frozenset(word[:STEM] for word in (*name_words(key), *name_words(name)))
                stems -= _GENERIC
                if isinstance(field, str) and len(field) <= MAX_TEXT:
                    self._times.update(minute for _, minute in _minutes(field))
                    for thing, number in _things(field):
                        self._things.setdefault(thing, set()).add(number)
                elif stems and isinstance(field, int | float) and not isinstance(field, bool):
                    self._amounts.setdefault(stems, set()).add(round(field * 100))

    def contradict(self, words: str, known: _Known) -> str | None:
        """Return why a sentence tells another figure than the results."""
        stems = {word[:STEM] for word in name_words(fold(words))} if self._amounts else set[str]()
        fields = [(len(key), values) for key, values in self._amounts.items() if key <= stems]
        amounts = _amounts(words) if fields and len(self._amounts) <= MAX_KNOWN else []
        if len(amounts) == 1 and not PATTERNS.rounded.search(words[: amounts[0][0]]):
            values = max(fields, key=lambda field: field[0])[1]
            if len(values) == 1 and not known.explains(amounts[0][1]):
                return f"the tool returned {next(iter(values)) / 100:g}"
        times = [*_minutes(words)] if self._times else []
        if any(minute in self._times for _, minute in times):
            for time, minute in times:
                if not known.has_time(minute):
                    return f"{time} stands in no earlier turn or tool result"
        for thing in _things(words) if self._things else ():
            others = self._things.get(thing[0], set())
            if len(others) == 1 and not known.has_thing(thing):
                return f"the tool returned {thing[0]} {next(iter(others))}"
        return None


def _things(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word with the number after it, but months."""
    for match in PATTERNS.thing.finditer(fold(text)):
        if match["word"][:3] not in _MONTHS:
            yield match["word"], match["n"].lstrip("0")


_GENERIC = {word[:STEM] for word in read_words("generic_fields")}
_MONTHS = {fold(prefix) for names in read_words("months") for prefix in names.split()}


@check(I4=Evidence())
def wrong_sum(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a number of things at a price each whose total in the same sentence is another one, and an amount
    told as so many per cent which is that share of no number before it; a total with tax, a fee or a discount
    beside it, or one that is rounded, is left alone."""
    known = _Known()
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


def _wrong_share(words: str, text: str, known: _Known) -> str | None:
    match = PATTERNS.share.search(words)
    if match is None or len(PATTERNS.percent.findall(words)) != 1:
        return None
    percent = _hundredths(match["percent"] or match["percent_after"])
    amount = _hundredths(match["amount"] or match["amount_after"] or match["amount_last"])
    if known.has_share(amount, percent, text):
        return None
    return f"no number before it has {amount / 100:g} as its share of {percent / 100:g} %"


def _value(text: str) -> float:
    numbers: dict[str, int] = read_words("number_words")
    return float(numbers.get(text.casefold()) or text.replace(",", ""))
