"""Sums that a message works out itself, wrongly: three nights at 80 euros each are no 260 (I4)."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from dialint.detector.checks.context import CheckContext, Evidence, Hit, check
from dialint.detector.checks.words import SENTENCE, patterns, read_words
from dialint.detector.records import JUDGED_ROLES, Dialogue

PATTERNS = patterns("sums")


@check(I4=Evidence(), languages=("en",))
def wrong_sum(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a number of things at a price each whose total in the same sentence is another one; a total with
    tax, a fee or a discount beside it, or one that is rounded, is left alone."""
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        for sentence in SENTENCE.finditer(turn.text):
            match = PATTERNS.product.search(sentence[0])
            if match is None or PATTERNS.beside.search(sentence[0]):
                continue
            count, price, total = (_value(match[name]) for name in ("count", "price", "total"))
            if not isclose(count * price, total, abs_tol=0.011):
                start = sentence.start() + len(sentence[0]) - len(sentence[0].lstrip())
                why = f"{count:g} times {price:g} are {count * price:g}"
                yield Hit(turn.index, start, sentence.start() + len(sentence[0].rstrip()), why)
                break


def _value(text: str) -> float:
    numbers: dict[str, int] = read_words("number_words")
    return float(numbers.get(text.casefold()) or text.replace(",", ""))
