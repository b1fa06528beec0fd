"""C1: a question that the agent passes over.

The customer asks; the reply is neither an answer, nor a deferral with a reason, nor a question about
it. Twins hold the same words where they are in order: after what they do answer, or beside the answer.
"""

from __future__ import annotations

import re
from random import Random

from labeling.inject.draft import Draft, Family, HardNegative, Made, Pool, Use
from labeling.inject.phrases import Grammar, capital, like, say
from labeling.inject.places import (
    agent_texts,
    answered_asks,
    asks_anything,
    content_words,
    is_closing,
    joined,
    plain,
    sentences,
    shuffled,
    wrong,
)
from labeling.inject.wordings.evasions import ADVERT, AHEAD, DEFER, ECHO, NOD, STALL
from labeling.inject.wordings.off_point import (
    CLARIFY,
    COUNTERS,
    FITTING,
    NO,
    NO_ANSWER,
    NOD_FITS,
    SETTLED,
    STALLS,
    STATEMENTS,
)

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
    r"\b(check|moment|look|minute|sorry|hold|wait|unable|cannot|can't|i will|i'll|let me|not know|don't know"
    r"|apolog\w*|afraid|unfortunately|don't have)\b",
    re.IGNORECASE,
)
_WISHES = re.compile(
    r"\b(look|find|book|yes|yeah|no|nope|reserv\w*|get|give|need|want|like|help|schedule|order|cancel|check|i'll|take"
    r"|let'?s|let|try|instead|change|also|thanks?|thank|bye|interested|trying|wondering)\b",
    re.IGNORECASE,
)
_FACT = re.compile(r"\b(what(?! about)|which|how(?! about| come)|when|where|who)\b[^?]{5,}\?", re.IGNORECASE)
"""A question that a mere yes cannot answer."""
_YES_OR_NO = re.compile(
    r"^(?![^?]*\b(?:what|which|how|when|where|why|who|or|could|would|can|you)\b)"
    r"(?:[^?]*[.!,] )?(?:is|are|does|did|will|was|were|has)\b[^?]*\?[^?]*$",
    re.IGNORECASE,
)
"""A single question that yes or no answers."""


def _pointed(draft: Draft, rng: Random, asking: re.Pattern[str] = _POINTED) -> list[int]:
    """Agent turns that answer a question of the kind `asking`, in random order."""
    places = (i for i in answered_asks(draft) if asking.search(draft.turns[i - 1].text))
    return shuffled(places, rng)


def _foreign(draft: Draft, place: int, rng: Random, pool: Pool) -> tuple[str, str] | None:
    """A question and its answer from another dialogue of the trade, with no word of this exchange."""
    exchanges = pool.exchanges.get(draft.domain, [])
    about = content_words(draft.turns[place - 1].text) | content_words(draft.turns[place].text)
    for _ in range(MAX_TRIES if exchanges else 0):
        ask, reply = rng.choice(exchanges)
        if _answers(ask, reply) and not (content_words(reply) | content_words(ask)) & about:
            return ask, reply
    return None


def _answers(ask: str, reply: str) -> bool:
    """Whether the reply is a plain statement, long enough to be an answer to this question alone."""
    return (
        25 <= len(reply) <= 240
        and "?" not in reply
        and len(ask) <= 240
        and bool(_POINTED.search(ask))
        and not is_closing(reply)
        and not _DEFERS.search(reply)
        and len(content_words(reply)) >= 3
    )


