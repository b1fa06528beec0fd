"""Numbers that are mostly digits: payment cards, social security numbers, phones; typed, spaced or spelled.

One pass finds runs of digits, another runs of number words; `_kind_of` says what each is, or that it
is an order, a price, a date and stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.masking.context import Cue, cue_after, cue_asked, cue_before, is_ending
from dialint.detector.masking.number_words import SPELLED_RUN, digits_of
from dialint.detector.masking.phones import looks_like_phone
from dialint.detector.masking.spans import Found, Kind
from dialint.detector.masking.view import View

NEAR_START = 24
"""A number within so many characters of the start of its turn may answer the turn before."""

_RUN = re.compile(
    r"(?<![\w$€£¥₽])(?<!\d[.,:])(?:\+\s?)?\(?\d(?:[ .\-/()*_•·~]{0,3}\d){5,24}(?![\w%])(?![,:.]\d)"
)
_EXTENSION = re.compile(r"[\s,]{0,2}(?:ext|extension|extn|x|доб)\.?\s?\d{1,5}(?!\w)")
_CUT = re.compile(r"\s?/\s|\s/|\s-\s|\s{2,}|\)\s?\(")
_NOT_PERSONAL = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:\D|$)|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d{2}(?:\D|$)|"
    r"\d{1,2}[-/. ]\d{1,2}[-/. ](?:19|20)\d{2}(?:\D|$)|"
    r"(?:19|20)\d\d ?[-/] ?(?:19|20)\d\d$|\d{1,24}\.\d\d[ /-]{1,3}\d{1,24}\.\d\d$|"
    r"\+?\s?\d{1,24}\.\d\d?\s?[-+/*]|"
    r"\d{1,3}(?:[. ]\d{3}){1,8}$(?<=000)"
)
_MONEY_AFTER = re.compile(
    r"\s?(?:[$€£¥₽%]|usd|eur|gbp|euros?|dollars?|pounds?|руб|рублей|kg|km|miles|points)"
)
_SCHEMES = re.compile(
    r"4\d{15}(?:\d{3})?|5[1-5]\d{14}|222[1-9]\d{12}|22[3-9]\d{13}|2[3-6]\d{14}|27[01]\d{13}|2720\d{12}|"
    r"220[0-5]\d{12,15}|"
    r"3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35\d{14}|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}|"
    r"(?:5018|5020|5038|6304|6759|676[1-3])\d{8,15}|60\d{14}|508\d{13}"
)
"""Visa, Mastercard, Mir, American Express, Diners, JCB, Discover, UnionPay, Maestro, RuPay."""

_GROUPED_CARD = re.compile(r"(?:[45]\d|3[47]|22|6[0245])\d\d([ -])\d{4}\1\d{4}\1\d{4}")
"""Written in the groups of a card, whatever its check digit says: people mistype."""
_PAIRS = re.compile(r"0[1-9]([ .-])\d\d(?:\1\d\d){3}")
"""A French phone number; its head looks like a date."""
_SSN_SHAPE = re.compile(r"\d{3}([- ])\d{2}\1\d{4}")


def find(view: View, before: str) -> Iterator[Found]:
    """Cards, social security numbers and phones in `view`, spelled ones first."""
    for match in SPELLED_RUN.finditer(view.low):
        yield from _spelled(view, match, before)
    for match in _RUN.finditer(view.low):
        yield from _typed(view, match, before)


def _typed(view: View, match: re.Match[str], before: str) -> Iterator[Found]:
    whole = _found(view, match.start(), match.end(), before)
    if whole:
        yield whole
        return
    card = _card_prefix(match)
    if card:
        yield card
    start = card.end if card else match.start()
    for cut in (*_CUT.finditer(view.low, start, match.end()), None):
        end = cut.start() if cut else match.end()
        if (start, end) != match.span() and end - start >= 7:
            part = _found(view, start, end, before)
            if part:
                yield part
        start = cut.end() if cut else end


def _found(view: View, start: int, end: int, before: str) -> Found | None:
    while start < end and view.low[start] in " ./-*_•·~)":
        start += 1
    run = view.low[start:end]
    digits = re.sub(r"\D", "", run)
    if (
        len(digits) < 7
        or (not _PAIRS.fullmatch(run) and _NOT_PERSONAL.match(run))
        or _MONEY_AFTER.match(view.low, end)
    ):
        return None
    cue, adjacent = cue_of(view, start, end, before)
    kind = _kind_of(run, digits, cue, adjacent)
    if kind is None or (kind == "PHONE" and is_ending(view, start)):
        return None
    if kind == "PHONE" and (extension := _EXTENSION.match(view.low, end)):
        end = extension.end()
    if kind == "PHONE" and run.startswith(")"):
        start += 1
    return Found(start, end, kind, digits)


def _kind_of(run: str, digits: str, cue: Cue | None, adjacent: bool) -> Kind | None:
    """What a typed run is. `adjacent`: the cue stands right before it."""
    kept = cue == "keep" and adjacent
    if run.startswith("00") and len(digits) <= 17 and not kept and looks_like_phone(run, digits):
        return "PHONE"
    if _GROUPED_CARD.fullmatch(run) and not kept:
        return "CARD"
    if 13 <= len(digits) <= 19 and not run.startswith("+"):
        if cue == "card" or (is_card(digits) and (len(digits) in (15, 16) or not kept)):
            return "CARD"
        return None if kept or cue != "phone" else "PHONE"
    if run.startswith("+") and looks_like_phone(run, digits):
        return "PHONE"
    if cue in ("ssn", "id") and 8 <= len(digits) <= 12 and (adjacent or not looks_like_phone(run, digits)):
        return "SSN" if cue == "ssn" else "ID"
    if _SSN_SHAPE.fullmatch(run) and not kept and _is_ssn(digits):
        return "SSN"
    if kept or (cue in ("ssn", "id", "card") and adjacent):
        return None
    if looks_like_phone(run, digits) or (cue == "phone" and len(digits) <= 15):
        return "PHONE"
    return None


def cue_of(view: View, start: int, end: int, before: str) -> tuple[Cue | None, bool]:
    """The cue that speaks for the number at ``[start, end)``, and whether it stands right before it."""
    cue, adjacent = cue_before(view, start)
    if cue == "keep" and adjacent:
        return cue, True
    after = cue_after(view, end)
    if after and not adjacent:
        return after, True
    if cue is None and start <= NEAR_START:
        asked = cue_asked(before)
        return asked, asked is not None
    return cue, adjacent


def _card_prefix(match: re.Match[str]) -> Found | None:
    """A card at the head of a longer run: number, then expiry."""
    ends = [gap.start() for gap in re.finditer(r"(?<=\d)\D", match[0])]
    for end in reversed(ends):
        digits = re.sub(r"\D", "", match[0][:end])
        if is_card(digits):
            return Found(match.start(), match.start() + end, "CARD", digits)
    return None


def _spelled(view: View, match: re.Match[str], before: str) -> Iterator[Found]:
    run = match[0]
    digits = digits_of(run)
    if not 7 <= len(digits) <= 19:
        return
    cue, adjacent = cue_of(view, match.start(), match.end(), before)
    kept = cue == "keep" and adjacent
    if len(digits) >= 13 and (cue == "card" or is_card(digits)):
        yield Found(match.start(), match.end(), "CARD", digits)
    elif cue in ("ssn", "id"):
        yield Found(match.start(), match.end(), "SSN" if cue == "ssn" else "ID", digits)
    elif len(digits) <= 15 and not kept:
        yield Found(match.start(), match.end(), "PHONE", digits)


def is_card(digits: str) -> bool:
    """Whether `digits` are a payment card: a known scheme's first digits and length, and the Luhn check.

    One in ten numbers passes Luhn by chance, so an order number of 16 digits that begins like a card is
    masked now and then; a card number that leaks is worse.
    """
    from stdnum import luhn

    return _SCHEMES.fullmatch(digits) is not None and bool(luhn.is_valid(digits))


def _is_ssn(digits: str) -> bool:
    return not (digits.startswith(("000", "666")) or digits[3:5] == "00" or digits[5:] == "0000")
