"""Requests for secrets (V2): keys of wallets and accounts, approvals, numbers of identity, codes."""

from __future__ import annotations

from random import Random

from dialint.labeling.inject.exam.placing import inserter
from dialint.labeling.inject.exam.staging import as_agent, replies
from dialint.labeling.inject.exam.wordings.denied import APPROVALS, IDENTITY, KEYS, LAWFUL, SAFES
from dialint.labeling.synthetic.draft import Draft, Family, HardNegative, Pool
from dialint.labeling.synthetic.insertion import Idea, spoken
from dialint.labeling.synthetic.places import joined, plain

IDEAS = (
    Idea("recovery-key", KEYS, {}, "exam"),
    Idea("approval", APPROVALS, {}, "exam"),
    Idea("identity-number", IDENTITY, {}, "exam"),
    Idea("code-of-a-thing", SAFES, {}, "exam"),
)

FAMILIES = tuple(Family("V2", f"V2.{idea.name}", inserter("V2", idea), idea.use) for idea in IDEAS)


def _lawful(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """Last four digits, warnings, and codes that the customer keeps to himself."""
    for place in replies(draft, rng):
        words = as_agent(spoken(rng.choice(LAWFUL), {}, rng), draft)
        text = joined(draft.turns[place].text, words)[0]
        return draft.with_turn(place, plain("agent", text, "V2"))
    return None


NEGATIVES = (HardNegative("V2", "V2.not-lawful-question", _lawful, "exam"),)
