"""U2: the agent asks for what the customer has stated already, or to do what was tried already.

The question is the same in the error and in its twin; only what came before it differs: in the twin the
customer had not stated it yet, or had stated something else. Hard negatives read back to confirm. Planted
things are in `state_planted`.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from dialint.labeling.synthetic.dialogue_acts import asks_anything, asks_question, is_thanks
from dialint.labeling.synthetic.draft import (
    Draft,
    DraftTurn,
    ErrorPair,
    Family,
    HardNegative,
    Pool,
    Use,
    add_customer_words,
    add_words,
    agent_turn,
    clean_turn,
    customer_turn,
    error_turn,
    join_texts,
    match_agent_style,
    match_customer_style,
    shuffle,
    splice,
)
from dialint.labeling.synthetic.insertion import render
from dialint.labeling.synthetic.phrases import Grammar, capitalize_first, expand, match_style
from dialint.labeling.synthetic.scenes import MIN_TURNS, is_silent_on, reply_indexes, scene_indexes
from dialint.labeling.synthetic.slots import ask_slot, sample_third_kind, sample_value, state_slot
from dialint.labeling.synthetic.statements import LASTING, CustomerStatement, customer_statements, mentions
from dialint.labeling.synthetic.wordings import Texts, Wordings

_TRAIN = Wordings("train/state")
NOUNS = _TRAIN.grammar("nouns")
QUESTIONS = _TRAIN.grammar("questions")
ASK = _TRAIN.grammar("ask")
REPLIES = _TRAIN.texts("answers")
NEUTRAL_TURNS = _TRAIN.texts("unsaid")

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
"""What a kind of statement is called among the planted things. No times: an arrival is no appointment."""


def _statements(draft: Draft, rng: Random) -> list[tuple[int, CustomerStatement]]:
    """The customer's first statement of each kind, with the index of its turn, in random order."""
    statements: list[tuple[int, CustomerStatement]] = []
    seen: list[str] = []
    for index, turn in enumerate(draft.turns):
        if turn.role == "customer" and not turn.touched:
            statements += [
                (index, statement)
                for statement in customer_statements(turn.text)
                if (statement.without or _bare(turn.text))
                and not any(mentions(statement.kind, text) for text in seen)
            ]
        seen.append(turn.text)
    rng.shuffle(statements)
    return statements


def _bare(text: str) -> bool:
    """Whether the turn is little more than the value, so that leaving it out is putting it off."""
    return len(text.split()) <= 5 and not asks_anything(text)


def _ask(grammar: Grammar, kind: str, draft: Draft, rng: Random) -> str:
    rules = {**grammar, "noun": NOUNS[kind], "question": QUESTIONS[kind]}
    return match_agent_style(capitalize_first(expand(rules, rng)), draft)


def _reply(value: str, rng: Random) -> str:
    return capitalize_first(expand({"say": REPLIES}, rng, value=value))


def _without_statement(draft: Draft, index: int, statement: CustomerStatement, rng: Random) -> Draft:
    """The draft in which the customer does not state it."""
    text = statement.without or expand({"say": NEUTRAL_TURNS}, rng)
    return draft.with_turn(index, clean_turn("customer", text))


def _settled(draft: Draft, index: int, statement: CustomerStatement, until: int) -> bool:
    """Whether up to `until` nothing else is said of this kind, so that the question stays needless."""
    between = draft.turns[index + 1 : until]
    return not any(mentions(statement.kind, turn.text) for turn in between if turn.role == "customer")


def _partner(draft: Draft, at: int, statement: CustomerStatement, rng: Random) -> str | None:
    """A kind of thing that the customer has not stated before turn `at` and unlike the one stated."""
    earlier = " ".join(turn.text for turn in draft.turns[:at] if turn.role == "customer")
    like_it = SLOTS.get(statement.kind)
    return sample_third_kind(earlier, (like_it,) if like_it else (), rng)


