"""Needless questions (U2): for what the customer volunteered, and for what he has tried already.

The twin's customer volunteered or tried something else, and the agent's turn is the same to the letter.
"""

from __future__ import annotations

from random import Random

from dialint.labeling.inject.exam.staging import (
    MIN_TURNS,
    added,
    agent,
    as_agent,
    as_customer,
    customer,
    pauses,
    replies,
    silent_on,
    told,
)
from dialint.labeling.inject.exam.wordings.volunteered import (
    DETAILS,
    DONE_THAT,
    ECHOES,
    GO_ON,
    SETTLED,
    STEPS,
    TRIED,
)
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Made, Pool
from dialint.labeling.synthetic.insertion import spoken
from dialint.labeling.synthetic.phrases import capital, say
from dialint.labeling.synthetic.places import (
    asks_anything,
    is_thanks,
    joined,
    plain,
    shuffled,
    spliced,
    wrong,
)

_REPLIES = ("@v", "@v.", "Sure, @v.", "Okay: @v.", "Well, @v.", "ok, @v")
_READ_BACK = ("phone", "mail", "account", "birthday", "address")


def _said(kind: str, value: str, draft: Draft, rng: Random) -> str:
    return as_customer(capital(say({"say": DETAILS[kind].said}, rng, v=value)), draft)


def _kinds(draft: Draft, rng: Random) -> tuple[str, str] | None:
    """Two kinds of detail that the talk is silent on; to tell one is not to tell the other."""
    texts = [turn.text for turn in draft.turns]
    free = [kind for kind in shuffled_names(rng) if silent_on(DETAILS[kind].talk, texts)]
    for kind in free:
        for other in free:
            if other != kind and silent_on(DETAILS[kind].talk, DETAILS[other].said):
                return kind, other
    return None


def shuffled_names(rng: Random) -> list[str]:
    """The kinds of detail in random order."""
    return rng.sample(list(DETAILS), len(DETAILS))


def _volunteered(name: str, far: bool) -> Family:
    """The customer has just told it, or told it a while ago, and is asked for it."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        kinds = _kinds(draft, rng) if len(draft.turns) >= MIN_TURNS else None
        for place in replies(draft, rng, first=3 if far else 1) if kinds else ():
            told_at = _earlier(draft, place, rng) if far else place - 1
            if kinds is None or told_at is None:
                continue
            kind, other = kinds
            value = rng.choice(DETAILS[kind].values)
            given = told(draft, told_at, _said(kind, value, draft, rng))
            apart = told(draft, told_at, _said(other, rng.choice(DETAILS[other].values), draft, rng))
            ask = as_agent(spoken(rng.choice(DETAILS[kind].asked), {}, rng), draft)
            reply = as_customer(say({"say": _REPLIES}, rng, v=value), draft)
            pending = "?" in draft.turns[place - 1].text  # an answer must not wait for a side question
            if pending and not _can_append(draft, place):
                continue
            put = _appended if _can_append(draft, place) and (pending or rng.random() < 0.5) else _inserted
            return Made(put(given, place, ask, reply, f"U2.{name}"), put(apart, place, ask, reply, ""))
        return None

    return Family("U2", f"U2.{name}", make, "exam")


def _earlier(draft: Draft, place: int, rng: Random) -> int | None:
    """A customer turn well before `place`."""
    found = [
        at for at in range(place - 2) if draft.turns[at].role == "customer" and not draft.turns[at].touched
    ]
    return rng.choice(found) if found else None


def _inserted(draft: Draft, place: int, ask: str, reply: str, family: str) -> Draft:
    """Question and reply put in before the agent's own turn."""
    asking = wrong(ask, family, "U2") if family else plain("agent", ask, "U2")
    return spliced(draft, place, place, (asking, DraftTurn("customer", reply, touched=True)))


def _can_append(draft: Draft, place: int) -> bool:
    after = draft.turns[place + 1] if place + 1 < len(draft.turns) else None
    return (
        after is not None
        and after.role == "customer"
        and not after.touched
        and not asks_anything(draft.turns[place].text)
        and not is_thanks(after.text)
    )


def _appended(draft: Draft, place: int, ask: str, reply: str, family: str) -> Draft:
    """The agent's own turn ends in the question; the customer's next one begins with the reply."""
    text, start, end = joined(draft.turns[place].text, ask)
    turn = wrong(text, family, "U2", start=start, end=end) if family else plain("agent", text, "U2")
    after = added(draft.turns[place + 1], reply, first=True)
    return draft.with_turn(place, turn).with_turn(place + 1, after)


def _tried(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """A side problem: the agent asks for a step that the customer has taken, in the twin for another."""
    for place in pauses(draft, rng):
        troubles, steps = STEPS[rng.randrange(len(STEPS))]
        step, other = rng.sample(steps, 2)
        while frozenset({step, other}) in SETTLED:
            step, other = rng.sample(steps, 2)
        trouble = spoken(rng.choice(troubles), {}, rng)
        given, apart = (
            customer(joined(trouble, rng.choice(TRIED[each][0]))[0], draft) for each in (step, other)
        )
        ask = as_agent(spoken(rng.choice(TRIED[step][1]), {}, rng), draft)
        rest = (customer(rng.choice(DONE_THAT), draft), agent(rng.choice(GO_ON), draft))
        return Made(
            spliced(draft, place, place, (given, wrong(ask, "U2.tried-already", "U2"), *rest)),
            spliced(draft, place, place, (apart, plain("agent", ask, "U2"), *rest)),
        )
    return None


def _read_back(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """What the customer volunteered is read back to him, so that he can put it right."""
    texts = [turn.text for turn in draft.turns]
    kinds = [kind for kind in _READ_BACK if silent_on(DETAILS[kind].talk, texts)]
    for place in shuffled(replies(draft, rng), rng) if kinds and len(draft.turns) >= MIN_TURNS else ():
        if "?" in draft.turns[place - 1].text:
            continue
        kind = rng.choice(kinds)
        value = rng.choice(DETAILS[kind].values)
        given = told(draft, place - 1, _said(kind, value, draft, rng))
        echo = as_agent(capital(say({"say": ECHOES}, rng, v=value)), draft)
        back = (plain("agent", echo, "U2"), customer(rng.choice(("Yes.", "That's right.", "correct")), draft))
        return spliced(given, place, place, back)
    return None


FAMILIES = (
    _volunteered("volunteered-just-now", far=False),
    _volunteered("volunteered-before", far=True),
    Family("U2", "U2.tried-already", _tried, "exam"),
)
NEGATIVES = (HardNegative("U2", "U2.not-confirming", _read_back, "exam"),)
