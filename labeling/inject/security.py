"""Security made wrong: an agent who asks for secrets (V2).

The ask is a sentence in a turn or a turn of its own with the customer's reply. The twin asks for what
is lawful, or speaks of the secret without asking for it. Disclosure (V1) is not made here.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from labeling.inject.draft import Draft, DraftTurn, Family, Made, Make, Mark, Pool
from labeling.inject.insertion import Idea, dressed, inserter, manner, open_places, spoken
from labeling.inject.wordings import secrets, secrets_exam

REPLIES = (
    "(ok|okay|sure|alright|fine)(, one moment|, just a second|, here you go|, give me a minute|)",
    "(Is that really|Is this|Why is that) (needed|necessary)?( ok then|)",
    "(I'd rather not|I don't have it with me|I would have to look)(, sorry|. Can we go on|, hold on)(.|)",
    "(Yes|Okay|Sure)(.|, I can do that.|, no problem.)",
    "(Done|Sent|Just did that|There you go)(.|!|)",
    "(Hm|Hmm|Um), (ok|alright|if you say so)(.|)",
)
"""What customers say to it; the same in the error and in the twin."""


def exchange(idea: Idea) -> Make:
    """Makes a turn that asks for a secret and the customer's reply, before the agent goes on."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = [
            place for place in open_places(draft) if place and draft.turns[place - 1].role == "customer"
        ]
        if not places:
            return None
        place = rng.choice(places)
        wrong, right = (spoken(template, idea.slots, rng) for template in rng.choice(idea.pairs))
        reply = DraftTurn("customer", spoken(rng.choice(REPLIES), {}, rng), touched=True)
        how = manner(draft.turns[place].text, rng, "instead")
        reply = replace(reply, text=dressed(reply.text, how))

        def version(words: str, family: str | None) -> Draft:
            text = dressed(words, how)
            marks = (Mark("V2", family, 0, len(text)),) if family else ()
            ask = DraftTurn("agent", text, marks, touched=True)
            return replace(draft, turns=(*draft.turns[:place], ask, reply, *draft.turns[place:]))

        return Made(error=version(wrong, f"V2.{idea.name}"), twin=version(right, None))

    return make


def asker(idea: Idea) -> Make:
    """Asks within a turn, or, one time in four, in a turn of its own."""
    within, alone = inserter("V2", idea), exchange(idea)

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        return (alone if rng.random() < 0.25 else within)(draft, rng, pool)

    return make


FAMILIES: tuple[Family, ...] = tuple(
    Family("V2", f"V2.{idea.name}", asker(idea), idea.use) for idea in (*secrets.IDEAS, *secrets_exam.IDEAS)
)
