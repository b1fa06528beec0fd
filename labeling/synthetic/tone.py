"""Tone made wrong: rude or blaming words (T1), and no word of sympathy at stated distress (T2).

The wordings are in `dialint.labeling.inject.wordings`. Grammar, register and greetings are not made here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from dialint.labeling.inject.surface.courtesy import NEGATIVES
from dialint.labeling.inject.wordings import barked, curt, distress, hardship, rude, rude_exam
from dialint.labeling.inject.wordings.distress import Distress, Voice
from dialint.labeling.synthetic.draft import Draft, Family, Made, Make, Mark, Pool
from dialint.labeling.synthetic.empathy import answering, open_hearts, telling
from dialint.labeling.synthetic.insertion import Manner, dressed, manner, marked, open_places, speaker, spoken

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
    slots = {**barked.SLOTS, "thing": (ask["thing"].lower(),)}
    wrong, right = (spoken(template, slots, rng) for template in rng.choice(barked.PAIRS))
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


def deaf_to(kind: Distress, voice: Voice) -> Make:
    """Makes replies that pass over one kind of distress. The twin acknowledges it, or, one time in
    three, has the same reply to a customer who said nothing distressing."""
    name = f"T2.{kind.name}"

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        places = open_hearts(draft)
        if not places:
            return None
        place = rng.choice(places)
        asked, turn = draft.turns[place - 1], draft.turns[place]
        told = spoken(rng.choice(kind.said), distress.SLOTS, rng)
        neutral = spoken(rng.choice(distress.NEUTRAL), distress.SLOTS, rng)
        heard = spoken(rng.choice((*kind.heard, *kind.heard, *voice.heard)), distress.SLOTS, rng)
        cold = voice.use == "train" and rng.random() < 0.1
        dry = rng.choice(hardship.COLD if cold else voice.unheard)
        unheard = spoken(dry, distress.SLOTS, rng) if rng.random() < 0.75 else ""
        told_how = manner(asked.text, rng, rng.choice(("before", "after")))
        leading = manner(turn.text, rng, "before")
        trailing = replace(leading, where="after") if rng.random() < 0.15 else leading

        def version(said: str, words: str, how: Manner, family: str | None) -> Draft:
            told_so = draft.with_turn(place - 1, telling(asked, said, told_how))
            return told_so.with_turn(place, answering(turn, words, how, family))

        error = version(told, unheard, leading, name)
        if rng.random() < 0.35 and not (cold and unheard):
            return Made(error=error, twin=version(neutral, unheard, leading, None))
        return Made(error=error, twin=version(told, heard, trailing, None))

    return make


RUDE = tuple(
    Family("T1", f"T1.{idea.name}", speaker("T1", idea, curt.COMEBACKS), idea.use)
    for idea in (*rude.IDEAS, *rude_exam.IDEAS)
)
DEAF = tuple(
    Family("T2", f"T2.{kind.name}", deaf_to(kind, voice), voice.use)
    for kinds, voice in (
        ((*distress.TRAINED, *hardship.KINDS), hardship.VOICE),
        (distress.EXAM, distress.EXAM_VOICE),
    )
    for kind in kinds
)
FAMILIES: tuple[Family, ...] = (*RUDE, Family("T1", "T1.bark", _bark), *DEAF)
__all__ = ["FAMILIES", "NEGATIVES"]
