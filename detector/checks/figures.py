"""Figures that an agent misreads or computes wrongly, in any language: the amount of a field, a time, a
numbered place, a sum, a share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.calls import may_write
from dialint.detector.checks.quantities import (
    MAX_NUMBERS,
    NUMBER_WORDS,
    STEM,
    Field,
    Kind,
    Quantities,
    StatedQuantities,
    day_of_year,
    fields,
    hundredths,
    is_made_of,
    is_stated,
    plain,
    quantities,
    result_fields,
    show,
)
from dialint.detector.checks.words import is_slip, patterns, sentences, statements
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import ToolUse, tool_uses

PATTERNS = patterns("figures")
MIN_FIGURE, MAX_FIGURES, MAX_BESIDE = 100_000, 8, 3
"""Least whole figure, in hundredths, that is an amount without a currency; most amounts of a sentence,
and of its message and the one before, of which sums are computed."""
MAX_FIELDS = 400
"""Fields of the results of a dialogue beyond which nothing is compared with them."""
KINDS = ("day", "time", "clock", "money", "percent", "minutes", "days", "months")
"""Kinds in which a message is compared with a result, beside the numbers of things."""
ROUNDED_KINDS = ("minutes", "days", "money")
MAX_RATIO, MAX_DAYS, MAX_MINUTES = 3, 62, 180
"""Greatest distance of a misread figure from the returned one: ratio, days, minutes."""


@check(I4=Evidence(4, 6, "suggestion"))
def misread_figure(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a day, a time, an amount, a percentage, a span or a count that stands nowhere in the log and
    follows from nothing in it, in a message that leaves out the only one of its kind that tools had just
    returned, or the only one of theirs whose name is in it; and the number of a thing that has another ("gate
    4"). The first of a turn.

    A suggestion: of all six hits in tau_bench and STAR (2026-11-30) four are right.
    """
    by_result = {use.result_turn: use for use in tool_uses(dialogue) if use.was_run and not use.failed}
    if not by_result:
        return
    stated, returned, request = StatedQuantities(dialogue.sources), list[Field](), _Request()
    for turn in dialogue.turns:
        if turn.role == "customer" and turn.text.strip():
            request = _Request(turn.text)
        if turn.role not in JUDGED_ROLES:
            stated.add(turn.text)
            if turn.index in by_result:
                own = result_fields(dialogue)[turn.index]
                request.add(by_result[turn.index], own)
                returned += own
                stated.add_fields(own)
            continue
        stated.add(str([call.arguments for call in turn.tool_calls]))
        if turn.text.strip() and len(returned) <= MAX_FIELDS:
            message = quantities(turn.text)
            for start, end in statements(turn.text):
                words = turn.text[start:end]
                if words.endswith("?"):
                    continue
                why = _misread(words, message, stated, request, returned) or request.contradict(
                    quantities(words), message
                )
                if why is not None:
                    yield Hit(turn.index, start, end, why)
                    break
        stated.add(turn.text)


class _Request:
    """A message of the customer, and the arguments and results of the calls made for it."""

    def __init__(self, text: str = "") -> None:
        self.fields, self.sent = list[Field](), list[Field]()
        self._quantities = quantities(text)
        self._in_questions = quantities(" ".join(words for words in sentences(text) if words.endswith("?")))
        self._uses = list[tuple[list[Field], Sequence[Field]]]()

    def is_omitted(self, field: Field, message: Quantities) -> bool:
        """Return whether a message leaves out a quantity that the customer did not state himself."""
        return bool(field.value) and not is_stated(field, message) and not is_stated(field, self._quantities)

    def add(self, use: ToolUse, own: Sequence[Field]) -> None:
        """Adds a call and the fields of its result."""
        self.fields += own
        sent = list(fields(use.call.arguments))
        self.sent += sent if may_write(use.call.name) else []
        self._uses.append((sent, own))

    def contradict(self, words: Quantities, message: Quantities) -> str | None:
        """Return why a sentence is wrong that has a value of a call's arguments, or of a customer's question,
        where the result has another in its place that the message leaves out."""
        for sent, own in self._uses:
            for field in own:
                requested = {
                    each.value for each in sent if each.kind == field.kind and each.stems & field.stems
                }
                if (
                    field.kind in KINDS
                    and len(requested) == 1
                    and not is_stated(field, message)
                    and requested & words.get(field.kind, frozenset())
                    and sum(each.kind == field.kind and each.stems == field.stems for each in own) == 1
                ):
                    return _instead(field, *requested)
        for kind in words:
            values = {field.value for field in self.fields if field.kind == kind}
            if (kind == "money" or kind.startswith("count")) and len(values) == 1:
                other = Field(kind, next(iter(values)))
                sent_values = {each.value for sent, _ in self._uses for each in sent}
                repeated = words[kind] & self._in_questions.get(kind, frozenset()) - values - sent_values
                if repeated and not is_stated(other, message) and _is_other("money", {*repeated}, values):
                    return _instead(other, min(repeated))
        return None


