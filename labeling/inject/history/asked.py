"""What a customer's turn asks for, and what a reply is about: who may say that an ask was passed over.

Patterns of plain English. Every test has a third answer, "not clear", and the families leave such places
out: an example too few costs less than a wrong label.
"""

from __future__ import annotations

import re

from dialint.labeling.inject.places import asks_question, content_words, is_thanks, sentences
from dialint.labeling.inject.wordings.asked import (
    ASKED,
    MATTERS,
    MAYBE,
    NO_MORE,
    OPENER,
    REFUSES,
    TOLD,
    WIDE,
    WISH,
)

_NO_MORE, _REFUSES, _WISH, _MAYBE, _WIDE, _OPENER = (
    re.compile(pattern, re.IGNORECASE) for pattern in (NO_MORE, REFUSES, WISH, MAYBE, WIDE, OPENER)
)
_ASKED_OF = {point: re.compile(pattern, re.IGNORECASE) for point, pattern in ASKED.items()}
_TOLD_OF = {
    point: re.compile(pattern, 0 if point in ("who", "name") else re.IGNORECASE)
    for point, pattern in TOLD.items()
}
_MATTER_OF = {matter: re.compile(pattern, re.IGNORECASE) for matter, pattern in MATTERS.items()}


def asks_clearly(text: str) -> bool:
    """Whether a customer asks a question or utters a wish here, and does not decline in the same breath."""
    if asks_question(text):
        return True
    return any(_WISH.search(part) and not _REFUSES.search(part.strip()) for part in _wants(text))


def asks_nothing(text: str, before: str = "") -> bool:
    """Whether the customer surely asks nothing and hands over nothing to be dealt with; `before` is what
    the agent had said, since an answer to a question of his wants to be acted on."""
    if "?" in before or "?" in text or any(_WISH.search(part) for part in _wants(text)):
        return False
    return is_thanks(text) or bool(_REFUSES.search(text)) or not _MAYBE.search(text)


def _wants(text: str) -> list[str]:
    """The sentences without "all I need" and the like."""
    return sentences(_NO_MORE.sub("", text))


def left_open(text: str, before: str = "") -> bool | None:
    """Whether an ask stays open when this customer turn is passed over; None if that is not clear."""
    if asks_clearly(text):
        return True
    return False if asks_nothing(text, before) else None


def points_of(ask: str) -> frozenset[str]:
    """The points (place, price, time ...) that a customer's definite question asks for; none if his
    question is wide, so that many a reply could pass for an answer."""
    asked = " ".join(part for part in sentences(ask) if "?" in part)
    if not asked or _WIDE.search(asked):
        return frozenset()
    return frozenset(point for point, pattern in _ASKED_OF.items() if pattern.search(asked))


def opens_like_an_answer(reply: str) -> bool:
    """Whether a yes, a no or a regret is at the reply's head, so that it might answer anything."""
    return bool(_OPENER.search(reply))


def surely_unanswered(ask: str, reply: str) -> bool:
    """Whether the question is definite and the reply touches none of its points."""
    points = points_of(ask)
    return (
        bool(points)
        and not opens_like_an_answer(reply)
        and not any(_TOLD_OF[point].search(reply) for point in points)
    )


def matters_of(text: str) -> frozenset[str]:
    """The trades that the text speaks of by name."""
    return frozenset(matter for matter, pattern in _MATTER_OF.items() if pattern.search(text))


def another_matter(reply: str, heard: str) -> bool | None:
    """Whether the reply brings in a matter of which nothing was `heard` before; None if that is not clear."""
    matters, told = matters_of(reply), matters_of(heard)
    if matters:
        return False if matters & told else True if told else None
    common = content_words(reply) & content_words(heard)
    return False if len(common) >= 2 or len(content_words(reply)) <= 3 else None