def _borrowed(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """Question and answer that do not belong together: a borrowed answer to the customer's own question,
    or his own answer to a borrowed question. In the twin the same answer follows its own question."""
    for place in _pointed(draft, rng)[:4]:
        mine = draft.turns[place - 1].text, draft.turns[place].text
        other = _foreign(draft, place, rng, pool) if _answers(*mine) else None
        if other is None:
            continue
        (ask, reply), (wrong_ask, _) = (other, mine) if rng.random() < 0.5 else (mine, other)
        return _for_ask(draft, place, wrong_ask, ask, reply, "borrowed")
    return None


def _for_ask(draft: Draft, place: int, ask: str, fitting: str, reply: str, name: str, *more: str) -> Made:
    """The reply after a question that it does not answer, and after one that it fits; `more` codes."""
    error, twin = (draft.with_turn(place - 1, plain("customer", text)) for text in (ask, fitting))
    return Made(
        error.with_turn(place, wrong(reply, f"C1.{name}", "C1", *more)),
        twin.with_turn(place, plain("agent", reply, "C1")),
    )


def _written(name: str, pairs: tuple[tuple[str, str], ...]) -> Family:
    """A reply of another matter; the twin's customer had said what it takes up. Half of the questions
    that are passed over are the customer's own, half belong to another reply of the list."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place in _pointed(draft, rng)[:3]:
            own = draft.turns[place - 1].text
            fitting, reply = rng.choice(pairs)
            if (content_words(own) | content_words(draft.turns[place].text)) & content_words(reply):
                continue
            passed = own if rng.random() < 0.5 else rng.choice(FITTING)[0]
            if content_words(passed) & content_words(reply + " " + fitting):
                continue
            customers = [turn.text for turn in draft.turns if turn.role == "customer"]
            passed, fitting = (text if text == own else like(text, customers) for text in (passed, fitting))
            return _for_ask(draft, place, passed, fitting, like(reply, agent_texts(draft)), name, "U5")
        return None

    return Family("C1", f"C1.{name}", make)


def _misfit(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The agent's own answer after a question of the list instead of the customer's own."""
    for place in _pointed(draft, rng)[:4]:
        mine = draft.turns[place - 1].text, draft.turns[place].text
        passed = rng.choice(FITTING)[0]
        if _answers(*mine) and not content_words(passed) & content_words(" ".join(mine)):
            customers = [turn.text for turn in draft.turns if turn.role == "customer"]
            return _for_ask(draft, place, like(passed, customers), *mine, "misfit")
    return None


def _idle(draft: Draft, rng: Random, pool: Pool) -> str | None:
    """A real customer turn of the trade that neither asks nor answers nor wishes anything."""
    turns = pool.customer_turns.get(draft.domain, [])
    for _ in range(MAX_TRIES if turns else 0):
        text = rng.choice(turns)
        if 3 <= len(text.split()) <= 25 and not asks_anything(text) and not _WISHES.search(text):
            return text
    return None


def _for_statement(name: str, words: Grammar, fits: tuple[str, ...], asking: re.Pattern[str]) -> Family:
    """Words without an answer; in the twin the customer has said something that asks for no more."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place in _pointed(draft, rng, asking)[:1]:
            reply = like(capital(say(words, rng)), agent_texts(draft))
            customers = [turn.text for turn in draft.turns if turn.role == "customer"]
            ask, fitting = draft.turns[place - 1].text, like(rng.choice(fits), customers)
            if name == "stall" and rng.random() < 0.5:
                fitting = _idle(draft, rng, pool) or fitting
            elif rng.random() < 0.4:  # the rest of the message stays, so that its length is no sign
                rest = "".join(part for part in sentences(ask) if "?" not in part).strip()
                fitting = joined(rest, fitting)[0] if rest and not asks_anything(rest) else fitting
            passed = rng.choice(FITTING)[0] if rng.random() < 0.5 else ask
            passed = like(passed, customers) if asking.search(passed) and passed != ask else ask
            return _for_ask(draft, place, passed, fitting, reply, name)
        return None

    return Family("C1", f"C1.{name}", make)


def _instead(name: str, grammar: Grammar, beside: str, use: Use) -> Family:
    """The answer gives way to words of the grammar; in the twin they stand before or after it."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place in _pointed(draft, rng):
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


def _dropped(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """Of answer and offer only the offer is left; the twin's customer had nothing to ask."""
    for place in _pointed(draft, rng):
        text = draft.turns[place].text
        parts = [part for part in sentences(text) if part.strip()]
        if len(parts) < 2 or not _OFFER.match(parts[-1]) or "?" in "".join(parts[:-1]):
            continue
        customers = [turn.text for turn in draft.turns if turn.role == "customer"]
        ask, settled = draft.turns[place - 1].text, like(rng.choice(SETTLED), customers)
        return _for_ask(draft, place, ask, settled, parts[-1].strip(), "dropped")
    return None


def _honest(name: str, words: Grammar, asking: re.Pattern[str]) -> HardNegative:
    """A reply that holds no answer, or a very short one, and is in order all the same."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
        for place in _pointed(draft, rng, asking)[:1]:
            reply = like(capital(say(words, rng)), agent_texts(draft))
            return draft.with_turn(place, plain("agent", reply, "C1"))
        return None

    return HardNegative("C1", f"C1.not-{name}", make)


_THANKS = {**STALL, "say": (*STALLS, *STALLS, *STALL["say"])}
"""Pleasant words; the longer ones are put together from the rules of `STALL`."""

FAMILIES: tuple[Family, ...] = (
    Family("C1", "C1.borrowed", _borrowed),
    Family("C1", "C1.misfit", _misfit),
    _written("policy", FITTING),
    _written("counter", COUNTERS),
    _for_statement("stall", _THANKS, STATEMENTS, _POINTED),
    _for_statement("nodded", NOD, NOD_FITS, _FACT),
    _for_statement("onward", AHEAD, SETTLED, _POINTED),
    Family("C1", "C1.dropped", _dropped),
    _instead("echo", ECHO, "before", use="dev"),
    _instead("advert", ADVERT, "after", use="dev"),
)

NEGATIVES: tuple[HardNegative, ...] = (
    _honest("deferred", DEFER, _POINTED),
    _honest("clarifying", {"say": CLARIFY}, _POINTED),
    _honest("unknown", {"say": NO_ANSWER}, _FACT),
    _honest("short", {"say": NO}, _YES_OR_NO),
)
