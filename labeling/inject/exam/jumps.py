"""Jumps to another topic (U5): somebody else's case, or news that nobody asked for. The twin's customer
had asked for just that, and the agent's turn is the same."""

from __future__ import annotations

import re
from random import Random

from dialint.labeling.inject.exam.placing import is_nod
from dialint.labeling.inject.exam.staging import (
    MIN_TURNS,
    as_agent,
    customer,
    pauses,
    replies,
    side_question,
    silent_on,
    told,
)
from dialint.labeling.inject.exam.wordings.aspects import ASPECTS
from dialint.labeling.inject.exam.wordings.elsewhere import BULLETIN, LEADS, OTHER_CASE
from dialint.labeling.synthetic.draft import Draft, Family, HardNegative, Made, Pool
from dialint.labeling.synthetic.insertion import spoken
from dialint.labeling.synthetic.places import joined, plain, spliced, wrong

Topic = tuple[str, str, str]

_NAMED = re.compile(r"I\b|Napoleon|Pluto|Slovenia")


def _jump(name: str, topics: tuple[Topic, ...]) -> Family:
    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        texts = [turn.text for turn in draft.turns]
        places = replies(draft, rng) if len(draft.turns) >= MIN_TURNS else []
        for words, ask, pattern in rng.sample(topics, len(topics)) if places else ():
            if not silent_on(rf"\b({pattern})", [*texts, draft.domain]):
                continue
            place = places[0]
            said = as_agent(_led(rng.choice(LEADS), spoken(words, {}, rng)), draft)
            alone = is_nod(texts[place - 1]) and rng.random() < 0.7
            text, start, end = (said, 0, len(said)) if alone else joined(texts[place], said)
            jumped = wrong(text, f"U5.{name}", "U5", start=start, end=end)
            asked = told(draft, place - 1, spoken(ask, {}, rng))
            return Made(draft.with_turn(place, jumped), asked.with_turn(place, plain("agent", text, "U5")))
        return None

    return Family("U5", f"U5.{name}", make, "exam")


def _led(lead: str, words: str) -> str:
    """The words after the lead, with a small letter after a comma or colon unless it is a name."""
    small = lead.endswith((", ", ": ")) and not _NAMED.match(words)
    return lead + (words[:1].lower() + words[1:] if small else words)


def _asked(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The customer changes the topic, and the agent goes along."""
    for place in pauses(draft, rng):
        question, answer = side_question(rng.choice(list(ASPECTS)), rng)
        asked = customer("Something else: " + question, draft)
        return spliced(draft, place, place, (asked, plain("agent", as_agent(answer, draft), "U5")))
    return None


FAMILIES = (_jump("other-case", OTHER_CASE), _jump("bulletin", BULLETIN))
NEGATIVES = (HardNegative("U5", "U5.not-customers-turn", _asked, "exam"),)
