"""How a sentence of the exam is set into a turn of the agent, so that no other error comes along.

A turn is given up for the sentence only where the customer has done no more than nod, and a sentence
before other words gets its full stop.
"""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.synthetic.draft import Draft, Made, Make, Pool
from dialint.labeling.synthetic.insertion import (
    Idea,
    Manner,
    Where,
    inserted,
    manner,
    open_places,
    spoken,
    where_in,
)

_NOD = re.compile(
    r"(ok(ay)?|i see|cool|nice|wow|got it|good to know|alright|all right|interesting|thanks|thank you)"
    r"[\w ,.!']{0,16}",
    re.IGNORECASE,
)


def is_nod(text: str) -> bool:
    """Whether the customer just nods: nothing is left to be answered or done."""
    return "?" not in text and bool(_NOD.fullmatch(text.strip()))


def where(draft: Draft, place: int, rng: Random) -> Where:
    """As `where_in`, but the agent's own words go only after a nod."""
    chosen = where_in(draft, place, rng)
    if chosen == "instead" and not is_nod(draft.turns[place - 1].text):
        return "before" if rng.random() < 0.5 else "after"
    return chosen


def stopped(words: str, how: Manner) -> str:
    """The words with a full stop if others follow them in the turn."""
    ended = words.endswith((".", "!", "?", ":"))
    return words if ended or how.where in ("after", "instead") else words + "."


def inserter(code: str, idea: Idea) -> Make:
    """Makes errors of one idea: the wrong wording in an agent turn, the right one in the twin."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = open_places(draft)
        if not places:
            return None
        place = rng.choice(places)
        how = manner(draft.turns[place].text, rng, where(draft, place, rng))
        wrong, right = (
            stopped(spoken(template, idea.slots, rng), how) for template in rng.choice(idea.pairs)
        )
        return Made(
            error=inserted(draft, place, wrong, how, code, f"{code}.{idea.name}"),
            twin=inserted(draft, place, right, how, code, None),
        )

    return make
