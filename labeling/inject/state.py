"""U2: the agent asks for what the customer has said already.

The question is the same in the error and in its twin; only what came before it differs: in the twin
the customer had not said it yet. Reading back to confirm is clean and stands in some twins.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from labeling.inject.draft import Draft, Family, Made, Pool, Use
from labeling.inject.given import LASTING, Given, given_in, mentions
from labeling.inject.phrases import Grammar, capital, like, say, tidy
from labeling.inject.places import (
    agent_texts,
    asks_anything,
    is_thanks,
    joined,
    plain,
    spliced,
    wrong,
)
from labeling.inject.wordings.asks import (
    ASK,
    LISTED,
    MISSING,
    NOUNS,
    QUESTIONS,
    READ_BACK,
    REPLIES,
    UNSAID,
    YES,
)


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


def _inserted(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """Right after the statement the agent asks; the customer answers, and the talk goes on."""

    def make(draft: Draft, rng: Random, pool: Pool) -> Made | None:
        for place, given in _statements(draft, rng):
            if place + 1 >= len(draft.turns) or draft.turns[place + 1].role != "agent":
                continue
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
        text, start, end = joined(answer.text, _ask(ASK, given.kind, draft, rng))
        reply = plain("customer", joined(_reply(given.value, rng), turns[place + 2].text)[0])
        bad = (wrong(text, "U2.appended", "U2", start=start, end=end), reply)
        good = (plain("agent", text, "U2"), reply)
        unsaid = _unsaid(draft, place, given, rng)
        return Made(spliced(draft, place + 1, place + 3, bad), spliced(unsaid, place + 1, place + 3, good))
    return None


def _not_read_back(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The agent asks afresh where the twin reads back what he heard."""
    for place, given in _statements(draft, rng):
        at = place + 1
        if at >= len(draft.turns) or draft.turns[at].role != "agent":
            continue
        texts = agent_texts(draft)
        heard = like(capital(say({"say": READ_BACK}, rng, value=given.value)), texts)
        bad = (
            wrong(_ask(ASK, given.kind, draft, rng), "U2.not-read-back", "U2"),
            plain("customer", _reply(given.value, rng)),
        )
        good = (plain("agent", heard, "U2"), plain("customer", tidy(say({"say": YES}, rng))))
        return Made(spliced(draft, at, at, bad), spliced(draft, at, at, good))
    return None


_OWN: tuple[tuple[str, Callable[[Draft, Random, Pool], Made | None]], ...] = (
    ("appended", _appended),
    ("not-read-back", _not_read_back),
)

FAMILIES: tuple[Family, ...] = (
    _inserted("next", ASK),
    _later("later", ASK),
    *(Family("U2", f"U2.{name}", make) for name, make in _OWN),
    _inserted("missing", MISSING, use="dev"),
    _later("listed", LISTED, use="dev"),
)
