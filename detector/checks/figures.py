"""Figures that an agent reads off or works out wrongly, in any language: the amount of a field, a time, a
numbered place, a sum, a share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import isclose

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.claims import may_write, statements
from dialint.detector.checks.quantities import (
    NUMBER_WORDS,
    STEM,
    Field,
    Kind,
    Known,
    Quantities,
    day_of_year,
    fields,
    hundredths,
    is_made_of,
    is_told,
    plain,
    quantities,
    result_fields,
    show,
)
from dialint.detector.checks.words import is_slip, patterns, sentences
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import ToolUse, tool_uses

PATTERNS = patterns("figures")
MIN_FIGURE, MAX_TOLD, MAX_BESIDE = 100_000, 8, 3
"""Least whole figure, in hundredths, that is an amount without a currency; amounts of a sentence, and of its
message and the one before, among which sums are looked for."""
MAX_FIELDS = 400
"""Fields of the results of a dialogue beyond which nothing is held against them."""
KINDS = ("day", "time", "clock", "money", "percent", "minutes", "days", "months")
"""Kinds of which a message means that of a result, beside the numbers of things."""
ROUNDED_KINDS = ("minutes", "days", "money")
MAX_RATIO, MAX_DAYS, MAX_MINUTES = 3, 62, 180
"""How far what is misread is from what was returned."""


@check(I4=Evidence(4, 6, "suggestion"))
def misread_figure(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a day, a time, an amount, a percentage, a span or a count that stands nowhere in the log and
    follows from nothing in it, in a message that leaves out the only one of its kind that tools had just
    returned, or the only one of theirs that its words name; and the number of a thing that has another ("gate
    4"). The first of a turn.

    A suggestion: of all six hits in tau_bench and STAR (2026-11-30) four are right.
    """
    by_result = {use.result_turn: use for use in tool_uses(dialogue) if use.was_run and not use.failed}
    if not by_result:
        return
    known, returned, act = Known(dialogue.sources), list[Field](), _Act()
    for turn in dialogue.turns:
        if turn.role == "customer" and turn.text.strip():
            act = _Act(turn.text)
        if turn.role not in JUDGED_ROLES:
            known.add(turn.text)
            if turn.index in by_result:
                own = result_fields(dialogue)[turn.index]
                act.add(by_result[turn.index], own)
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
        self.fields, self.sent = list[Field](), list[Field]()
        self._request = quantities(request)
        self._asked = quantities(" ".join(words for words in sentences(request) if words.endswith("?")))
        self._uses = list[tuple[list[Field], Sequence[Field]]]()

    def is_news(self, field: Field, told: Quantities) -> bool:
        """Return whether a message leaves out a quantity, and the customer has not named it himself."""
        return bool(field.value) and not is_told(field, told) and not is_told(field, self._request)

    def add(self, use: ToolUse, own: Sequence[Field]) -> None:
        """Take up a call and the fields of its result."""
        self.fields += own
        sent = list(fields(use.call.arguments))
        self.sent += sent if may_write(use.call.name) else []
        self._uses.append((sent, own))

    def contradict(self, words: Quantities, told: Quantities) -> str | None:
        """Return why a sentence tells what a call asked for, or what the customer asked whether it is so,
        where the result has another in its place that the message leaves out."""
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
                    return _instead(field, *asked)
        for kind in words:
            values = {field.value for field in self.fields if field.kind == kind}
            if (kind == "money" or kind.startswith("count")) and len(values) == 1:
                other = Field(kind, next(iter(values)))
                sent_values = {each.value for sent, _ in self._uses for each in sent}
                repeated = words[kind] & self._asked.get(kind, frozenset()) - values - sent_values
                if repeated and not is_told(other, told) and _is_other("money", {*repeated}, values):
                    return _instead(other, min(repeated))
        return None


def _instead(field: Field, asked: int) -> str:
    return f"the tool returned {show(field.kind, field.value)} where {show(field.kind, asked)} was asked"


