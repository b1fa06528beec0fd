"""Numbers that are mostly digits: payment cards, social security numbers, phones; typed or spelled out.

One pass finds runs of digits, another runs of number words (English, Spanish, Russian); `_kind_of` decides
what each is, or that it is an order, a price, a date and stays: by the nearest cue before it, else by one
right after it, else, at the beginning of a turn, by the request of the turn before. International phone
numbers are checked with libphonenumber, with its looser test: numbers that are possible, assigned or not.
National shapes are rules of our own: trying every country on every number would cost a millisecond each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from dialint.detector.masking.lexicon import PATTERN_FILE, patterns
from dialint.detector.masking.spans import Entity, Kind, View
from dialint.detector.yaml_document import read_section

Cue = Literal["keep", "phone", "card", "ssn", "id"]
"""`keep`: an order, a ticket, a price: not personal."""

_BY_GROUP: dict[str, Cue] = {
    "phone": "phone",
    "unspaced_phone": "phone",
    "card": "card",
    "ssn": "ssn",
    "id": "id",
}

_NUMBERS = read_section(PATTERN_FILE, "number_words")
_TENS = _NUMBERS["tens"]
_VALUES = _NUMBERS["digits"] | _TENS
_TIMES = {word: int(times) for word, times in _NUMBERS["times"].items()}
NUMBER_WORD = "|".join(sorted((*_VALUES, *_TIMES), key=len, reverse=True))
PATTERNS = patterns("numbers", number_word=NUMBER_WORD)

WINDOW = 64


_FOREIGN = re.compile(r"\d{3}|[{}\[\]]")
_SENTENCE_END = re.compile(r"[.!?\n]")


def cue_before(view: View, start: int) -> tuple[Cue | None, bool]:
    """The nearest cue in the `WINDOW` characters before `start`, and whether only filler words and other
    numbers are in between. A cue before another number counts only if it is adjacent."""
    cues = list(PATTERNS.cues.finditer(view.low, max(0, start - WINDOW), start))
    while len(cues) > 1 and _belongs(view, cues[-2], cues[-1]):
        cues.pop()
    if not cues:
        return None, False
    nearest = cues[-1]
    adjacent = PATTERNS.filler.fullmatch(view.low, nearest.end(), start) is not None
    if not adjacent and _FOREIGN.search(view.low, nearest.end(), start):
        return None, False
    return _cue_of(nearest), adjacent


def _belongs(view: View, first: re.Match[str], second: re.Match[str]) -> bool:
    """Returns whether the cue `second` qualifies `first`, as in "phone #" or "the card on my account"."""
    is_mixed = _cue_of(first) != "keep" == _cue_of(second)
    return is_mixed and PATTERNS.link.fullmatch(view.low, first.end(), second.start()) is not None


def cue_after(view: View, end: int) -> Cue | None:
    """The cue right after a number, as in "... is my mobile"."""
    window = view.low[end : end + 40]
    match = PATTERNS.verb.match(window)
    if not match:
        return None
    sentence = _SENTENCE_END.split(window[match.end() :], maxsplit=1)[0]
    result = PATTERNS.cues.search(sentence)
    return _cue_of(result) if result else None


def cue_requested(before: str) -> Cue | None:
    """The kind of number that the turn before requested, by its last cue."""
    cues = list(PATTERNS.cues.finditer(before, max(0, len(before) - 200)))
    return _cue_of(cues[-1]) if cues else None


def is_ending(view: View, start: int) -> bool:
    """Returns whether the number at `start` is described as the end of a longer one ("last four digits")."""
    return PATTERNS.ending.search(view.low, max(0, start - 40), start) is not None


def _cue_of(match: re.Match[str]) -> Cue:
    return _BY_GROUP.get(str(match.lastgroup), "keep")


def spelled_digits(run: str) -> str:
    """Parses a lower-case run of number words: "double five twenty one" is "5521".

    Hundreds swallow the tens after them and tens the ones, as people read phone numbers.
    """
    digits: list[str] = []
    times = 1
    for word in re.findall(r"\w+", run):
        if word in _TIMES or word == "plus":
            times = _TIMES.get(word, 1)
            continue
        value = _VALUES.get(word, word)
        room = 0 if not digits or times > 1 or word.isdigit() else _zeros_to_fill(digits[-1], value)
        if room:
            digits[-1] = digits[-1][:-room] + value
        else:
            digits.append(value * times)
        times = 1
    return "".join(digits)


def _zeros_to_fill(last: str, value: str) -> int:
    """The number of closing zeros of `last` ("20", "900") that the smaller number `value` replaces."""
    if len(last) < 2 or len(value) >= len(last) or value == "0" or not last.endswith("0" * len(value)):
        return 0
    return len(value) if last in _TENS.values() or len(last) == 3 else 0


_AMERICAN = re.compile(r"(?:\+?1[ .-]?)?\(?[2-9]\d\d\)?[ ./-]{1,3}\d{3}[ ./-]{1,3}\d{4}")
_AREA_IN_BRACKETS = re.compile(r"(?:\+?\d{1,3}[ .-]?)?\(\d{2,5}\)[ .-]?\d[\d .-]{4,10}")
_RUSSIAN = re.compile(r"8[ -]?\(?[3489]\d\d\)?[ -]?\d{3}[ -]\d\d[ -]?\d\d")
_EIGHT_FREE = re.compile(r"1?[ -]?(?:800|888|877|866|855|844|833)[ .-]\d{3}[ .-]?\d{4}")
_TRUNK = re.compile(r"\(?0\d{1,4}\)?(?:[ ./-]{1,3}\d{2,8}){1,5}")
_MOBILE = re.compile(r"07\d{9}|01[567]\d{8,9}|0[5-7]\d{8}|04\d{8}|8?9\d{9}(?<=^8\d{10})")
_SINGLE = re.compile(r"\d(?:[ .\-*_•·~/]{1,3}\d){6,14}")
_COUNTING = "0123456789101112131415"


def is_phone(run: str, digits: str) -> bool:
    """Returns whether `run` has the form of a phone number and of nothing else, so that it needs no cue."""
    if run.startswith("+"):
        return 8 <= len(digits) <= 15 and _is_international(digits)
    if digits.startswith("00") and len(digits) <= 17:
        return len(digits) >= 11 and _is_international(digits[2:])
    if not 7 <= len(digits) <= 13:
        return False
    if any(form.fullmatch(run) for form in (_AMERICAN, _AREA_IN_BRACKETS, _RUSSIAN, _EIGHT_FREE)):
        return True
    if _SINGLE.fullmatch(run):
        return digits not in _COUNTING
    if run == digits:
        return _MOBILE.fullmatch(run) is not None
    return 9 <= len(digits) <= 12 and _TRUNK.fullmatch(run) is not None


@lru_cache(maxsize=4096)
def _is_international(digits: str) -> bool:
    import phonenumbers

    try:
        number = phonenumbers.parse(f"+{digits}")
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_possible_number(number))


NEAR_START = 24
"""Characters from the start of a turn within which a number may answer the turn before."""

_CUT = re.compile(r"\s?/\s|\s/|\s-\s|\s{2,}|\)\s?\(")
_NOT_PERSONAL = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:\D|$)|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d{2}(?:\D|$)|"
    r"\d{1,2}[-/. ]\d{1,2}[-/. ](?:19|20)\d{2}(?:\D|$)|(?:19|20)\d\d ?[-/] ?(?:19|20)\d\d$|"
    r"\d{1,24}\.\d\d[ /-]{1,3}\d{1,24}\.\d\d$|\+?\s?\d{1,24}\.\d\d?\s?[-+/*]|"
    r"\d{1,3}(?:[. ]\d{3}){1,8}$(?<=000)"
)
_SCHEMES = re.compile(
    r"4\d{15}(?:\d{3})?|5[1-5]\d{14}|222[1-9]\d{12}|22[3-9]\d{13}|2[3-6]\d{14}|27[01]\d{13}|2720\d{12}|"
    r"220[0-5]\d{12,15}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35\d{14}|6(?:011|5\d\d|4[4-9]\d)\d{12}|"
    r"62\d{14,17}|(?:5018|5020|5038|6304|6759|676[1-3])\d{8,15}|60\d{14}|508\d{13}"
)
"""Visa, Mastercard, Mir, American Express, Diners, JCB, Discover, UnionPay, Maestro, RuPay."""

_GROUPED_CARD = re.compile(r"(?:[45]\d|3[47]|22|6[0245])\d\d([ -])\d{4}\1\d{4}\1\d{4}")
"""Written in the groups of a card, whatever its check digit says: people mistype."""
_PAIRS = re.compile(r"0[1-9]([ .-])\d\d(?:\1\d\d){3}")
"""A French phone number; its head looks like a date."""
_SSN_SHAPE = re.compile(r"\d{3}([- ])\d{2}\1\d{4}")


def find(view: View, before: str) -> Iterator[Entity]:
    """Cards, social security numbers and phones in `view`, spelled ones first."""
    for match in PATTERNS.spelled_run.finditer(view.low):
        yield from _spelled_entities(view, match, before)
    for match in PATTERNS.run.finditer(view.low):
        yield from _typed_entities(view, match, before)


def _typed_entities(view: View, match: re.Match[str], before: str) -> Iterator[Entity]:
    whole = _typed_entity(view, match.start(), match.end(), before)
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
            part = _typed_entity(view, start, end, before)
            if part:
                yield part
        start = cut.end() if cut else end


def _typed_entity(view: View, start: int, end: int, before: str) -> Entity | None:
    while start < end and view.low[start] in " ./-*_•·~)":
        start += 1
    run = view.low[start:end]
    digits = re.sub(r"\D", "", run)
    if (
        len(digits) < 7
        or (not _PAIRS.fullmatch(run) and _NOT_PERSONAL.match(run))
        or PATTERNS.money_after.match(view.low, end)
    ):
        return None
    cue, adjacent = cue_of(view, start, end, before)
    kind = _kind_of(run, digits, cue, adjacent)
    if kind is None or (kind == "PHONE" and is_ending(view, start)):
        return None
    if kind == "PHONE" and (extension := PATTERNS.extension.match(view.low, end)):
        end = extension.end()
    if kind == "PHONE" and run.startswith(")"):
        start += 1
    return Entity(start, end, kind, digits)


def _kind_of(run: str, digits: str, cue: Cue | None, adjacent: bool) -> Kind | None:
    """Classifies a typed run. `adjacent`: the cue stands right before it."""
    retained = cue == "keep" and adjacent
    if run.startswith("00") and len(digits) <= 17 and not retained and is_phone(run, digits):
        return "PHONE"
    if _GROUPED_CARD.fullmatch(run) and not retained:
        return "CARD"
    if 13 <= len(digits) <= 19 and not run.startswith("+"):
        if cue == "card" or (is_card(digits) and (len(digits) in (15, 16) or not retained)):
            return "CARD"
        return None if retained or cue != "phone" else "PHONE"
    if run.startswith("+") and is_phone(run, digits):
        return "PHONE"
    if cue in ("ssn", "id") and 8 <= len(digits) <= 12 and (adjacent or not is_phone(run, digits)):
        return "SSN" if cue == "ssn" else "ID"
    if _SSN_SHAPE.fullmatch(run) and not retained and _is_ssn(digits):
        return "SSN"
    if retained or (cue in ("ssn", "id", "card") and adjacent):
        return None
    if is_phone(run, digits) or (cue == "phone" and len(digits) <= 15):
        return "PHONE"
    return None


def cue_of(view: View, start: int, end: int, before: str) -> tuple[Cue | None, bool]:
    """The cue for the number at ``[start, end)``, and whether it stands right before it."""
    cue, adjacent = cue_before(view, start)
    if cue == "keep" and adjacent:
        return cue, True
    after = cue_after(view, end)
    if after and not adjacent:
        return after, True
    if cue is None and start <= NEAR_START:
        requested = cue_requested(before)
        return requested, requested is not None
    return cue, adjacent


def _card_prefix(match: re.Match[str]) -> Entity | None:
    """A card at the head of a longer run: number, then expiry."""
    ends = [gap.start() for gap in re.finditer(r"(?<=\d)\D", match[0])]
    for end in reversed(ends):
        digits = re.sub(r"\D", "", match[0][:end])
        if is_card(digits):
            return Entity(match.start(), match.start() + end, "CARD", digits)
    return None


def _spelled_entities(view: View, match: re.Match[str], before: str) -> Iterator[Entity]:
    run = match[0]
    digits = spelled_digits(run)
    if not 7 <= len(digits) <= 19:
        return
    cue, adjacent = cue_of(view, match.start(), match.end(), before)
    retained = cue == "keep" and adjacent
    if len(digits) >= 13 and (cue == "card" or is_card(digits)):
        yield Entity(match.start(), match.end(), "CARD", digits)
    elif cue in ("ssn", "id"):
        yield Entity(match.start(), match.end(), "SSN" if cue == "ssn" else "ID", digits)
    elif len(digits) <= 15 and not retained:
        yield Entity(match.start(), match.end(), "PHONE", digits)


def is_card(digits: str) -> bool:
    """Returns whether `digits` are a payment card: prefix and length of a known scheme, and the Luhn check.

    One in ten numbers passes Luhn by chance, so an order number of 16 digits that begins like a card is
    masked now and then; a card number that leaks is worse.
    """
    from stdnum import luhn

    return _SCHEMES.fullmatch(digits) is not None and bool(luhn.is_valid(digits))


def _is_ssn(digits: str) -> bool:
    return not (digits.startswith(("000", "666")) or digits[3:5] == "00" or digits[5:] == "0000")
