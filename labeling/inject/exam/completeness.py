"""Questions passed over (C1): a neighbouring question is answered instead, or one from another talk."""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.inject.exam.staging import as_agent, customer, pauses, side_question
from dialint.labeling.inject.exam.wordings.aspects import ASPECTS, DEFERRALS, NEAR
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Made, Pool
from dialint.labeling.synthetic.insertion import spoken
from dialint.labeling.synthetic.places import (
    answered_asks,
    asks_question,
    content_words,
    is_closing,
    plain,
    shuffled,
    spliced,
    wrong,
)

_POINTS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "phone": r"phone|number|call|\d{7}",
        "place": r"address|where|located|area|street|road|postcode|centre|center|north|south|east|west",
        "money": r"price|cost|how much|fee|fare|pounds?|gbp|[$£€]|expensive|cheap|free|dollar",
        "time": r"when|what time|how long|hours?|open|close|leave|arriv|minutes|\d:\d\d|\b[ap]m\b|day|date",
        "kind": r"what (kind|type|sort)|rating|stars?|food|cuisine|colou?r|look like|wifi|parking|internet",
        "count": r"how many|available|availab|are there|is there|do you have|do they have",
        "ref": r"reference|confirmation|booking|order|status",
    }.items()
}
_ASKED = re.compile(r"\b(what|which|when|where|who|how (much|many|long|far))\b[^?.!]{6,500}\?", re.IGNORECASE)
_PUTS_OFF = re.compile(
    r"\b(let me|i will|i'll|moment|check|look|sorry|unfortunately|cannot|can't|don't|not|"
    r"unable|sure|certainly|yes|no|would you|could you|welcome|help)\b|\?",
    re.IGNORECASE,
)


def _points(text: str) -> set[str]:
    """What the text may be about: phone, place, money and so on."""
    return {name for name, pattern in _POINTS.items() if pattern.search(text)}


def _neighbour(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """A side question, and the answer to another one, which is a jump too; the twin asks that other one."""
    for place in pauses(draft, rng):
        one, other = rng.sample(list(ASPECTS), 2)
        while frozenset({one, other}) in NEAR:
            one, other = rng.sample(list(ASPECTS), 2)
        question, answer = side_question(other, rng)
        asked = customer(side_question(one, rng)[0], draft)
        fitting, words = customer(question, draft), as_agent(answer, draft)
        return Made(
            spliced(draft, place, place, (asked, wrong(words, "C1.neighbour-question", "C1", "U5"))),
            spliced(draft, place, place, (fitting, plain("agent", words, "C1"))),
        )
    return None


def _elsewhere(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The reply comes from another talk of this trade; the twin's customer had asked for that."""
    known = pool.exchanges.get(draft.domain, [])
    for place in shuffled(answered_asks(draft), rng) if known else ():
        ask = draft.turns[place - 1].text
        if place < 2 or not _ASKED.search(ask) or ask.count("?") > 1 or is_closing(draft.turns[place].text):
            continue
        for question, reply in rng.sample(known, min(len(known), 60)):
            if _unfit(ask, draft.turns[place].text, question, reply):
                continue
            fitting = DraftTurn("customer", question, touched=True)
            return Made(
                draft.with_turn(place, wrong(reply, "C1.reply-from-elsewhere", "C1")),
                spliced(draft, place - 1, place + 1, (fitting, plain("agent", reply, "C1"))),
            )
    return None


def _unfit(ask: str, own: str, question: str, reply: str) -> bool:
    """Whether the borrowed exchange is of no use here: it may answer the ask, or is no real answer."""
    words = content_words(reply)
    return (
        len(words) < 3
        or len(reply) > 200
        or is_closing(reply)
        or bool(_PUTS_OFF.search(reply))
        or not asks_question(question)
        or bool(words & content_words(ask))
        or bool(_points(ask) & (_points(reply) | _points(question)))
        or not _points(ask)
        or not words & content_words(question) | _answering(question, reply)
        or reply == own
    )


def _answering(question: str, reply: str) -> set[str]:
    """The words of the reply if it speaks of what the question asks for."""
    return content_words(reply) if _points(question) & _points(reply) else set()


def _deferred(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """A question put off with a reason and a time, or asked about."""
    for place in pauses(draft, rng):
        asked = customer(spoken(rng.choice(rng.choice(list(ASPECTS.values()))[0]), {}, rng), draft)
        words = as_agent(spoken(rng.choice(DEFERRALS), {}, rng), draft)
        return spliced(draft, place, place, (asked, plain("agent", words, "C1")))
    return None


FAMILIES = (
    Family("C1", "C1.neighbour-question", _neighbour, "exam"),
    Family("C1", "C1.reply-from-elsewhere", _elsewhere, "exam"),
)
NEGATIVES = (HardNegative("C1", "C1.not-put-off", _deferred, "exam"),)
