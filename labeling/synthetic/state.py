"""U2: the agent asks for what the customer has said already.

The question is the same in the error and in its twin; only what came before it differs: in the twin
the customer had not said it yet. Hard negatives read back to confirm.
"""

from __future__ import annotations

from random import Random

from dialint.labeling.inject.wordings.asking_again import PUT_OFF
from dialint.labeling.inject.wordings.asks import (
    ASK,
    LISTED,
    MISSING,
    NOUNS,
    QUESTIONS,
    REPLIES,
    UNSAID,
)
from dialint.labeling.synthetic import state_planted
from dialint.labeling.synthetic.draft import Draft, Family, HardNegative, Made, Pool, Use
from dialint.labeling.synthetic.phrases import Grammar, capital, like, say
from dialint.labeling.synthetic.places import (
    agent_texts,
    asks_anything,
    asks_question,
    is_thanks,
    joined,
    plain,
    spliced,
    wrong,
)
from dialint.labeling.synthetic.slots import asking, stating, third_kind, value_of
from dialint.labeling.synthetic.statements import LASTING, Given, given_in, mentions

SLOTS = {
    "day": "date", "people": "people", "nights": "duration", "price": "budget", "departure": "origin",
    "name": "name", "email": "email", "zip": "postcode", "order": "order", "size": "size",
}  # fmt: skip
"""What a given kind is called among the things of our own making. No times: an arrival is no appointment."""


def _statements(draft: Draft, rng: Random) -> list[tuple[int, Given]]:
    """What the customer states for the first time, with its place, in random order."""
    found: list[tuple[int, Given]] = []
    seen: list[str] = []
    for place, turn in enumerate(draft.turns):
        if turn.role == "customer" and not turn.touched:
            found += [
                (place, given)
                for given in given_in(turn.text)
                if (given.without or _bare(turn.text))
                and not any(mentions(given.kind, text) for text in seen)
            ]
        seen.append(turn.text)
    rng.shuffle(found)
    return found


def _bare(text: str) -> bool:
    """Whether the turn is little more than the value, so that leaving it unsaid is putting it off."""
    return len(text.split()) <= 5 and not asks_anything(text)


def _ask(grammar: Grammar, kind: str, draft: Draft, rng: Random) -> str:
    rules = {**grammar, "noun": NOUNS[kind], "question": QUESTIONS[kind]}
    return like(capital(say(rules, rng)), agent_texts(draft))


def _reply(value: str, rng: Random) -> str:
    return capital(say({"say": REPLIES}, rng, value=value))


def _unsaid(draft: Draft, place: int, given: Given, rng: Random) -> Draft:
    """The draft in which the customer has not said it."""
    text = given.without or say({"say": UNSAID}, rng)
    return draft.with_turn(place, plain("customer", text))


def _settled(draft: Draft, place: int, given: Given, until: int) -> bool:
    """Whether up to `until` nothing else is said of this kind, so that the question stays needless."""
    between = draft.turns[place + 1 : until]
    return not any(mentions(given.kind, turn.text) for turn in between if turn.role == "customer")


def _partner(draft: Draft, at: int, given: Given, rng: Random) -> str | None:
    """A kind of thing that the customer has not told before turn `at` and that is not like the given one."""
    told = " ".join(turn.text for turn in draft.turns[:at] if turn.role == "customer")
    like_it = SLOTS.get(given.kind)
    return third_kind(told, (like_it,) if like_it else (), rng)


def _put(draft: Draft, place: int, given: Given, kind: str, value: str, rng: Random) -> Draft:
    """The draft in which the customer tells this instead of what was given."""
    words = like(stating(kind, value, rng), [given.without or draft.turns[place].text])
    text = joined(given.without, words)[0] if given.without else words
    return draft.with_turn(place, plain("customer", text))


def _histories(
    draft: Draft, place: int, given: Given, at: int, rng: Random
) -> tuple[Draft, Draft, str, str] | None:
    """(history of the error, of the twin, question, value): what the customer really said and what he is
    made to say instead; asked for is the one or the other, so that neither tells error from twin."""
    kind = _partner(draft, at, given, rng)
    if kind is None:
        return None
    value = value_of(kind, rng)
    other = _put(draft, place, given, kind, value, rng)
    between = " ".join(turn.text.lower() for turn in draft.turns[place + 1 : at])
    known = any(word in between for word in given.value.lower().split() if len(word) > 2)
    if known or rng.random() < 0.5:  # where the agent has taken it up, leaving it unsaid is no twin
        return other, draft, like(asking(kind, rng), agent_texts(draft)), value
    slot = SLOTS.get(given.kind)
    ask = like(asking(slot, rng), agent_texts(draft)) if slot and rng.random() < 0.6 else ""
    return draft, other, ask or _ask(ASK, given.kind, draft, rng), given.value


