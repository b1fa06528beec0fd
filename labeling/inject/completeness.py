"""C1: a question that the agent passes over.

The customer asks; the reply is neither an answer, nor a deferral with a reason, nor a question about
it. Twins hold the same words where they are in order: beside the answer, or as an honest deferral.
"""

from __future__ import annotations

import re
from random import Random

from labeling.inject.draft import Draft, Family, Made, Pool, Use
from labeling.inject.phrases import Grammar, capital, like, say
from labeling.inject.places import (
    agent_texts,
    answered_asks,
    content_words,
    is_closing,
    joined,
    plain,
    sentences,
    shuffled,
    spliced,
    wrong,
)
from labeling.inject.wordings.evasions import ADVERT, AHEAD, DEFER, ECHO, NOD, STALL

MAX_TRIES = 40

_POINTED = re.compile(
    r"\b(what|which|how|when|where|why|who|is there|are there|is it|is that|are they|do they|does|do you"
    r"|will it|can i|could i|have you)\b[^?]{5,}\?",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"^\s*(and |so )?(would you like|do you want|shall i|should i|can i|may i|could i|is there anything"
    r"|anything else|does that|is that|how does that|do you need)\b",
    re.IGNORECASE,
)
_DEFERS = re.compile(
    r"\b(check|moment|look|minute|sorry|hold|wait|unable|cannot|can't|i will|i'll|let me)\b", re.IGNORECASE
)
_FACT = re.compile(r"\b(what(?! about)|which|how(?! about| come)|when|where|who)\b[^?]{5,}\?", re.IGNORECASE)
"""A question that a mere yes cannot answer."""


def _pointed(draft: Draft, rng: Random, asking: re.Pattern[str] = _POINTED) -> list[int]:
    """Agent turns that answer a question of the kind `asking`, in random order."""
    places = (i for i in answered_asks(draft) if asking.search(draft.turns[i - 1].text))
    return shuffled(places, rng)


def _borrowed(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The reply to somebody else's question; in the twin that question comes first and is answered."""
    exchanges = pool.exchanges.get(draft.domain, [])
    for place in _pointed(draft, rng)[:3]:
        ask, answer = draft.turns[place - 1].text, draft.turns[place].text
        about = content_words(ask) | content_words(answer)
        for _ in range(MAX_TRIES if exchanges else 0):
            other, reply = rng.choice(exchanges)
            if not 25 <= len(reply) <= 220 or "?" in reply or "?" not in other or len(other) > 220:
                continue
            told = content_words(reply)
            if is_closing(reply) or _DEFERS.search(reply) or len(told) < 3 or told & about:
                continue
            mine = (plain("customer", other), plain("agent", reply, "C1"))
            return Made(
                draft.with_turn(place, wrong(reply, "C1.borrowed", "C1")),
                spliced(draft, place - 1, place - 1, mine),
            )
    return None


def _instead(
    name: str, grammar: Grammar, beside: str, use: Use = "train", asking: re.Pattern[str] = _POINTED
) -> Family:
    """The answer gives way to words of the grammar; in the twin they stand before or after it."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place in _pointed(draft, rng, asking):
            answer = draft.turns[place].text
            if beside == "after" and "?" in answer:
                continue
            words = like(say(grammar, rng, topic=_topic(draft.turns[place - 1].text)), agent_texts(draft))
            both = joined(answer, words)[0] if beside == "after" else joined(words, answer)[0]
            return Made(
                draft.with_turn(place, wrong(words, f"C1.{name}", "C1")),
                draft.with_turn(place, plain("agent", both, "C1")),
            )
        return None

    return Family("C1", f"C1.{name}", make, use)


def _topic(ask: str) -> str:
    """The customer's question as it can be said back, without its mark."""
    asked = [part for part in sentences(ask) if "?" in part]
    topic = max(asked or [ask], key=len).strip().rstrip("?.! ")
    return topic[:120]


def _stall(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """Pleasant words and no answer; the twin defers, with a reason and a time."""
    for place in _pointed(draft, rng):
        texts = agent_texts(draft)
        return Made(
            draft.with_turn(place, wrong(like(say(STALL, rng), texts), "C1.stall", "C1")),
            draft.with_turn(place, plain("agent", like(capital(say(DEFER, rng)), texts), "C1")),
        )
    return None


def _dropped(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """Of answer and offer only the offer is left."""
    for place in _pointed(draft, rng):
        text = draft.turns[place].text
        parts = [part for part in sentences(text) if part.strip()]
        if len(parts) < 2 or not _OFFER.match(parts[-1]) or "?" in "".join(parts[:-1]):
            continue
        twin = draft.with_turn(place, plain("agent", text, "C1"))
        return Made(draft.with_turn(place, wrong(parts[-1].strip(), "C1.dropped", "C1")), twin)
    return None


FAMILIES: tuple[Family, ...] = (
    Family("C1", "C1.borrowed", _borrowed),
    Family("C1", "C1.stall", _stall),
    Family("C1", "C1.dropped", _dropped),
    _instead("ahead", AHEAD, "after"),
    _instead("nod", NOD, "before", asking=_FACT),
    _instead("echo", ECHO, "before", use="dev"),
    _instead("advert", ADVERT, "after", use="dev"),
)
