"""V2: an agent who asks for secrets.

The ask is a sentence in a turn or a turn of its own with the customer's reply. The twin asks for what is
lawful, or speaks of the secret without asking for it. The hard negatives talk of cards and codes, warn,
verify by what is lawful, or turn down a secret that is offered. Disclosure (V1) is not made here.
"""

from __future__ import annotations

from random import Random

from dialint.labeling.synthetic.draft import Draft, Family, HardNegative, Pool, as_agent, joined, plain
from dialint.labeling.synthetic.insertion import (
    Idea,
    answered,
    harmless,
    heldout_inserter,
    read_ideas,
    reply_places,
    speaker,
    spoken,
)
from dialint.labeling.synthetic.scenes import replies
from dialint.labeling.synthetic.wordings import Wordings

_LAWFUL = Wordings("train/security_lawful")
CARD_TALK = _LAWFUL.texts("card_talk")
WARNING = _LAWFUL.texts("warning")
SELF_ENTRY = _LAWFUL.texts("self_entry")
CHECKING = _LAWFUL.texts("checking")
BY_MESSAGE = _LAWFUL.texts("by_message")
HARMLESS = _LAWFUL.grammar("harmless")
OFFERS = _LAWFUL.texts("offers")
DECLINED = _LAWFUL.texts("declined")
REPLIES = _LAWFUL.texts("replies")
"""What customers say to it; the same in the error and in the twin."""

_HELDOUT = Wordings("heldout/security")
LAWFUL_HELDOUT = _HELDOUT.texts("lawful")

IDEAS: tuple[Idea, ...] = (
    *read_ideas("train", "security"),
    *read_ideas("train", "security_domains"),
    *read_ideas("train", "security_general"),
    *read_ideas("dev", "security"),
    *read_ideas("heldout", "security"),
)


def _declined(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The customer offers a secret and the agent will not have it."""
    places = [place for place in reply_places(draft) if not draft.turns[place - 1].touched]
    if not places:
        return None
    place = rng.choice(places)
    offer, refusal = (spoken(rng.choice(texts), {}, rng) for texts in (OFFERS, DECLINED))
    return answered(draft, place, offer, refusal, "V2", rng)


def _lawful(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """Last four digits, warnings, and codes that the customer keeps to himself."""
    for place in replies(draft, rng):
        words = as_agent(spoken(rng.choice(LAWFUL_HELDOUT), {}, rng), draft)
        text = joined(draft.turns[place].text, words)[0]
        return draft.with_turn(place, plain("agent", text, "V2"))
    return None


FAMILIES: tuple[Family, ...] = tuple(
    Family(
        "V2",
        f"V2.{idea.name}",
        heldout_inserter("V2", idea) if idea.use == "heldout" else speaker("V2", idea, REPLIES),
        idea.use,
    )
    for idea in IDEAS
)
NEGATIVES: tuple[HardNegative, ...] = (
    harmless("V2", "card-talk", CARD_TALK, {}, REPLIES[3:4]),
    harmless("V2", "warning", WARNING, {}, REPLIES[3:4]),
    harmless("V2", "self-entry", SELF_ENTRY, {}, REPLIES),
    harmless("V2", "lawful-check", CHECKING, {}, REPLIES),
    harmless("V2", "by-message", BY_MESSAGE, HARMLESS, REPLIES[3:4]),
    HardNegative("V2", "V2.not-declined", _declined),
    HardNegative("V2", "V2.not-lawful-question", _lawful, "heldout"),
)
