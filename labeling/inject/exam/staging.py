"""How scenes of the exam are put into a real talk: where they fit, and in the manner of those who speak.

Knows nothing of errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from random import Random

from dialint.labeling.inject.exam.wordings.aspects import ASPECTS, FITS
from dialint.labeling.synthetic.draft import Draft, DraftTurn
from dialint.labeling.synthetic.insertion import spoken
from dialint.labeling.synthetic.phrases import like
from dialint.labeling.synthetic.places import (
    agent_texts,
    asks_anything,
    is_closing,
    is_thanks,
    joined,
    shuffled,
)

MIN_TURNS = 6
"""Turns of a talk that is long enough to hold a scene."""


def customer_texts(draft: Draft) -> list[str]:
    """What the customer says in turns that no family has touched."""
    return [turn.text for turn in draft.turns if turn.role == "customer" and not turn.touched]


def as_agent(text: str, draft: Draft) -> str:
    """The words in the manner of the agent's own turns."""
    return like(text, agent_texts(draft))


def as_customer(text: str, draft: Draft) -> str:
    """The words in the manner of the customer's own turns."""
    return like(text, customer_texts(draft))


def customer(text: str, draft: Draft) -> DraftTurn:
    """A turn of the customer that a scene brings in."""
    return DraftTurn("customer", as_customer(text, draft), touched=True)


def agent(text: str, draft: Draft) -> DraftTurn:
    """A clean turn of the agent that a scene brings in."""
    return DraftTurn("agent", as_agent(text, draft), touched=True)


def added(turn: DraftTurn, words: str, first: bool = False) -> DraftTurn:
    """The turn with words after its own, or before them; marks move along."""
    if first:
        text, start, _ = joined(words, turn.text)
        marks = tuple(replace(mark, start=mark.start + start, end=mark.end + start) for mark in turn.marks)
        return replace(turn, text=text, marks=marks, touched=True)
    return replace(turn, text=joined(turn.text, words)[0], touched=True)


def told(draft: Draft, place: int, words: str) -> Draft:
    """The draft in which the customer's turn at `place` also says `words`."""
    return draft.with_turn(place, added(draft.turns[place], as_customer(words, draft)))


def pauses(draft: Draft, rng: Random, last: bool = True) -> list[int]:
    """Places before a customer turn where the agent has just spoken and asked nothing, so that a scene
    opened by the customer fits in; inside the talk, not after leave was taken. In random order."""
    turns = draft.turns
    if len(turns) < MIN_TURNS:
        return []
    found = [
        place
        for place in range(2, len(turns))
        if turns[place].role == "customer"
        and turns[place - 1].role == "agent"
        and not turns[place - 1].touched
        and not turns[place].touched
        and not asks_anything(turns[place - 1].text)
        and not any(is_closing(turn.text) for turn in turns[:place])
        and (last or place + 2 < len(turns))
    ]
    return shuffled(found, rng)


def replies(draft: Draft, rng: Random, first: int = 1) -> list[int]:
    """Untouched agent turns right after an untouched customer turn that takes no leave, in random order."""
    turns = draft.turns
    found = [
        place
        for place in range(first, len(turns))
        if turns[place].role == "agent"
        and turns[place - 1].role == "customer"
        and not turns[place].touched
        and not turns[place - 1].touched
        and not is_closing(turns[place].text)
        and not (is_thanks(turns[place - 1].text) and "?" not in turns[place - 1].text)
    ]
    return shuffled(found, rng)


def side_question(aspect: str, rng: Random) -> tuple[str, str]:
    """A question about the aspect, and an answer that does answer it."""
    questions, answers = ASPECTS[aspect]
    which = rng.randrange(len(questions))
    fitting = answers[rng.choice(list(FITS[aspect][which]))]
    return spoken(questions[which], {}, rng), spoken(fitting, {}, rng)


def silent_on(pattern: str, texts: Iterable[str]) -> bool:
    """Whether none of the texts speaks of what the pattern (case ignored) means."""
    sought = re.compile(pattern, re.IGNORECASE)
    return not any(sought.search(text) for text in texts)
