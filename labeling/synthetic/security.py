"""Security made wrong: an agent who asks for secrets (V2).

The ask is a sentence in a turn or a turn of its own with the customer's reply. The twin asks for what
is lawful, or speaks of the secret without asking for it. The hard negatives talk of cards and codes, warn,
verify by what is lawful, or turn down a secret that is offered. Disclosure (V1) is not made here.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from dialint.labeling.inject.wordings import lawful, secrets, secrets_exam, secrets_talk, secrets_trades
from dialint.labeling.synthetic.draft import Draft, Family, HardNegative, Pool
from dialint.labeling.synthetic.empathy import answering, telling
from dialint.labeling.synthetic.insertion import harmless, manner, reply_places, speaker, spoken

REPLIES = (
    "(ok|okay|sure|alright|fine)(, one moment|, just a second|, here you go|, give me a minute|)",
    "(Is that really|Is this) (needed|necessary)? (Ok then|Well, fine|All right then).",
    "(I'd rather not|I don't know|I would have to look)(, sorry|. Let's go on|, hold on)(.|)",
    "(Yes|Okay|Sure)(.|, I can do that.|, no problem.)",
    "(Right|I see|Got it|Understood)(.|!|)",
    "(Hm|Hmm|Um), (ok|alright|if you say so)(.|)",
)
"""What customers say to it; the same in the error and in the twin."""


def _declined(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The customer offers a secret and the agent will not have it."""
    places = [place for place in reply_places(draft) if not draft.turns[place - 1].touched]
    if not places:
        return None
    place = rng.choice(places)
    asked, turn = draft.turns[place - 1], draft.turns[place]
    offer, refusal = (spoken(rng.choice(texts), {}, rng) for texts in (lawful.OFFERS, lawful.DECLINED))
    told = telling(asked, offer, manner(asked.text, rng, rng.choice(["before", "after"])))
    answer = answering(turn, refusal, manner(turn.text, rng, "before"), None)
    return draft.with_turn(place - 1, told).with_turn(place, replace(answer, probe="V2"))


FAMILIES: tuple[Family, ...] = tuple(
    Family("V2", f"V2.{idea.name}", speaker("V2", idea, REPLIES), idea.use)
    for idea in (*secrets.IDEAS, *secrets_trades.IDEAS, *secrets_talk.IDEAS, *secrets_exam.IDEAS)
)
NEGATIVES: tuple[HardNegative, ...] = (
    harmless("V2", "card-talk", lawful.CARD_TALK, {}, REPLIES[3:4]),
    harmless("V2", "warning", lawful.WARNING, {}, REPLIES[3:4]),
    harmless("V2", "self-entry", lawful.SELF_ENTRY, {}, REPLIES),
    harmless("V2", "lawful-check", lawful.CHECKING, {}, REPLIES),
    harmless("V2", "by-message", lawful.BY_MESSAGE, lawful.HARMLESS, REPLIES[3:4]),
    HardNegative("V2", "V2.not-declined", _declined),
)