def _misread(words: str, told: Quantities, known: Known, act: _Act, returned: list[Field]) -> str | None:
    """Return why a sentence tells another figure than the results, None if it does not."""
    stems = {word[:STEM] for word in re.findall(r"[^\W\d_]{2,}+", plain(words))}
    for kind, values in quantities(words).items():
        is_rough = kind in ROUNDED_KINDS and PATTERNS.rounded.search(words) is not None
        is_rough = is_rough or (kind in ("time", "clock") and PATTERNS.supposed.search(words) is not None)
        if is_rough or not (kind in KINDS or kind.startswith("number of")):
            continue
        unknown = {value for value in values if not known.explains(kind, value, told)}
        kinds = ("time", "clock") if kind == "clock" else (kind,)
        left = [field for field in act.fields if field.kind in kinds and act.is_news(field, told)]
        if kind in ("day", "time", "clock"):
            left = left or [field for field in act.sent if field.kind in kinds and not is_told(field, told)]
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
    """Return whether some figures may be others misread: days of a season, amounts and spans of a size, and
    no span that is another rounded."""
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
    """Find a number of things at a price each whose total in the same sentence is another one, an amount told
    as so many per cent which is that share of no number before it, an amount that nobody else tells, and that
    is a digit off what others of its sentence, or of its message and the one before, come to, and a time that
    is told as so many minutes before or after another, and is that from none; a total with tax, a fee or a
    discount beside it, or one that is rounded, is left alone."""
    known, before = Known(dialogue.sources), ""
    for turn in dialogue.turns:
        for start, end in statements(turn.text) if turn.role in JUDGED_ROLES else ():
            words = turn.text[start:end]
            why = (
                _wrong_product(words)
                or _wrong_share(words, turn.text, known)
                or _slipped_sum(words, turn.text, before, known)
                or _wrong_offset(words, known)
            )
            if why is not None:
                yield Hit(turn.index, start, end, why)
                break
        known.add(turn.text)
        before = turn.text if turn.role in JUDGED_ROLES and turn.text.strip() else before


def _wrong_offset(words: str, known: Known) -> str | None:
    """Return what is wrong with a time that is told as so many minutes or hours before or after another, and
    is that of no known time."""
    if PATTERNS.offset.search(words) is None or not PATTERNS.number.search(words):
        return None
    told = quantities(words)
    times = [(kind, n) for kind in ("time", "clock") for n in told.get(kind, ())]
    if len(times) != 1 or len(told.get("minutes", ())) != 1:
        return None
    (kind, value), (span,) = times[0], told["minutes"]
    if words.endswith("?") or known.explains(kind, value, {"minutes": {span}}):
        return None
    if not (known.of("time") or known.of("clock")):
        return None
    return f"{show(kind, value)} is {show('minutes', span)} from no known time"


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


def _slipped_sum(words: str, turn: str, before: str, known: Known) -> str | None:
    """Return what two or more amounts come to, where a sentence tells it as an amount that is a digit off and
    that nothing else explains; for a total also those of the rest of the message and of the one before."""
    if (
        not PATTERNS.number.search(words)
        or not PATTERNS.equals_sum.search(words)
        or PATTERNS.rounded.search(words)
    ):
        return None
    own = _figures(quantities(words))
    beside = {n for text in (turn, before) for n in quantities(text).get("money", ())} - own
    figures = own | (beside if len(beside) <= MAX_BESIDE else set())
    if not own or not 2 <= len(figures) <= MAX_TOLD:
        return None
    counts = [n // 100 for n in quantities(words).get("number", ()) if n % 100 == 0 and 200 <= n <= 10_000]
    for value in own:
        rest = sorted(figures - {value})
        if known.has_amount(value) or is_made_of(value, rest, quantities(turn).get("percent", ())):
            continue
        parts = sorted(own - {value}) if len(own) > 2 else rest
        sums = _sums(parts) if parts and value > parts[-1] else {}
        if len(own) > 2:
            sums |= {b - a: f"{b / 100:g} - {a / 100:g}" for a, b in combinations(parts, 2)}
        if value == max(own):
            factors = [n for n in counts if n * 100 not in own]
            sums |= {each * n: f"{n} times {each / 100:g}" for each in own - {value} for n in factors}
        slips = {total: formula for total, formula in sums.items() if _is_digit_off(total, value)}
        if len(slips) == 1:
            total, formula = next(iter(slips.items()))
            return f"{formula} are {total / 100:g}"
    return None


def _figures(told: Quantities) -> set[int]:
    """Return the amounts of a text, or without one its numbers with cents and its large ones."""
    return {*told.get("money", ())} or {n for n in told.get("number", ()) if n % 100 or n >= MIN_FIGURE}


def _sums(figures: Sequence[int]) -> dict[int, str]:
    """Return the sums of two figures, and of all, each with its parts."""
    parts = [*combinations(figures, 2), *([tuple(figures)] if len(figures) > 2 else [])]
    return {sum(each): " + ".join(f"{one / 100:g}" for one in each) for each in parts}


def _is_digit_off(one: int, other: int) -> bool:
    """Return whether two numbers of four digits or more differ in one, or in two that changed places."""
    return min(one, other) >= 1000 and is_slip(str(one), str(other))


def _value(text: str) -> float:
    return float(NUMBER_WORDS.get(text.casefold()) or text.replace(",", ""))
