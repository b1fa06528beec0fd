"""Jumps to another topic (U5): somebody else's case, or news that nobody asked for. The twin's customer
had asked for just that, and the agent's turn is the same."""

from __future__ import annotations

from random import Random

from labeling.inject.draft import Draft, Family, HardNegative, Made, Pool
from labeling.inject.exam.staging import MIN_TURNS, as_agent, customer, pauses, replies, silent_on, told
from labeling.inject.exam.wordings.aspects import ASPECTS
from labeling.inject.exam.wordings.elsewhere import BULLETIN, LEADS, OTHER_CASE
from labeling.inject.insertion import spoken
from labeling.inject.places import asks_anything, joined, plain, spliced, wrong

Topic = tuple[str, str, str]


def _jump(name: str, topics: tuple[Topic, ...]) -> Family:
    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        texts = [turn.text for turn in draft.turns]
        places = replies(draft, rng) if len(draft.turns) >= MIN_TURNS else []
        for words, ask, pattern in rng.sample(topics, len(topics)) if places else ():
            if not silent_on(rf"\b({pattern})", [*texts, draft.domain]):
                continue
            place = places[0]
            said = as_agent(rng.choice(LEADS) + spoken(words, {}, rng), draft)
            alone = not asks_anything(texts[place - 1]) and rng.random() < 0.5
            text, start, end = (said, 0, len(said)) if alone else joined(texts[place], said)
            jumped = wrong(text, f"U5.{name}", "U5", start=start, end=end)
            asked = told(draft, place - 1, spoken(ask, {}, rng))
            return Made(draft.with_turn(place, jumped), asked.with_turn(place, plain("agent", text, "U5")))
        return None

    return Family("U5", f"U5.{name}", make, "exam")


def _asked(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The customer changes the topic, and the agent goes along."""
    for place in pauses(draft, rng):
        questions, answers = ASPECTS[rng.choice(list(ASPECTS))]
        asked = customer("Something else: " + spoken(rng.choice(questions), {}, rng), draft)
        answer = as_agent(spoken(rng.choice(answers), {}, rng), draft)
        return spliced(draft, place, place, (asked, plain("agent", answer, "U5")))
    return None


FAMILIES = (_jump("other-case", OTHER_CASE), _jump("bulletin", BULLETIN))
NEGATIVES = (HardNegative("U5", "U5.not-customers-turn", _asked, "exam"),)