def _instead(field: Field, requested: int) -> str:
    return f"the tool returned {show(field.kind, field.value)} where {show(field.kind, requested)} was asked"


def _misread(
    words: str, message: Quantities, stated: StatedQuantities, request: _Request, returned: list[Field]
) -> str | None:
    """Return why a sentence has another figure than the results, None if it does not."""
    stems = {word[:STEM] for word in re.findall(r"[^\W\d_]{2,}+", plain(words))}
    for kind, values in quantities(words).items():
        is_rough = kind in ROUNDED_KINDS and PATTERNS.rounded.search(words) is not None
        is_rough = is_rough or (kind in ("time", "clock") and PATTERNS.supposed.search(words) is not None)
        if is_rough or not (kind in KINDS or kind.startswith("number of")):
            continue
        unknown = {value for value in values if not stated.explains(kind, value, message)}
        kinds = ("time", "clock") if kind == "clock" else (kind,)
        left = [
            field for field in request.fields if field.kind in kinds and request.is_omitted(field, message)
        ]
        if kind in ("day", "time", "clock"):
            left = left or [
                field for field in request.sent if field.kind in kinds and not is_stated(field, message)
            ]
        if len({field.value for field in left}) != len(unknown):
            left = [
                field
                for field in left or returned
                if field.kind in kinds and field.stems & stems and request.is_omitted(field, message)
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
    """Return whether some figures may be misread forms of others: near days and times, amounts and spans of
    similar size, and no span that is another rounded."""
    if kind in ("time", "clock"):
        gaps = {(one - other) % 720 for one in unknown for other in others}
        return min(min(gap, 720 - gap) for gap in gaps) <= MAX_MINUTES
    if kind == "day":
        days = [day_of_year(value) for value in unknown | others]
        return max(days) - min(days) <= MAX_DAYS
    if kind in ROUNDED_KINDS:
        small, large = min(unknown | others), max(unknown | others)
        return large <= MAX_RATIO * small and (kind == "money" or large - small > large // 10)
    return True


@check(I4=Evidence(1, 1, "suggestion"))
def wrong_sum(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find four kinds of wrong results: the total of a number of things at a price each; an amount called so
    many per cent that is this share of no number before it; an amount that nobody else states, one digit off
    what others of its sentence, or of its message and the one before, add up to; and a time so many minutes
    before or after another that is so far from no stated one. A total with tax, a fee or a discount beside
    it, or a rounded one, is left alone."""
    stated, before = StatedQuantities(dialogue.sources), ""
    for turn in dialogue.turns:
        for start, end in statements(turn.text) if turn.role in JUDGED_ROLES else ():
            words = turn.text[start:end]
            why = (
                _wrong_product(words)
                or _wrong_share(words, turn.text, stated)
                or _slipped_sum(words, turn.text, before, stated)
                or _wrong_offset(words, stated)
            )
            if why is not None:
                yield Hit(turn.index, start, end, why)
                break
        stated.add(turn.text)
        before = turn.text if turn.role in JUDGED_ROLES and turn.text.strip() else before


def _wrong_offset(words: str, stated: StatedQuantities) -> str | None:
    """Return what is wrong with a time that is so many minutes or hours before or after another, and from no
    stated time."""
    if PATTERNS.offset.search(words) is None or not PATTERNS.number.search(words):
        return None
    message = quantities(words)
    times = [(kind, n) for kind in ("time", "clock") for n in message.get(kind, ())]
    if len(times) != 1 or len(message.get("minutes", ())) != 1:
        return None
    (kind, value), (span,) = times[0], message["minutes"]
    if words.endswith("?") or stated.explains(kind, value, {"minutes": {span}}):
        return None
    if not (stated.of("time") or stated.of("clock")):
        return None
    return f"{show(kind, value)} is {show('minutes', span)} from no known time"


def _wrong_product(words: str) -> str | None:
    match = PATTERNS.product.search(words)
    if match is None or PATTERNS.beside.search(words):
        return None
    count = NUMBER_WORDS.get(match["count"].casefold()) or int(match["count"])
    price, total = hundredths(match["price"]), hundredths(match["total"])
    if abs(count * price - total) <= 1:
        return None
    return f"{count} times {price / 100:g} are {count * price / 100:g}"


def _wrong_share(words: str, text: str, stated: StatedQuantities) -> str | None:
    """Return what is wrong with an amount that a sentence calls so many per cent, and that is this share of
    no number stated before or in its message, nor of a sum of two, nor what it leaves or adds up to."""
    match = PATTERNS.share.search(words)
    if match is None or len(PATTERNS.percent.findall(words)) != 1:
        return None
    percent = hundredths(match["percent"] or match["percent_after"])
    amount = hundredths(match["amount"] or match["amount_after"] or match["amount_last"])
    numbers = stated.of("number") | set(quantities(text).get("number", ()))
    if amount in stated.of("number") or len(numbers) > MAX_NUMBERS:
        return None
    totals = numbers.union(one + other for one, other in product(numbers - {amount}, repeat=2))
    shares, near = (percent, 10_000 - percent, 10_000 + percent), max(100, amount // 100)
    if any(abs(n * share / 10_000 - amount) <= near for n in totals for share in shares):
        return None
    return f"no number before it has {amount / 100:g} as its share of {percent / 100:g} %"


def _slipped_sum(words: str, turn: str, before: str, stated: StatedQuantities) -> str | None:
    """Return what two or more amounts add up to, where a sentence has a sum with one digit wrong that nothing
    else explains; for a total also those of the rest of the message and of the one before."""
    if (
        not PATTERNS.number.search(words)
        or not PATTERNS.equals_sum.search(words)
        or PATTERNS.rounded.search(words)
    ):
        return None
    money, numbers = (quantities(words).get(kind, frozenset[int]()) for kind in ("money", "number"))
    own = {*money} or {n for n in numbers if n % 100 or n >= MIN_FIGURE}
    beside = {n for text in (turn, before) for n in quantities(text).get("money", ())} - own
    figures = own | (beside if len(beside) <= MAX_BESIDE else set())
    if not own or not 2 <= len(figures) <= MAX_FIGURES:
        return None
    counts = [n // 100 for n in numbers if n % 100 == 0 and 200 <= n <= 10_000]
    for value in own:
        rest = sorted(figures - {value})
        others = sorted(own.union(beside) - {value})[:MAX_FIGURES]
        if stated.has_amount(value) or is_made_of(value, others, quantities(turn).get("percent", ())):
            continue
        parts, sums = sorted(own - {value}) if len(own) > 2 else rest, dict[int, str]()
        if parts and value > parts[-1]:
            terms = [*combinations(parts, 2), *([tuple(parts)] if len(parts) > 2 else [])]
            sums = {sum(each): " + ".join(f"{one / 100:g}" for one in each) for each in terms}
        if len(own) > 2:
            sums |= {b - a: f"{b / 100:g} - {a / 100:g}" for a, b in combinations(parts, 2) if a and b % a}
        if value == max(own):
            factors = [n for n in counts if n * 100 not in own]
            sums |= {
                each * n: f"{n} times {each / 100:g}"
                for each in own - {value}
                for n in factors
                if abs(each * n - value) > n  # as far as a rounded share is off
            }
        slips = [each for each in sums if min(each, value) >= 1000 and is_slip(str(each), str(value))]
        if len(slips) == 1:
            return f"{sums[slips[0]]} are {slips[0] / 100:g}"
    return None
