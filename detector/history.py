"""Which words of a turn were said before in the dialogue, and by whom: exact, and free for the model.

Asking again, contradicting oneself, repeating and passing over a question all show in what is new and
what is not. A small encoder learns to compare far words slowly; this tells it. Knows words and numbers
as they are written, no meaning: "5" and "five" agree, "booked" and "booking" do not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

KINDS = 5
"""0: no word, or a short one; 1: new; 2: said before by the same side; 3: by the other; 4: by both."""

_WORD = re.compile(r"\d+(?:[.:,]\d+)*|[^\W\d_]+")
_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
    "twenty",
)
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS)}
MIN_LETTERS = 3


def said_before(turns: Iterable[tuple[bool, str]], *, own: bool = True) -> list[list[tuple[int, int, int]]]:
    """The words of each turn as (start, end, kind), offsets into its text, end exclusive.

    `turns` are (whether the judged side speaks, text), in order; a word is compared with earlier turns
    only, so that a dialogue cut short gives the same kinds. Without `own` nothing counts as said before
    by the judged side.
    """
    said: tuple[set[str], set[str]] = (set(), set())
    found = []
    for judged, text in turns:
        words = [(match.start(), match.end(), _form(match[0])) for match in _WORD.finditer(text)]
        same, other = said[judged], said[not judged]
        found.append(
            [
                (start, end, 1 + (form in same) + 2 * (form in other))
                for start, end, form in words
                if _counts(form)
            ]
        )
        if own or not judged:
            same.update(form for _, _, form in words)
    return found


def forms_of(text: str) -> frozenset[str]:
    """The words of a text that count, as they are compared."""
    forms = (_form(match[0]) for match in _WORD.finditer(text))
    return frozenset(form for form in forms if _counts(form))


def kinds_of(words: Sequence[tuple[int, int, int]], offsets: Sequence[tuple[int, int]]) -> list[int]:
    """The kind of each token, given its character offsets: that of the first word it touches, else 0.

    Tokens of byte-level tokenizers begin with the space before their word.
    """
    ends = [end for _, end, _ in words]
    kinds = []
    for start, end in offsets:
        place = bisect_right(ends, start)
        inside = start < end and place < len(words) and words[place][0] < end
        kinds.append(words[place][2] if inside else 0)
    return kinds


def _form(word: str) -> str:
    """How a word is compared: in lower case, small numbers as digits, no thousands mark."""
    low = word.lower()
    return _DIGITS.get(low, low.replace(",", "") if low[0].isdigit() else low)


def _counts(form: str) -> bool:
    return form[0].isdigit() or len(form) >= MIN_LETTERS
