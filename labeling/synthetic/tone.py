"""T1: rude or blaming words of the agent, and what looks rude and is not.

The hard negatives: short answers, firm rules, corrections, own fault, quoted rudeness, rude customers who
get a calm reply.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from dialint.labeling.synthetic.draft import (
    Draft,
    Family,
    HardNegative,
    Made,
    Mark,
    Pool,
    as_agent,
    joined,
    plain,
)
from dialint.labeling.synthetic.insertion import (
    Idea,
    answered,
    dressed,
    harmless,
    heldout_inserter,
    manner,
    marked,
    open_places,
    read_ideas,
    reply_places,
    speaker,
    spoken,
)
from dialint.labeling.synthetic.scenes import replies
from dialint.labeling.synthetic.wordings import Wordings

_TRAIN = Wordings("train/tone")
CURT = _TRAIN.texts("curt")
FIRM = _TRAIN.texts("firm")
CORRECTING = _TRAIN.texts("correcting")
OWN_FAULT = _TRAIN.texts("own_fault")
INSULTS = _TRAIN.texts("insults")
REPORTED = _TRAIN.texts("reported")
QUOTES = _TRAIN.texts("quotes")
RUDE_CUSTOMER = _TRAIN.texts("rude_customer")
CALM = _TRAIN.texts("calm")
COMEBACKS = _TRAIN.texts("comebacks")
BARKED = _TRAIN.pairs("barked")
BARKED_SLOTS = _TRAIN.grammar("barked_slots")

_HELDOUT = Wordings("heldout/tone")
FIRM_HELDOUT = _HELDOUT.texts("firm")

IDEAS: tuple[Idea, ...] = (
    *read_ideas("train", "rude"),
    *read_ideas("train", "rude_blame"),
    *read_ideas("train", "rude_brief"),
    *read_ideas("train", "rude_rants"),
    *read_ideas("dev", "tone"),
    *read_ideas("heldout", "tone"),
)

_ASK = re.compile(
    r"(?:(?:may|can|could|might) i (?:please )?(?:have|get|know)|what(?:'s| is| are)) "
    r"your (?P<thing>(?!prefer)[a-z][a-z' ]{2,30}?)(?:,? please)? ?\?",
    re.IGNORECASE,
)


def _bark(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The agent's own question for something, turned into a bark; in the twin, into a request."""
    asks = [(place, ask) for place in open_places(draft) if (ask := _ASK.search(draft.turns[place].text))]
    if not asks:
        return None
    place, ask = rng.choice(asks)
    slots = {**BARKED_SLOTS, "thing": (ask["thing"].lower(),)}
    wrong, right = (spoken(template, slots, rng) for template in rng.choice(BARKED))
    turn = draft.turns[place]
    how = replace(manner(turn.text, rng, "after"), bare=False)
    head, tail = turn.text[: ask.start()], turn.text[ask.end() :]

    def version(words: str, family: str | None) -> Draft:
        words = dressed(words, how)
        if head.strip() and head.rstrip()[-1] not in ".!?":
            words = words[0].lower() + words[1:]
        mark = Mark("T1", family, len(head), len(head) + len(words)) if family else None
        return draft.with_turn(place, marked(turn, head + words + tail, mark))

    return Made(error=version(wrong, "T1.bark"), twin=version(right, None))


def _rude_customer(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The customer is rude, the agent stays calm."""
    places = [
        place
        for place in open_places(draft)
        if place and draft.turns[place - 1].role == "customer" and not draft.turns[place - 1].touched
    ]
    if not places:
        return None
    place = rng.choice(places)
    rude, calm = (spoken(rng.choice(texts), {}, rng) for texts in (RUDE_CUSTOMER, CALM))
    return answered(draft, place, rude, calm, "T1", rng)


def _quoting(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The customer reports what somebody rude said, and the agent quotes and disowns it."""
    places = [place for place in reply_places(draft) if not draft.turns[place - 1].touched]
    if not places:
        return None
    slots = {"insult": (rng.choice(INSULTS),)}
    said, words = (spoken(rng.choice(texts), slots, rng) for texts in (REPORTED, QUOTES))
    return answered(draft, rng.choice(places), said, words, "T1", rng)


def _firm(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The agent is short or firm, and not rude."""
    for place in replies(draft, rng):
        words = as_agent(spoken(rng.choice(FIRM_HELDOUT), {}, rng), draft)
        own, first = draft.turns[place].text, rng.random() < 0.5
        text = joined(words, own)[0] if first else joined(own, words)[0]
        return draft.with_turn(place, plain("agent", text, "T1"))
    return None


FAMILIES: tuple[Family, ...] = (
    *(
        Family(
            "T1",
            f"T1.{idea.name}",
            heldout_inserter("T1", idea) if idea.use == "heldout" else speaker("T1", idea, COMEBACKS),
            idea.use,
        )
        for idea in IDEAS
    ),
    Family("T1", "T1.bark", _bark),
)
NEGATIVES: tuple[HardNegative, ...] = (
    harmless("T1", "curt", CURT, {}, COMEBACKS),
    harmless("T1", "firm", FIRM, {}, COMEBACKS),
    harmless("T1", "correcting", CORRECTING, {}, COMEBACKS),
    harmless("T1", "own-fault", OWN_FAULT, {}, COMEBACKS),
    HardNegative("T1", "T1.not-quoting", _quoting),
    HardNegative("T1", "T1.not-the-customer", _rude_customer),
    HardNegative("T1", "T1.not-firm-answer", _firm, "heldout"),
)