def _put(draft: Draft, index: int, statement: CustomerStatement, kind: str, value: str, rng: Random) -> Draft:
    """The draft in which the customer tells this instead of what was given."""
    words = match_style(state_slot(kind, value, rng), [statement.without or draft.turns[index].text])
    text = join_texts(statement.without, words)[0] if statement.without else words
    return draft.with_turn(index, clean_turn("customer", text))


def _histories(
    draft: Draft, index: int, statement: CustomerStatement, at: int, rng: Random
) -> tuple[Draft, Draft, str, str] | None:
    """(history of the error, of the twin, question, value): what the customer really said and what he is
    made to say instead; asked for is the one or the other, so that neither tells error from twin."""
    kind = _partner(draft, at, statement, rng)
    if kind is None:
        return None
    value = sample_value(kind, rng)
    other = _put(draft, index, statement, kind, value, rng)
    between = " ".join(turn.text.lower() for turn in draft.turns[index + 1 : at])
    is_confirmed = any(word in between for word in statement.value.lower().split() if len(word) > 2)
    if is_confirmed or rng.random() < 0.5:  # where the agent has taken it up, leaving it out makes no twin
        return other, draft, match_agent_style(ask_slot(kind, rng), draft), value
    slot = SLOTS.get(statement.kind)
    ask = match_agent_style(ask_slot(slot, rng), draft) if slot and rng.random() < 0.6 else ""
    return draft, other, ask or _ask(ASK, statement.kind, draft, rng), statement.value


def _turned(
    draft: Draft, index: int, statement: CustomerStatement, at: int, name: str, rng: Random
) -> ErrorPair | None:
    """Question and reply put in before turn `at` of two histories."""
    if (histories := _histories(draft, index, statement, at, rng)) is None:
        return None
    stated, unstated, ask, value = histories
    reply = clean_turn("customer", _reply(value, rng))
    draw = rng.random()
    answer = (reply,) if draw < 0.5 else (clean_turn("customer", rng.choice(PUT_OFF)),) if draw < 0.75 else ()
    if not answer and any(turn.marks for turn in draft.turns[at:]):
        answer = (clean_turn("customer", PUT_OFF[0]),)  # no other family's error is cut off
    end = at if answer else len(draft.turns)
    return ErrorPair(
        splice(stated, at, end, (error_turn(ask, f"U2.{name}", "U2"), *answer)),
        splice(unstated, at, end, (clean_turn("agent", ask, "U2"), *answer)),
    )


