"""Rude replies (T1): tired of the job, personal, coarse, or shrugging a complaint off."""

from __future__ import annotations

from random import Random

from dialint.labeling.inject.exam.placing import inserter
from dialint.labeling.inject.exam.staging import as_agent, replies
from dialint.labeling.inject.exam.wordings.rudeness import COARSE, FIRM, PERSONAL, SHRUGGED_OFF, WEARY
from dialint.labeling.synthetic.draft import Draft, Family, HardNegative, Pool
from dialint.labeling.synthetic.insertion import Idea, spoken
from dialint.labeling.synthetic.places import joined, plain

IDEAS = (
    Idea("weary-of-work", WEARY, {}, "exam"),
    Idea("personal-remark", PERSONAL, {}, "exam"),
    Idea("coarse-words", COARSE, {}, "exam"),
    Idea("shrugged-off", SHRUGGED_OFF, {}, "exam"),
)

FAMILIES = tuple(Family("T1", f"T1.{idea.name}", inserter("T1", idea), idea.use) for idea in IDEAS)


def _firm(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """The agent is short or firm, and not rude."""
    for place in replies(draft, rng):
        words = as_agent(spoken(rng.choice(FIRM), {}, rng), draft)
        own, first = draft.turns[place].text, rng.random() < 0.5
        text = joined(words, own)[0] if first else joined(own, words)[0]
        return draft.with_turn(place, plain("agent", text, "T1"))
    return None


NEGATIVES = (HardNegative("T1", "T1.not-firm-answer", _firm, "exam"),)
