"""U2: the agent asks for what the customer has stated already, or to do what was tried already.

The question is the same in the error and in its twin; only what came before it differs: in the twin the
customer had not stated it yet, or had stated something else. Hard negatives read back to confirm. Planted
things are in `state_planted`.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from dialint.labeling.synthetic.dialogue_acts import asks_anything, is_thanks
from dialint.labeling.synthetic.domains import MIN_TURNS, is_silent_on, reply_indexes, scene_indexes
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Pool,
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
from dialint.labeling.synthetic.slots import CustomerStatement, customer_statements, mentions
from dialint.labeling.synthetic.wordings import Texts, Wordings, capitalize_first, expand, render

_TRAIN = Wordings("train/state")
NOUNS = _TRAIN.grammar("nouns")
QUESTIONS = _TRAIN.grammar("questions")
REPLIES = _TRAIN.texts("answers")
NEUTRAL_TURNS = _TRAIN.texts("unsaid")

_DEV = Wordings("dev/state")
MISSING = _DEV.grammar("missing")


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


def _statements(draft: ExampleDraft, rng: Random) -> list[tuple[int, CustomerStatement]]:
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


def _missing(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """Right after the statement the agent asks; the customer answers, and the dialogue goes on. The twin's
    customer has said nothing before."""
    for index, statement in _statements(draft, rng):
        at = index + 1
        if at >= len(draft.turns) or draft.turns[at].role != "agent":
            continue
        rules = {**MISSING, "noun": NOUNS[statement.kind], "question": QUESTIONS[statement.kind]}
        ask = match_agent_style(capitalize_first(expand(rules, rng)), draft)
        reply = clean_turn("customer", capitalize_first(expand({"say": REPLIES}, rng, value=statement.value)))
        unstated = clean_turn("customer", statement.without or expand({"say": NEUTRAL_TURNS}, rng))
        return ErrorPair(
            splice(draft, at, at, (error_turn(ask, "U2.missing", "U2"), reply)),
            splice(draft.with_turn(index, unstated), at, at, (clean_turn("agent", ask, "U2"), reply)),
        )
    return None


_READ_BACK = ("phone", "mail", "account", "birthday", "address")


def _detail_words(kind: str, value: str, draft: ExampleDraft, rng: Random) -> str:
    return match_customer_style(
        capitalize_first(expand({"say": DETAILS[kind].statements}, rng, v=value)), draft
    )


def _kinds(draft: ExampleDraft, rng: Random) -> tuple[str, str] | None:
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

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
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


def _earlier(draft: ExampleDraft, index: int, rng: Random) -> int | None:
    """A customer turn well before `index`."""
    indexes = [
        at for at in range(index - 2) if draft.turns[at].role == "customer" and not draft.turns[at].touched
    ]
    return rng.choice(indexes) if indexes else None


def _exchange_before(draft: ExampleDraft, index: int, ask: str, reply: str, family: str) -> ExampleDraft:
    """Question and reply put in before the agent's own turn."""
    asking = error_turn(ask, family, "U2") if family else clean_turn("agent", ask, "U2")
    return splice(draft, index, index, (asking, DraftTurn("customer", reply, touched=True)))


def _can_append(draft: ExampleDraft, index: int) -> bool:
    after = draft.turns[index + 1] if index + 1 < len(draft.turns) else None
    return (
        after is not None
        and after.role == "customer"
        and not after.touched
        and not asks_anything(draft.turns[index].text)
        and not is_thanks(after.text)
    )


def _question_after(draft: ExampleDraft, index: int, ask: str, reply: str, family: str) -> ExampleDraft:
    """The agent's own turn ends in the question; the customer's next one begins with the reply."""
    text, start, end = join_texts(draft.turns[index].text, ask)
    turn = error_turn(text, family, "U2", start=start, end=end) if family else clean_turn("agent", text, "U2")
    after = add_words(draft.turns[index + 1], reply, first=True)
    return draft.with_turn(index, turn).with_turn(index + 1, after)


def _tried(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
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


def _read_back(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
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
    Family("U2", "U2.missing", _missing, "dev"),
    _volunteered("volunteered-just-now", far=False),
    _volunteered("volunteered-before", far=True),
    Family("U2", "U2.tried-already", _tried, "heldout"),
)
NEGATIVES: tuple[HardNegative, ...] = (HardNegative("U2", "U2.not-confirming", _read_back, "heldout"),)
