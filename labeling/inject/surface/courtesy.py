"""Clean dialogues that look rude or cold and are neither: the hard negatives of T1 and T2.

Short answers, firm rules, corrections, own fault, quoted rudeness, rude customers who get a calm reply;
mild annoyance, distress that is over, short sympathy, sympathy shown a turn ago. Makes no errors.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from dialint.labeling.inject.wordings import curt, distress, hardship
from dialint.labeling.synthetic.draft import Draft, HardNegative, Pool
from dialint.labeling.synthetic.empathy import answering, open_hearts, telling
from dialint.labeling.synthetic.insertion import harmless, manner, open_places, reply_places, spoken

KINDS = (*distress.TRAINED, *hardship.KINDS)


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
    rude, calm = (spoken(rng.choice(texts), {}, rng) for texts in (curt.RUDE_CUSTOMER, curt.CALM))
    return _answered(draft, place, rude, calm, "T1", rng)


def _quoting(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The customer reports what somebody rude said, and the agent quotes and disowns it."""
    places = [place for place in reply_places(draft) if not draft.turns[place - 1].touched]
    if not places:
        return None
    slots = {"insult": (rng.choice(curt.INSULTS),)}
    said, words = (spoken(rng.choice(texts), slots, rng) for texts in (curt.REPORTED, curt.QUOTES))
    return _answered(draft, rng.choice(places), said, words, "T1", rng)


def _answered(draft: Draft, place: int, said: str, words: str, code: str, rng: Random) -> Draft:
    """`said` in the customer's turn before `place`, and the agent's turn there led in by `words`, if any."""
    asked, turn = draft.turns[place - 1], draft.turns[place]
    told = telling(asked, said, manner(asked.text, rng, rng.choice(["before", "after"])))
    heard = answering(turn, words, manner(turn.text, rng, "before"), None)
    return draft.with_turn(place - 1, told).with_turn(place, replace(heard, probe=code))


def _no_distress(name: str, said: tuple[str, ...]) -> HardNegative:
    """The customer says one of the things in `said`; the agent goes on, half the time with a dry lead-in."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
        places = open_hearts(draft)
        if not places:
            return None
        dry = spoken(rng.choice(hardship.VOICE.unheard), distress.SLOTS, rng) if rng.random() < 0.5 else ""
        words = spoken(rng.choice(said), distress.SLOTS, rng)
        return _answered(draft, rng.choice(places), words, dry, "T2", rng)

    return HardNegative("T2", f"T2.not-{name}", make)


def _briefly_heard(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """Distress, and two words of sympathy before business."""
    places = open_hearts(draft)
    if not places:
        return None
    said = spoken(rng.choice(rng.choice(KINDS).said), distress.SLOTS, rng)
    words = spoken(rng.choice(hardship.SHORT_HEARD), {}, rng)
    return _answered(draft, rng.choice(places), said, words, "T2", rng)


def _heard_before(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """Distress that got its sympathy a turn ago; the agent's next turn may be plain business."""
    hearts = set(open_hearts(draft))
    places = [place for place in sorted(hearts) if place + 2 in hearts]
    if not places:
        return None
    place = rng.choice(places)
    kind = rng.choice(KINDS)
    said = spoken(rng.choice(kind.said), distress.SLOTS, rng)
    words = spoken(rng.choice((*kind.heard, *hardship.VOICE.heard)), distress.SLOTS, rng)
    made = _answered(draft, place, said, words, "", rng)
    later = made.turns[place + 2]
    return made.with_turn(place + 2, replace(later, touched=True, probe="T2"))


NEGATIVES: tuple[HardNegative, ...] = (
    harmless("T1", "curt", curt.CURT, {}, curt.COMEBACKS),
    harmless("T1", "firm", curt.FIRM, {}, curt.COMEBACKS),
    harmless("T1", "correcting", curt.CORRECTING, {}, curt.COMEBACKS),
    harmless("T1", "own-fault", curt.OWN_FAULT, {}, curt.COMEBACKS),
    HardNegative("T1", "T1.not-quoting", _quoting),
    HardNegative("T1", "T1.not-the-customer", _rude_customer),
    _no_distress("mild", hardship.MILD),
    _no_distress("resolved", hardship.RESOLVED),
    HardNegative("T2", "T2.not-brief", _briefly_heard),
    HardNegative("T2", "T2.not-heard-before", _heard_before),
)
