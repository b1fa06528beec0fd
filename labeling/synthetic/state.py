"""U2: the agent asks for what the customer has stated already, or to do what was tried already.

The question is the same in the error and in its twin; only what came before it differs: in the twin the
customer had not stated it yet, or had stated something else. Hard negatives read back to confirm. Things
of our own making are in `state_planted`.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from dialint.labeling.synthetic.dialogue_acts import asks_anything, asks_question, is_thanks
from dialint.labeling.synthetic.draft import (
    Draft,
    DraftTurn,
    Family,
    HardNegative,
    Made,
    Pool,
    Use,
    added,
    agent,
    agent_texts,
    as_agent,
    as_customer,
    customer,
    joined,
    plain,
    shuffled,
    spliced,
    told,
    wrong,
)
from dialint.labeling.synthetic.insertion import spoken
from dialint.labeling.synthetic.phrases import Grammar, capital, like, say
from dialint.labeling.synthetic.scenes import MIN_TURNS, pauses, replies, silent_on
from dialint.labeling.synthetic.slots import asking, stating, third_kind, value_of
from dialint.labeling.synthetic.statements import LASTING, Given, given_in, mentions
from dialint.labeling.synthetic.wordings import Texts, Wordings

_TRAIN = Wordings("train/state")
NOUNS = _TRAIN.grammar("nouns")
QUESTIONS = _TRAIN.grammar("questions")
ASK = _TRAIN.grammar("ask")
REPLIES = _TRAIN.texts("answers")
UNSAID = _TRAIN.texts("unsaid")

PUT_OFF = Wordings("train/state_planted").texts("put_off")

_DEV = Wordings("dev/state")
MISSING = _DEV.grammar("missing")
LISTED = _DEV.grammar("listed")


class Detail(NamedTuple):
    """A thing that customers volunteer: how they state it, how agents ask for it, its values, and a pattern
    of talk about it. `@v` is the value."""

    statements: Texts
    questions: Texts
    values: Texts
    topic: str


_HELDOUT = Wordings("heldout/state")
DETAILS = {
    kind: Detail(*record)
    for kind, record in _HELDOUT.records_by_name(
        "details", "statements", "questions", "values", "topic"
    ).items()
}
TROUBLES = _HELDOUT.records("troubles", "customer", "steps")
STEPS = _HELDOUT.records_by_name("steps", "tried", "suggested")
DONE_THAT = _HELDOUT.texts("done_that")
GO_ON = _HELDOUT.texts("go_on")
ECHOES = _HELDOUT.texts("read_back")
DETAIL_ANSWERS = _HELDOUT.texts("answers")
CONFIRMATIONS = _HELDOUT.texts("confirmations")
CLOSE_STEPS = frozenset(frozenset(group) for group in _HELDOUT.groups("close_steps"))
"""Steps so close that whoever has taken one may well have taken the other."""

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


_READ_BACK = ("phone", "mail", "account", "birthday", "address")


def _detail_words(kind: str, value: str, draft: Draft, rng: Random) -> str:
    return as_customer(capital(say({"say": DETAILS[kind].statements}, rng, v=value)), draft)


def _kinds(draft: Draft, rng: Random) -> tuple[str, str] | None:
    """Two kinds of detail that the talk is silent on; to tell one is not to tell the other."""
    texts = [turn.text for turn in draft.turns]
    free = [kind for kind in shuffled_names(rng) if silent_on(DETAILS[kind].topic, texts)]
    for kind in free:
        for other in free:
            if other != kind and silent_on(DETAILS[kind].topic, DETAILS[other].statements):
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
            given = told(draft, told_at, _detail_words(kind, value, draft, rng))
            apart = told(draft, told_at, _detail_words(other, rng.choice(DETAILS[other].values), draft, rng))
            ask = as_agent(spoken(rng.choice(DETAILS[kind].questions), {}, rng), draft)
            reply = as_customer(say({"say": DETAIL_ANSWERS}, rng, v=value), draft)
            pending = "?" in draft.turns[place - 1].text  # an answer must not wait for a side question
            if pending and not _can_append(draft, place):
                continue
            put = (
                _question_after
                if _can_append(draft, place) and (pending or rng.random() < 0.5)
                else _exchange_before
            )
            return Made(put(given, place, ask, reply, f"U2.{name}"), put(apart, place, ask, reply, ""))
        return None

    return Family("U2", f"U2.{name}", make, "heldout")


def _earlier(draft: Draft, place: int, rng: Random) -> int | None:
    """A customer turn well before `place`."""
    found = [
        at for at in range(place - 2) if draft.turns[at].role == "customer" and not draft.turns[at].touched
    ]
    return rng.choice(found) if found else None


def _exchange_before(draft: Draft, place: int, ask: str, reply: str, family: str) -> Draft:
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


def _question_after(draft: Draft, place: int, ask: str, reply: str, family: str) -> Draft:
    """The agent's own turn ends in the question; the customer's next one begins with the reply."""
    text, start, end = joined(draft.turns[place].text, ask)
    turn = wrong(text, family, "U2", start=start, end=end) if family else plain("agent", text, "U2")
    after = added(draft.turns[place + 1], reply, first=True)
    return draft.with_turn(place, turn).with_turn(place + 1, after)


def _tried(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """A side problem: the agent asks for a step that the customer has taken, in the twin for another."""
    for place in pauses(draft, rng):
        troubles, steps = TROUBLES[rng.randrange(len(TROUBLES))]
        step, other = rng.sample(steps, 2)
        while frozenset({step, other}) in CLOSE_STEPS:
            step, other = rng.sample(steps, 2)
        trouble = spoken(rng.choice(troubles), {}, rng)
        given, apart = (
            customer(joined(trouble, rng.choice(STEPS[each][0]))[0], draft) for each in (step, other)
        )
        ask = as_agent(spoken(rng.choice(STEPS[step][1]), {}, rng), draft)
        rest = (customer(rng.choice(DONE_THAT), draft), agent(rng.choice(GO_ON), draft))
        return Made(
            spliced(draft, place, place, (given, wrong(ask, "U2.tried-already", "U2"), *rest)),
            spliced(draft, place, place, (apart, plain("agent", ask, "U2"), *rest)),
        )
    return None


def _read_back(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """What the customer volunteered is read back to him, so that he can put it right."""
    texts = [turn.text for turn in draft.turns]
    kinds = [kind for kind in _READ_BACK if silent_on(DETAILS[kind].topic, texts)]
    for place in shuffled(replies(draft, rng), rng) if kinds and len(draft.turns) >= MIN_TURNS else ():
        if "?" in draft.turns[place - 1].text:
            continue
        kind = rng.choice(kinds)
        value = rng.choice(DETAILS[kind].values)
        given = told(draft, place - 1, _detail_words(kind, value, draft, rng))
        echo = as_agent(capital(say({"say": ECHOES}, rng, v=value)), draft)
        back = (plain("agent", echo, "U2"), customer(rng.choice(CONFIRMATIONS), draft))
        return spliced(given, place, place, back)
    return None


FAMILIES: tuple[Family, ...] = (
    _inserted("next", ASK),
    _later("later", ASK),
    Family("U2", "U2.appended", _appended),
    _inserted("missing", MISSING, use="dev"),
    _later("listed", LISTED, use="dev"),
    _volunteered("volunteered-just-now", far=False),
    _volunteered("volunteered-before", far=True),
    Family("U2", "U2.tried-already", _tried, "heldout"),
)
NEGATIVES: tuple[HardNegative, ...] = (HardNegative("U2", "U2.not-confirming", _read_back, "heldout"),)