def _turned(draft: Draft, place: int, given: Given, at: int, name: str, rng: Random) -> Made | None:
    """Question and reply put in before turn `at` of two histories."""
    if (found := _histories(draft, place, given, at, rng)) is None:
        return None
    told, untold, ask, value = found
    reply = plain("customer", _reply(value, rng))
    draw = rng.random()
    answer = (reply,) if draw < 0.5 else (plain("customer", rng.choice(PUT_OFF)),) if draw < 0.75 else ()
    if not answer and any(turn.marks for turn in draft.turns[at:]):
        answer = (plain("customer", PUT_OFF[0]),)  # no other family's error is cut off
    end = at if answer else len(draft.turns)
    return Made(
        spliced(told, at, end, (wrong(ask, f"U2.{name}", "U2"), *answer)),
        spliced(untold, at, end, (plain("agent", ask, "U2"), *answer)),
    )


def _inserted(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """Right after the statement the agent asks; the customer answers, and the talk goes on."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place, given in _statements(draft, rng):
            if place + 1 >= len(draft.turns) or draft.turns[place + 1].role != "agent":
                continue
            if use == "train" and asks_question(draft.turns[place].text):
                continue  # the question would be passed over as well
            if use == "train":
                return _turned(draft, place, given, place + 1, name, rng)
            ask, reply = _ask(grammar, given.kind, draft, rng), _reply(given.value, rng)
            return _pair(draft, place, given, place + 1, name, ask, reply, rng)
        return None

    return Family("U2", f"U2.{name}", make, use)


def _pair(
    draft: Draft, place: int, given: Given, at: int, name: str, ask: str, reply: str, rng: Random
) -> Made:
    """Question and reply put in before turn `at`; the twin's customer has said nothing before."""
    bad = (wrong(ask, f"U2.{name}", "U2"), plain("customer", reply))
    good = (plain("agent", ask, "U2"), plain("customer", reply))
    return Made(spliced(draft, at, at, bad), spliced(_unsaid(draft, place, given, rng), at, at, good))


def _later(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """Turns later the agent asks; only for what stays true, or while the talk is still about it."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place, given in _statements(draft, rng):
            reach = len(draft.turns) if given.kind in LASTING else place + 4
            options = [
                at
                for at in range(place + 3, min(reach, len(draft.turns)))
                if draft.turns[at].role == "agent"
                and draft.turns[at - 1].role == "customer"
                and not asks_anything(draft.turns[at - 1].text)
                and not is_thanks(draft.turns[at - 1].text)
                and _settled(draft, place, given, at)
                and not any(mentions(given.kind, turn.text) for turn in draft.turns[place + 1 : at])
            ]
            if options and use == "train":
                return _turned(draft, place, given, rng.choice(options), name, rng)
            if options:
                ask, reply = _ask(grammar, given.kind, draft, rng), _reply(given.value, rng)
                return _pair(draft, place, given, rng.choice(options), name, ask, reply, rng)
        return None

    return Family("U2", f"U2.{name}", make, use)


def _appended(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The agent's next turn ends in the needless question; the customer answers in his own next one."""
    for place, given in _statements(draft, rng):
        turns = draft.turns
        if place + 2 >= len(turns) or [t.role for t in turns[place + 1 : place + 3]] != ["agent", "customer"]:
            continue
        answer = turns[place + 1]
        if not given.without or "?" in answer.text or answer.touched or mentions(given.kind, answer.text):
            continue
        if (found := _histories(draft, place, given, place + 2, rng)) is None:
            continue
        told, untold, ask, value = found
        text, start, end = joined(answer.text, ask)
        reply = plain("customer", joined(_reply(value, rng), turns[place + 2].text)[0])
        bad = (wrong(text, "U2.appended", "U2", start=start, end=end), reply)
        good = (plain("agent", text, "U2"), reply)
        return Made(spliced(told, place + 1, place + 3, bad), spliced(untold, place + 1, place + 3, good))
    return None


FAMILIES: tuple[Family, ...] = (
    _inserted("next", ASK),
    _later("later", ASK),
    Family("U2", "U2.appended", _appended),
    *state_planted.FAMILIES,
    _inserted("missing", MISSING, use="dev"),
    _later("listed", LISTED, use="dev"),
)

NEGATIVES: tuple[HardNegative, ...] = state_planted.NEGATIVES
