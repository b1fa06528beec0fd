"""Closed too early (R1): over a side matter that is still open, or when the fix has not worked. In the twin
the matter is settled, and the agent's closing is the same."""

from __future__ import annotations

from random import Random

from dialint.labeling.inject.exam.staging import agent, as_agent, customer, pauses
from dialint.labeling.inject.exam.wordings.farewells import (
    FAREWELLS,
    FOLLOW_UPS,
    LEADS,
    NOT_SOLVED,
    OPEN_CASES,
    TROUBLES,
)
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Made, Pool
from dialint.labeling.synthetic.insertion import spoken
from dialint.labeling.synthetic.phrases import say
from dialint.labeling.synthetic.places import plain, spliced, wrong

MIN_BEFORE = 4
"""Turns before the scene that ends the talk, at least."""


def _ends(draft: Draft, rng: Random) -> int | None:
    """Where the talk may end: the last place where the agent has spoken and asked nothing, so that the
    customer's own matters are behind him."""
    return max((place for place in pauses(draft, rng) if place >= MIN_BEFORE), default=None)


def _pair(one: str, other: str, rng: Random) -> tuple[str, str]:
    """Both texts with the same lead."""
    lead = rng.choice(LEADS)
    first, second = (spoken(text, {}, rng) for text in (one, other))
    return lead + first, lead + second


def _open_case(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    place = _ends(draft, rng)
    if place is None:
        return None
    still, settled = (customer(text, draft) for text in _pair(*rng.choice(OPEN_CASES), rng))
    bye = _farewell(draft, rng)
    return Made(
        spliced(draft, place, len(draft.turns), (still, wrong(bye, "R1.open-case", "R1", "C1"))),
        spliced(draft, place, len(draft.turns), (settled, plain("agent", bye, "R1"))),
    )


def _not_solved(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    place = _ends(draft, rng)
    if place is None:
        return None
    trouble, remedy, reports = rng.choice(TROUBLES)
    lead = (customer(trouble, draft), agent(remedy, draft))
    broken, whole = (customer(text, draft) for text in NOT_SOLVED[rng.choice(reports)])
    bye = _farewell(draft, rng)
    return Made(
        spliced(draft, place, len(draft.turns), (*lead, broken, wrong(bye, "R1.not-solved", "R1", "C1"))),
        spliced(draft, place, len(draft.turns), (*lead, whole, plain("agent", bye, "R1"))),
    )


def _farewell(draft: Draft, rng: Random) -> str:
    return as_agent(say({"say": FAREWELLS}, rng), draft)


def _agreed(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """Open, but with an owner, a time and the customer's consent."""
    place = _ends(draft, rng)
    if place is None:
        return None
    ask, plan, consent = rng.choice(FOLLOW_UPS)
    scene: tuple[DraftTurn, ...] = (
        customer(spoken(ask, {}, rng), draft),
        agent(spoken(plan, {}, rng), draft),
        customer(consent, draft),
        plain("agent", _farewell(draft, rng), "R1"),
    )
    return spliced(draft, place, len(draft.turns), scene)


FAMILIES = (
    Family("R1", "R1.open-case", _open_case, "exam"),
    Family("R1", "R1.not-solved", _not_solved, "exam"),
)
NEGATIVES = (HardNegative("R1", "R1.not-agreed-plan", _agreed, "exam"),)
