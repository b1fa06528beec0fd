"""Things and facts of our own making: the turn is the same in error and twin, and the history decides."""

from __future__ import annotations

from random import Random

import pytest

from dialint.labeling.synthetic import contradiction, state_planted
from dialint.labeling.synthetic.contradiction import ATTRIBUTES, NEAR
from dialint.labeling.synthetic.example_draft import DraftTurn, ExampleDraft, Family, Mark, Pool
from dialint.labeling.synthetic.slots import (
    NOUNS,
    QUESTIONS,
    ask_slot,
    is_clash,
    is_silent,
    sample_two_kinds,
    sample_value,
    state_slot,
)
from dialint.labeling.synthetic.slots import VALUES as SLOT_VALUES

LINES = (
    "c Good morning to you.",
    "a Good morning, what can be done?",
    "c The lamp keeps flickering.",
    "a That is a nuisance indeed.",
    "c It really is.",
    "a A loose bulb is the usual cause.",
    "c The bulb sits tight.",
    "a Then the cable is the likely culprit.",
    "c Hm, that could be.",
    "a It often is.",
)
DRAFT = ExampleDraft(
    id="lamp",
    source="tests",
    domain="lamps",
    turns=tuple(DraftTurn("customer" if line[0] == "c" else "agent", line[2:]) for line in LINES),
)
FAMILIES = (*state_planted.FAMILIES, *(f for f in contradiction.FAMILIES if f.use == "train"))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_only_the_history_tells_an_error_from_its_twin(family: Family) -> None:
    made = [made for seed in range(40) if (made := family.make(DRAFT, Random(seed), Pool()))]
    assert len(made) > 20
    for each in made:
        assert each.twin
        assert len(each.error.turns) == len(each.twin.turns)
        bad = next(i for i, turn in enumerate(each.error.turns) if turn.marks)
        assert each.twin.turns[bad].probe == family.code
        assert each.error.turns[bad].text == each.twin.turns[bad].text
        after = bad + 1
        assert each.error.turns[after:] == each.twin.turns[after:]
        before = [half.turns[:bad] for half in (each.error, each.twin)]
        assert sum(one != other for one, other in zip(*before, strict=True)) in (1, 2)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_an_error_that_stands_already_is_not_cut_off(family: Family) -> None:
    last = DraftTurn("agent", "It often is.", (Mark("T1", "T1.earlier", 0, 5),), touched=True)
    draft = DRAFT.with_turn(len(DRAFT.turns) - 1, last)
    for seed in range(40):
        if made := family.make(draft, Random(seed), Pool()):
            assert last in made.error.turns


def test_no_attribute_is_told_from_another_that_means_the_same() -> None:
    for seed in range(200):
        kind, noun, beside = contradiction._two_nouns(tuple(ATTRIBUTES), Random(seed))
        assert {noun, beside} <= set(ATTRIBUTES[kind])
        assert not any({noun, beside} <= group for group in NEAR)


def test_every_kind_of_thing_can_be_said_and_asked_for() -> None:
    rng = Random(1)
    for kind in SLOT_VALUES:
        assert NOUNS[kind]
        assert QUESTIONS[kind]
        for _ in range(10):
            value = sample_value(kind, rng)
            assert not set("#~") & set(value) or kind == "email"
            assert value.lower() in state_slot(kind, value, rng).lower()
            assert ask_slot(kind, rng)


def test_two_kinds_never_answer_for_each_other_and_were_not_told() -> None:
    for seed in range(50):
        kinds = sample_two_kinds("My name is Ann, call 020 7946 0018 on Friday.", Random(seed))
        assert kinds
        assert not is_clash(*kinds)
        assert not {"name", "phone", "date", "time"} & set(kinds)
    assert not is_silent("email", "it is ann@post.example")
