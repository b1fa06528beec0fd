"""R1: the agent closes while the customer's last ask is open. The label sits on the closing turn.

In the twin the same closing follows once the ask has been answered. A closing that leaves the ask
ignored for good is C1 as well.
"""

from __future__ import annotations

from random import Random

from labeling.inject.draft import Draft, DraftTurn, Family, Made, Pool, Use
from labeling.inject.phrases import Grammar, capital, like, say
from labeling.inject.places import agent_texts, answered_asks, is_closing, plain, shuffled, spliced, wrong
from labeling.inject.wordings.closings import CLOSE, DONE_THANKS, MOMENT, NODS, NOTICE, SURVEY

MIN_TURNS_BEFORE = 2


def _open_asks(draft: Draft, rng: Random) -> list[int]:
    """Agent turns that answer a question without asking back, late enough to end a talk, in random
    order."""
    places = (
        place
        for place in answered_asks(draft)
        if place > MIN_TURNS_BEFORE
        and "?" not in draft.turns[place].text
        and not is_closing(draft.turns[place].text)
    )
    return shuffled(places, rng)


def _closing(grammar: Grammar, draft: Draft, rng: Random) -> str:
    return like(capital(say(grammar, rng)), agent_texts(draft))


def _ended(draft: Draft, place: int, turns: tuple[DraftTurn, ...]) -> Draft:
    return spliced(draft, place, len(draft.turns), turns)


def _unanswered(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """The closing stands in the place of the answer."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place in _open_asks(draft, rng):
            text = _closing(grammar, draft, rng)
            answer = plain("agent", draft.turns[place].text)
            done = plain("customer", say({"say": DONE_THANKS}, rng))
            return Made(
                _ended(draft, place, (wrong(text, f"R1.{name}", "R1", "C1"),)),
                _ended(draft, place, (answer, done, plain("agent", text, "R1"))),
            )
        return None

    return Family("R1", f"R1.{name}", make, use)


def _after_moment(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """The agent says that he will look, and then closes without having said anything."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place in _open_asks(draft, rng):
            text = _closing(grammar, draft, rng)
            wait = plain("agent", like(capital(say({"say": MOMENT}, rng)), agent_texts(draft)))
            between = [plain("customer", say({"say": NODS}, rng))] if rng.random() < 0.6 else []
            answer = plain("agent", draft.turns[place].text)
            return Made(
                _ended(draft, place, (wait, *between, wrong(text, f"R1.{name}", "R1", "C1"))),
                _ended(draft, place, (wait, *between, answer, plain("agent", text, "R1"))),
            )
        return None

    return Family("R1", f"R1.{name}", make, use)


def _second_thought(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """After thanks the customer asks one thing more, and is sent off; the twin answers it first."""
    turns = draft.turns
    for place in _open_asks(draft, rng):
        earlier = [
            i for i in range(1, place - 1) if turns[i].role == "agent" and turns[i - 1].role == "customer"
        ]
        if not earlier:
            continue
        asked = turns[place - 1].text
        text = _closing(CLOSE, draft, rng)
        thanks = say({"say": DONE_THANKS[:2]}, rng)
        ask = plain(
            "customer",
            f"{thanks} {rng.choice(('Oh,', 'One more thing:', 'Just one question:', 'But'))} {asked}",
        )
        answer, done = plain("agent", turns[place].text), plain("customer", say({"say": DONE_THANKS}, rng))
        return Made(
            spliced(draft, place - 1, len(turns), (ask, wrong(text, "R1.second-thought", "R1", "C1"))),
            spliced(draft, place - 1, len(turns), (ask, answer, done, plain("agent", text, "R1"))),
        )
    return None


FAMILIES: tuple[Family, ...] = (
    _unanswered("unanswered", CLOSE),
    _after_moment("after-moment", CLOSE),
    Family("R1", "R1.second-thought", _second_thought),
    _unanswered("notice", NOTICE, use="dev"),
    _after_moment("survey", SURVEY, use="dev"),
)
