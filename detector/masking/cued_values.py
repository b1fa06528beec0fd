"""Recognises values by the words before them: dates of birth, secrets, accounts, plates, vehicle numbers.

English, German, Spanish, French and Russian cues. A word without digits is a secret only after a colon or
"is", so that "my password is wrong" and "change my password" stay unmasked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.masking.digit_runs import NUMBER_WORD
from dialint.detector.masking.digit_runs import PATTERNS as NUMBERS
from dialint.detector.masking.identifiers import HAS_DIGIT
from dialint.detector.masking.lexicon import patterns, word_list
from dialint.detector.masking.name_words import NOT_NAMES
from dialint.detector.masking.spans import Entity, Kind, View

PATTERNS = patterns("cued_values", number_word=NUMBER_WORD)

_RUSSIAN_PLATE = re.compile(
    r"(?<!\w)[авекмнорстухabekmhopctyx] ?\d{3} ?[авекмнорстухabekmhopctyx]{2} ?\d{2,3}(?!\w)"
)
_VIN = re.compile(r"(?<!\w)[a-hj-npr-z\d]{17}(?!\w)")
_NO_SECRETS = NOT_NAMES | word_list("no_secrets")
_REQUESTS: tuple[tuple[Kind, re.Pattern[str], re.Pattern[str]], ...] = (
    ("SECRET", PATTERNS.secret_request, PATTERNS.secret_answer),
    ("BIRTH", PATTERNS.birth_request, PATTERNS.birth_answer),
    ("ACCOUNT", PATTERNS.account_request, PATTERNS.account_answer),
)
"""The kind, the request in the turn before, and the form of a turn that is only the answer."""
_SEARCHES: tuple[tuple[Kind, frozenset[str], tuple[re.Pattern[str], ...]], ...] = (
    ("BIRTH", word_list("birth_parts"), (PATTERNS.birth, PATTERNS.birth_after)),
    ("SECRET", word_list("code_parts"), (PATTERNS.code, PATTERNS.code_before)),
    ("SECRET", word_list("expiry_parts"), (PATTERNS.expiry,)),
    ("PLATE", word_list("plate_parts"), (PATTERNS.plate,)),
    ("ACCOUNT", word_list("account_parts"), (PATTERNS.account,)),
)
"""The kind, word parts of which one must be in the text (a cheap test before the search), and the
patterns."""


def find(view: View, before: str) -> Iterator[Entity]:
    """Dates of birth, secrets, accounts, plates and vehicle numbers in `view`; `before`, the turn before, may
    request one."""
    low = view.low
    if any(part in low for part in word_list("password_parts")):
        for match in PATTERNS.password.finditer(low):
            if result := _secret(view, match):
                yield result
        for match in PATTERNS.password_far.finditer(low):
            yield Entity(match.start("value"), match.end("value"), "SECRET", match["value"].rstrip(".!?:"))
    if not HAS_DIGIT.search(low) and not NUMBERS.spelled_number.search(low):
        return
    for match in _VIN.finditer(low):
        digits = sum(char.isdigit() for char in match[0])
        cued = PATTERNS.vin_cue.search(low, max(0, match.start() - 48), match.start())
        if 3 <= digits < 17 and (cued or _is_vin(match[0])):
            yield Entity(match.start(), match.end(), "VIN", match[0])
    for match in _RUSSIAN_PLATE.finditer(low):
        if view.text[match.start() : match.end()].isupper():
            yield Entity(match.start(), match.end(), "PLATE", re.sub(r"\W", "", match[0]))
    for kind, parts, forms in _SEARCHES:
        if any(part in low for part in parts):
            for pattern in forms:
                yield from (
                    _value(match, kind) for match in pattern.finditer(low) if _holds(view, match, kind)
                )
    for kind, request, answer_form in _REQUESTS:
        if (answer := answer_form.match(low)) and request.search(before, max(0, len(before) - 120)):
            yield _value(answer, kind)


def _secret(view: View, match: re.Match[str]) -> Entity | None:
    """The value after a word for a password, if it looks like one or the text states that it is one."""
    value = match["value"].rstrip(".!?:")
    written = view.text[match.start("value") : match.start("value") + len(value)]
    odd = any(not char.isalpha() for char in value) or written[1:] != written[1:].lower()
    if len(value) < 3 or written[:1] in "[{<" or "'" in value:
        return None
    if not (odd and any(char.isalnum() for char in value)):
        closed = match["value"] != value or not view.low[match.end() :].lstrip(" ")[:1].isalnum()
        if not PATTERNS.states.search(match["link"]) or not closed or value in _NO_SECRETS:
            return None
        if value.endswith(("ed", "ing", "ly")):
            return None
    return Entity(match.start("value"), match.start("value") + len(value), "SECRET", value)


def _holds(view: View, match: re.Match[str], kind: Kind) -> bool:
    """Whether a match is confirmed by checks beyond its pattern."""
    if kind == "PLATE":
        value = view.text[match.start("value") : match.end("value")]
        digits = sum(char.isdigit() for char in value)
        return 4 < len(value) < 12 and 2 <= digits < len(value) and value == value.upper()
    return kind != "ACCOUNT" or not PATTERNS.money_after.match(view.low, match.end())


_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
_VIN_VALUES = dict(
    zip("abcdefghjklmnprstuvwxyz", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)), strict=True)
)


def _is_vin(text: str) -> bool:
    """Whether the check digit of a North American vehicle number is valid."""
    total = sum(
        weight * (int(char) if char.isdigit() else _VIN_VALUES[char])
        for char, weight in zip(text, _WEIGHTS, strict=True)
    )
    return text[8] == "0123456789x"[total % 11]


def _value(match: re.Match[str], kind: Kind) -> Entity:
    key = "".join(char for char in match["value"] if char.isalnum())
    return Entity(match.start("value"), match.end("value"), kind, key)
