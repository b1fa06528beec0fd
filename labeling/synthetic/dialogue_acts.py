"""What a turn does in a dialogue: asks, wishes, thanks, closes; and whether a reply answers an ask.

Patterns of plain English. The tests of asks have a third answer, "not clear", and the families leave such
turns out: an example too few costs less than a wrong label.
"""

from __future__ import annotations

import re

from dialint.labeling.synthetic.wordings import Wordings

_REQUEST = re.compile(
    r"\b(can|could|would|will) you\b|\b(please|tell me|let me know|i('d| would)? (also )?(need|like|want)"
    r"|do you|is there|are there|what|which|how (much|many|long|far|do|can|about)|when|where)\b",
    re.IGNORECASE,
)

_QUESTION = re.compile(
    r"\b(what|which|how|when|where|why|who|can|could|does|do|is|are|will|would)\b[^.?!]{6,500}\?",
    re.IGNORECASE,
)

_THANKS = re.compile(
    r"\b(thanks?|thank you|thx|cheers|that('s| is| will be) all|bye|great|perfect)\b", re.IGNORECASE
)

_CLOSING = re.compile(
    r"\b(good ?bye|bye|have a (great|good|nice|wonderful|lovely)|take care|enjoy your"
    r"|thank(s| you) for (using|contacting|calling|choosing))\b",
    re.IGNORECASE,
)

_NOD = re.compile(
    r"(ok(ay)?|i see|cool|nice|wow|got it|good to know|alright|all right|interesting|thanks|thank you)"
    r"[\w ,.!']{0,16}",
    re.IGNORECASE,
)

_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+(?=\s|$)|[.](?=\d)[^.!?]*|$)\s*")

_RULES = Wordings("rules/dialogue_acts")
FUNCTION_WORDS = frozenset(_RULES.texts("function_words"))
"""Words that may be shared by texts on any two topics."""


def asks_question(text: str) -> bool:
    """Whether the text holds a real question, longer than "ok?"."""
    return bool(_QUESTION.search(text))


def asks_anything(text: str) -> bool:
    """Whether the text asks for anything, as a question or as a wish."""
    return "?" in text or bool(_REQUEST.search(text))


def is_thanks(text: str) -> bool:
    """Whether the text thanks, praises or takes leave."""
    return bool(_THANKS.search(text))


def is_closing(text: str) -> bool:
    """Whether an agent takes leave in the text."""
    return bool(_CLOSING.search(text))


def is_nod(text: str) -> bool:
    """Whether the customer just nods: nothing is left to be answered or done."""
    return "?" not in text and bool(_NOD.fullmatch(text.strip()))


def sentences(text: str) -> list[str]:
    """The text cut after sentence ends; joined again they are the text."""
    parts = _SENTENCE.findall(text)
    return parts if "".join(parts) == text else [text]


def words_of(text: str) -> set[str]:
    """The words of four letters or more, in lower case."""
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def content_words(text: str) -> set[str]:
    """The words that carry meaning, cut to six letters so that forms of one word agree."""
    return {word[:6] for word in words_of(text) if word not in FUNCTION_WORDS}


NO_MORE = _RULES.text("no_more")
"""A wish in words only."""

REFUSES = _RULES.text("refuses")
"""A customer who wants nothing more."""

WISH = _RULES.text("wish")
"""A customer who wants something, question mark or not."""

MAYBE = _RULES.text("maybe")
"""Words with which a turn may ask for something or hand something over."""

WIDE = _RULES.text("wide")
"""A question that many a reply could pass for an answer to."""

OPENER = _RULES.text("opener")
"""How answers begin that might belong to any question."""

QUESTION_PATTERNS = _RULES.mapping("question_patterns")
"""The points that definite questions ask for."""

ANSWER_PATTERNS = _RULES.mapping("answer_patterns")
"""For each point, what an answer to it may hold."""

_NO_MORE, _REFUSES, _WISH, _MAYBE, _WIDE, _OPENER = (
    re.compile(pattern, re.IGNORECASE) for pattern in (NO_MORE, REFUSES, WISH, MAYBE, WIDE, OPENER)
)

_QUESTION_REGEXES = {
    point: re.compile(pattern, re.IGNORECASE) for point, pattern in QUESTION_PATTERNS.items()
}

_ANSWER_REGEXES = {
    point: re.compile(pattern, 0 if point in ("who", "name") else re.IGNORECASE)
    for point, pattern in ANSWER_PATTERNS.items()
}


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


def leaves_ask_open(text: str, before: str = "") -> bool | None:
    """Whether an ask stays open when this customer turn is passed over; None if that is not clear."""
    if asks_clearly(text):
        return True
    return False if asks_nothing(text, before) else None


def ask_points(ask: str) -> frozenset[str]:
    """The points (place, price, time ...) that a customer's definite question asks for; none if his
    question is wide, so that many a reply could pass for an answer."""
    questions = " ".join(part for part in sentences(ask) if "?" in part)
    if not questions or _WIDE.search(questions):
        return frozenset()
    return frozenset(point for point, pattern in _QUESTION_REGEXES.items() if pattern.search(questions))


def opens_like_answer(reply: str) -> bool:
    """Whether a yes, a no or a regret is at the reply's head, so that it might answer anything."""
    return bool(_OPENER.search(reply))


def is_surely_unanswered(ask: str, reply: str) -> bool:
    """Whether the question is definite and the reply touches none of its points."""
    points = ask_points(ask)
    return (
        bool(points)
        and not opens_like_answer(reply)
        and not any(_ANSWER_REGEXES[point].search(reply) for point in points)
    )
