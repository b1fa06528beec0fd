"""Punctuation and capital letters (L3): slips that any native editor would mend, in English.

Not read: a missing last full stop, names, and the style of an agent who writes all in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn

_LETTER = re.compile(r"[^\W\d_]")
_FIRST_WORD = re.compile(r"\A[\s\"'“‘(*]{0,8}+([a-z][a-z']*+)(?=[\s,.!?;:]|\Z)")
"""A plain first word in lower case: no name with capitals or digits inside, no address, no list number."""
_NEXT_WORD = re.compile(r"(?<=[a-z]{3}[.?]) ([a-z]{2,}+)(?=[\s,]|\Z)")
_NO_SPACE = re.compile(r"(?<=[a-z]{3})[.!?,](?=[A-Z][a-z])|(?<=[a-z]{3}),(?=[a-z]{3})")
_SPACE_BEFORE = re.compile(r"(?<=[a-z]{2})[ ]++(?=[,?!](?:\s|\Z))")
_PRONOUN = re.compile(r"(?<=[a-z,] )i(?:'(?:m|ll|ve|d))?(?= [a-z])")
_DATE_NAME = re.compile(
    r"(?<![\w'-])(?:(?:january|february|march|april|june|july|august|september|october|november|december)"
    r"(?= \d)|(?:mon|tues|wednes|thurs|fri|satur|sun)day)(?![\w-])"
)
_ABBREVIATED = re.compile(
    r"\b(?:etc|approx|incl|dept|tel|min|max|avg|est|appt|mins|hrs|www)[.]\Z", re.IGNORECASE
)
_ADDRESS = re.compile(r"(?<!\S)(?=\S*(?:@|://|www[.]|[.](?:com|org|net|uk|io)\b))\S++")
MIN_WORDS = 3


@check(L3=Evidence(estimate=0.968, report="suggestion"), languages=("en",))
def format_slip(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Detects a sentence that begins in lower case, "i" for "I", a weekday or a month with its day in lower
    case, a missing space after a mark, and one too many before it.

    Of 60 hits drawn from STAR, MultiWOZ, SGD, taskmaster4 and stc3 59 were such slips (2026-11-23). Whether
    a team wants to hear of them is another question: 7 of 100 turns of MultiWOZ have one, 2 of SGD, 1 of
    STAR."""
    judged = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES and _LETTER.search(turn.text)]
    lower = [turn.index for turn in judged if _FIRST_WORD.match(turn.text)]
    casual = len(judged) > 1 and 2 * len(lower) > len(judged)
    for turn in judged:
        slip = _first_slip(turn, casual)
        if slip is not None:
            yield Hit(turn.index, *slip)


def _first_slip(turn: Turn, casual: bool) -> tuple[int, int, str] | None:
    text = _ADDRESS.sub(lambda match: "#" * len(match[0]), turn.text)
    if len(text.split()) < MIN_WORDS or "{" in text:
        return None
    if not casual:
        if match := _FIRST_WORD.match(text):
            return (*match.span(1), "the sentence begins in lower case")
        for match in _NEXT_WORD.finditer(text):
            if not _ABBREVIATED.search(text[max(0, match.start() - 20) : match.start()]):
                return (*match.span(1), "the sentence begins in lower case")
        if match := _PRONOUN.search(text):
            return (*match.span(), "the pronoun I in lower case")
        if match := _DATE_NAME.search(text):
            return (*match.span(), "a day or month in lower case")
    if match := _NO_SPACE.search(text):
        return _word_around(text, match.start(), "no space after the mark")
    if match := _SPACE_BEFORE.search(text):
        return _word_around(text, match.start(), "a space before the mark")
    return None


def _word_around(text: str, position: int, why: str) -> tuple[int, int, str]:
    start = text.rfind(" ", 0, position) + 1
    end = text.find(" ", position + 2)
    return start, len(text) if end < 0 else end, why