def _inserted(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """Right after the statement the agent asks; the customer answers, and the dialogue goes on."""

    def make(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index, statement in _statements(draft, rng):
            if index + 1 >= len(draft.turns) or draft.turns[index + 1].role != "agent":
                continue
            if use == "train" and asks_question(draft.turns[index].text):
                continue  # the question would be passed over as well
            if use == "train":
                return _turned(draft, index, statement, index + 1, name, rng)
            ask, reply = _ask(grammar, statement.kind, draft, rng), _reply(statement.value, rng)
            return _pair(draft, index, statement, index + 1, name, ask, reply, rng)
        return None

    return Family("U2", f"U2.{name}", make, use)


def _pair(
    draft: Draft,
    index: int,
    statement: CustomerStatement,
    at: int,
    name: str,
    ask: str,
    reply: str,
    rng: Random,
) -> ErrorPair:
    """Question and reply put in before turn `at`; the twin's customer has said nothing before."""
    bad = (error_turn(ask, f"U2.{name}", "U2"), clean_turn("customer", reply))
    good = (clean_turn("agent", ask, "U2"), clean_turn("customer", reply))
    return ErrorPair(
        splice(draft, at, at, bad), splice(_without_statement(draft, index, statement, rng), at, at, good)
    )


def _later(name: str, grammar: Grammar, use: Use = "train") -> Family:
    """Turns later the agent asks; only for what stays true, or while the dialogue is still about it."""

    def make(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index, statement in _statements(draft, rng):
            reach = len(draft.turns) if statement.kind in LASTING else index + 4
            options = [
                at
                for at in range(index + 3, min(reach, len(draft.turns)))
                if draft.turns[at].role == "agent"
                and draft.turns[at - 1].role == "customer"
                and not asks_anything(draft.turns[at - 1].text)
                and not is_thanks(draft.turns[at - 1].text)
                and _settled(draft, index, statement, at)
                and not any(mentions(statement.kind, turn.text) for turn in draft.turns[index + 1 : at])
            ]
            if options and use == "train":
                return _turned(draft, index, statement, rng.choice(options), name, rng)
            if options:
                ask, reply = _ask(grammar, statement.kind, draft, rng), _reply(statement.value, rng)
                return _pair(draft, index, statement, rng.choice(options), name, ask, reply, rng)
        return None

    return Family("U2", f"U2.{name}", make, use)


def _appended(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The agent's next turn ends in the needless question; the customer answers in his own next one."""
    for index, statement in _statements(draft, rng):
        turns = draft.turns
        if index + 2 >= len(turns) or [t.role for t in turns[index + 1 : index + 3]] != ["agent", "customer"]:
            continue
        answer = turns[index + 1]
        if (
            not statement.without
            or "?" in answer.text
            or answer.touched
            or mentions(statement.kind, answer.text)
        ):
            continue
        if (histories := _histories(draft, index, statement, index + 2, rng)) is None:
            continue
        stated, unstated, ask, value = histories
        text, start, end = join_texts(answer.text, ask)
        reply = clean_turn("customer", join_texts(_reply(value, rng), turns[index + 2].text)[0])
        bad = (error_turn(text, "U2.appended", "U2", start=start, end=end), reply)
        good = (clean_turn("agent", text, "U2"), reply)
        return ErrorPair(
            splice(stated, index + 1, index + 3, bad), splice(unstated, index + 1, index + 3, good)
        )
    return None


_READ_BACK = ("phone", "mail", "account", "birthday", "address")


def _detail_words(kind: str, value: str, draft: Draft, rng: Random) -> str:
    return match_customer_style(
        capitalize_first(expand({"say": DETAILS[kind].statements}, rng, v=value)), draft
    )


def _kinds(draft: Draft, rng: Random) -> tuple[str, str] | None:
    """Two kinds of detail that the dialogue is silent on; to tell one is not to tell the other."""
    texts = [turn.text for turn in draft.turns]
    free = [kind for kind in shuffled_names(rng) if is_silent_on(DETAILS[kind].topic, texts)]
    for kind in free:
        for other in free:
            if other != kind and is_silent_on(DETAILS[kind].topic, DETAILS[other].statements):
                return kind, other
    return None


def shuffled_names(rng: Random) -> list[str]:
    """The kinds of detail in random order."""
    return rng.sample(list(DETAILS), len(DETAILS))


def _volunteered(name: str, far: bool) -> Family:
    """The customer has just stated it, or stated it a while ago, and is asked for it."""

    def make(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
        kinds = _kinds(draft, rng) if len(draft.turns) >= MIN_TURNS else None
        for index in reply_indexes(draft, rng, first=3 if far else 1) if kinds else ():
            stated_at = _earlier(draft, index, rng) if far else index - 1
            if kinds is None or stated_at is None:
                continue
            kind, other = kinds
            value = rng.choice(DETAILS[kind].values)
            same = add_customer_words(draft, stated_at, _detail_words(kind, value, draft, rng))
            different = add_customer_words(
                draft, stated_at, _detail_words(other, rng.choice(DETAILS[other].values), draft, rng)
            )
            ask = match_agent_style(render(rng.choice(DETAILS[kind].questions), {}, rng), draft)
            reply = match_customer_style(expand({"say": DETAIL_ANSWERS}, rng, v=value), draft)
            pending = "?" in draft.turns[index - 1].text  # an answer must not wait for a side question
            if pending and not _can_append(draft, index):
                continue
            put = (
                _question_after
                if _can_append(draft, index) and (pending or rng.random() < 0.5)
                else _exchange_before
            )
            return ErrorPair(
                put(same, index, ask, reply, f"U2.{name}"), put(different, index, ask, reply, "")
            )
        return None

    return Family("U2", f"U2.{name}", make, "heldout")


def _earlier(draft: Draft, index: int, rng: Random) -> int | None:
    """A customer turn well before `index`."""
    indexes = [
        at for at in range(index - 2) if draft.turns[at].role == "customer" and not draft.turns[at].touched
    ]
    return rng.choice(indexes) if indexes else None


def _exchange_before(draft: Draft, index: int, ask: str, reply: str, family: str) -> Draft:
    """Question and reply put in before the agent's own turn."""
    asking = error_turn(ask, family, "U2") if family else clean_turn("agent", ask, "U2")
    return splice(draft, index, index, (asking, DraftTurn("customer", reply, touched=True)))


def _can_append(draft: Draft, index: int) -> bool:
    after = draft.turns[index + 1] if index + 1 < len(draft.turns) else None
    return (
        after is not None
        and after.role == "customer"
        and not after.touched
        and not asks_anything(draft.turns[index].text)
        and not is_thanks(after.text)
    )


def _question_after(draft: Draft, index: int, ask: str, reply: str, family: str) -> Draft:
    """The agent's own turn ends in the question; the customer's next one begins with the reply."""
    text, start, end = join_texts(draft.turns[index].text, ask)
    turn = error_turn(text, family, "U2", start=start, end=end) if family else clean_turn("agent", text, "U2")
    after = add_words(draft.turns[index + 1], reply, first=True)
    return draft.with_turn(index, turn).with_turn(index + 1, after)


def _tried(draft: Draft, rng: Random, pool: Pool) -> ErrorPair | None:
    """A side problem: the agent asks for a step that the customer has taken, in the twin for another."""
    for index in scene_indexes(draft, rng):
        troubles, steps = TROUBLES[rng.randrange(len(TROUBLES))]
        step, other = rng.sample(steps, 2)
        while frozenset({step, other}) in CLOSE_STEPS:
            step, other = rng.sample(steps, 2)
        trouble = render(rng.choice(troubles), {}, rng)
        same, different = (
            customer_turn(join_texts(trouble, rng.choice(STEPS[each][0]))[0], draft) for each in (step, other)
        )
        ask = match_agent_style(render(rng.choice(STEPS[step][1]), {}, rng), draft)
        rest = (customer_turn(rng.choice(DONE_THAT), draft), agent_turn(rng.choice(GO_ON), draft))
        return ErrorPair(
            splice(draft, index, index, (same, error_turn(ask, "U2.tried-already", "U2"), *rest)),
            splice(draft, index, index, (different, clean_turn("agent", ask, "U2"), *rest)),
        )
    return None


def _read_back(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """What the customer volunteered is read back to him, so that he can put it right."""
    texts = [turn.text for turn in draft.turns]
    kinds = [kind for kind in _READ_BACK if is_silent_on(DETAILS[kind].topic, texts)]
    for index in shuffle(reply_indexes(draft, rng), rng) if kinds and len(draft.turns) >= MIN_TURNS else ():
        if "?" in draft.turns[index - 1].text:
            continue
        kind = rng.choice(kinds)
        value = rng.choice(DETAILS[kind].values)
        stated = add_customer_words(draft, index - 1, _detail_words(kind, value, draft, rng))
        echo = match_agent_style(capitalize_first(expand({"say": ECHOES}, rng, v=value)), draft)
        back = (clean_turn("agent", echo, "U2"), customer_turn(rng.choice(CONFIRMATIONS), draft))
        return splice(stated, index, index, back)
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
