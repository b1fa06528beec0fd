"""C1 by replies to something else: only question and reply together show that they do not belong together.

Error and twin have the same reply, and both customers ask. Where the reply brings in another matter than
the talk was about it is U5 as well. What has no clear answer to either is left out.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.inject.wordings.off_point import COUNTERS, COUNTERS_ASKED, FITTING
from dialint.labeling.synthetic.dialogue_acts import another_matter, opens_like_an_answer, surely_unanswered
from dialint.labeling.synthetic.draft import Draft, Family, Made, Pool
from dialint.labeling.synthetic.phrases import like
from dialint.labeling.synthetic.places import (
    agent_texts,
    answered_asks,
    content_words,
    is_closing,
    plain,
    sentences,
    shuffled,
    spliced,
    wrong,
)

MAX_TRIES = 60

POINTED = re.compile(
    r"\b(what|which|how|when|where|why|who|is there|are there|is it|is that|are they|do they|does|do you"
    r"|will it|can i|could i|have you)\b[^?]{5,500}\?",
    re.IGNORECASE,
)
"""A customer's question with a point to it."""
_DEFERS = re.compile(
    r"\b(check|moment|look|minute|sorry|hold|wait|unable|cannot|can't|i will|i'll|let me|not know|don't know"
    r"|apolog\w*|afraid|unfortunately|don't have)\b",
    re.IGNORECASE,
)


def pointed(draft: Draft, rng: Random, asking: re.Pattern[str] = POINTED) -> list[int]:
    """Agent turns that answer a question of the kind `asking`, in random order."""
    places = (i for i in answered_asks(draft) if asking.search(draft.turns[i - 1].text))
    return shuffled(places, rng)


def customer_texts(draft: Draft) -> list[str]:
    """What the customer says in the draft."""
    return [turn.text for turn in draft.turns if turn.role == "customer"]


def for_ask(draft: Draft, place: int, ask: str, fitting: str, reply: str, name: str, *more: str) -> Made:
    """The reply after a question that it does not answer, and after one that it fits; `more` codes."""
    error, twin = (draft.with_turn(place - 1, plain("customer", text)) for text in (ask, fitting))
    return Made(
        error.with_turn(place, wrong(reply, f"C1.{name}", "C1", *more)),
        twin.with_turn(place, plain("agent", reply, "C1")),
    )


def _statement(reply: str) -> str:
    """The reply without the questions at its end."""
    parts = sentences(reply)
    while parts and "?" in parts[-1]:
        parts.pop()
    return "".join(parts).strip()


def _answers(ask: str, reply: str) -> bool:
    """Whether the reply is a plain statement, long enough to be an answer to this question alone."""
    return (
        25 <= len(reply) <= 240
        and "?" not in reply
        and len(ask) <= 240
        and bool(POINTED.search(ask))
        and not is_closing(reply)
        and not _DEFERS.search(reply)
        and len(content_words(reply)) >= 3
    )


def _mine(draft: Draft, place: int) -> tuple[str, str, Draft] | None:
    """The question, its answer, and the draft to put them in: the log ends here if the agent had gone on
    to ask something, for that is left out."""
    ask, text = draft.turns[place - 1].text, draft.turns[place].text
    reply = _statement(text)
    if not _answers(ask, reply) or any(turn.marks for turn in draft.turns[place:]):
        return None
    return ask, reply, draft if reply == text.strip() else spliced(draft, place + 1, len(draft.turns), ())


def _codes(draft: Draft, place: int, ask: str, reply: str) -> tuple[str, ...] | None:
    """The codes besides C1 of a reply that does not answer `ask`; None if either is not clear. A reply of
    another matter answers nothing; any other must miss the points of a definite question."""
    heard = " ".join((*(turn.text for turn in draft.turns[: place - 1]), ask))
    jump = another_matter(reply, heard)
    if jump and not opens_like_an_answer(reply):
        return ("U5",)
    return () if jump is False and surely_unanswered(ask, reply) else None


def _borrowed(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The customer's own question with an answer of another dialogue of the trade."""
    exchanges = pool.exchanges.get(draft.domain, [])
    for place in pointed(draft, rng) if exchanges else ():
        own = draft.turns[place - 1].text
        for _ in range(MAX_TRIES):
            fitting, whole = rng.choice(exchanges)
            reply = _statement(whole)
            if fitting == own or not _answers(fitting, reply):
                continue
            codes = _codes(draft, place, own, reply)
            if codes is not None:
                return for_ask(draft, place, own, fitting, reply, "borrowed", *codes)
    return None


def _lent(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The agent's own answer after a question of another dialogue of the trade."""
    exchanges = pool.exchanges.get(draft.domain, [])
    for place in pointed(draft, rng) if exchanges else ():
        if (mine := _mine(draft, place)) is None:
            continue
        own, reply, base = mine
        for _ in range(MAX_TRIES):
            ask = rng.choice(exchanges)[0]
            if ask == own or len(ask) > 240 or not POINTED.search(ask):
                continue
            codes = _codes(base, place, ask, reply)
            if codes is not None:
                return for_ask(base, place, ask, own, reply, "lent", *codes)
    return None


def _misfit(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The agent's own answer after a question of the list instead of the customer's own."""
    for place in pointed(draft, rng):
        if (mine := _mine(draft, place)) is None:
            continue
        own, reply, base = mine
        heard = " ".join(turn.text for turn in base.turns[: place - 1])
        for ask in rng.sample([pair[0] for pair in FITTING], 8):
            if content_words(ask) & content_words(own + " " + reply) or opens_like_an_answer(reply):
                continue
            jump = place < 2 or another_matter(reply, f"{heard} {ask}")  # the first turn raises everything
            if jump is not None:
                asked = like(ask, customer_texts(draft))
                return for_ask(base, place, asked, own, reply, "misfit", *(("U5",) if jump else ()))
    return None


def _written(name: str, *ideas: tuple[tuple[str, str], ...]) -> Family:
    """A reply of another matter; the twin's customer had said what it takes up. Half of the questions
    that are passed over are the customer's own, half belong to another reply of the list."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place in pointed(draft, rng)[:3]:
            own = draft.turns[place - 1].text
            fitting, reply = rng.choice(rng.choice(ideas))
            if (content_words(own) | content_words(draft.turns[place].text)) & content_words(reply):
                continue
            passed = own if rng.random() < 0.5 else rng.choice(FITTING)[0]
            if content_words(passed) & content_words(reply + " " + fitting):
                continue
            customers = customer_texts(draft)
            passed, fitting = (text if text == own else like(text, customers) for text in (passed, fitting))
            return for_ask(draft, place, passed, fitting, like(reply, agent_texts(draft)), name, "U5")
        return None

    return Family("C1", f"C1.{name}", make)


FAMILIES: tuple[Family, ...] = (
    Family("C1", "C1.borrowed", _borrowed),
    Family("C1", "C1.lent", _lent),
    Family("C1", "C1.misfit", _misfit),
    _written("policy", FITTING),
    _written("counter", COUNTERS, COUNTERS_ASKED),
)
