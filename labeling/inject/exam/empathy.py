"""Distress passed over (T2): pets, the home, work, the family. The twin feels with the customer, or the
customer says much the same without any distress and gets the same reply."""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.inject.exam.staging import added, as_agent, replies, silent_on, told
from dialint.labeling.inject.exam.wordings.sorrows import DEAF, FAMILY, HEARD, HOME, MILD, PETS, WORK
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Made, Pool
from dialint.labeling.synthetic.insertion import spoken
from dialint.labeling.synthetic.places import plain, wrong

_FEELING = r"\b(sorry|sad|unfortunate|apolog|hope you|take care|oh no|hear that)"


def _deaf(name: str, pairs: tuple[tuple[str, str], ...]) -> Family:
    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place in replies(draft, rng)[:3]:
            own = draft.turns[place].text
            if not silent_on(_FEELING, [own]):
                continue
            sad, calm = (spoken(words, {}, rng) for words in rng.choice(pairs))
            lead = as_agent(rng.choice(DEAF), draft) if rng.random() < 0.4 else ""
            said = _led(own, lead)
            history = told(draft, place - 1, sad)
            error = history.with_turn(place, wrong(said, f"T2.{name}", "T2"))
            if rng.random() < 0.5:
                felt = _led(own, as_agent(rng.choice(HEARD), draft))
                return Made(error, history.with_turn(place, plain("agent", felt, "T2")))
            same = told(draft, place - 1, calm).with_turn(place, plain("agent", said, "T2"))
            return Made(error, same)
        return None

    return Family("T2", f"T2.{name}", make, "exam")


def _led(text: str, lead: str) -> str:
    words = lead.lower().split()
    if not words or re.match(re.escape(words[0].strip(".,!")) + r"\b", text, re.IGNORECASE):
        return text
    return added(DraftTurn("agent", text), lead, first=True).text


def _mild(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """Something said in passing, which asks for no feeling."""
    for place in replies(draft, rng):
        said = told(draft, place - 1, rng.choice(MILD))
        return said.with_turn(place, plain("agent", draft.turns[place].text, "T2"))
    return None


FAMILIES = (
    _deaf("pet-loss", PETS),
    _deaf("home-lost", HOME),
    _deaf("work-woes", WORK),
    _deaf("family-grief", FAMILY),
)
NEGATIVES = (HardNegative("T2", "T2.not-mild-remark", _mild, "exam"),)
