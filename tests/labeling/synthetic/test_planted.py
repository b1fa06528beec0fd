"""Things and facts of our own making: the turn is the same in error and twin, and the history decides."""

from __future__ import annotations

from random import Random

import pytest

from dialint.labeling.synthetic import contradiction_planted, state_planted
from dialint.labeling.synthetic.contradiction_planted import ATTRIBUTES, LATER, MATTER_LATER, NEAR, VALUES
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Mark, Pool
from dialint.labeling.synthetic.phrases import count_forms
from dialint.labeling.synthetic.slots import (
    ASK,
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
DRAFT = Draft(
    id="lamp",
    source="tests",
    domain="lamps",
    turns=tuple(DraftTurn("customer" if line[0] == "c" else "agent", line[2:]) for line in LINES),
)
FAMILIES = (*state_planted.FAMILIES, *contradiction_planted.FAMILIES)
NEGATIVES = (*state_planted.NEGATIVES, *contradiction_planted.NEGATIVES)


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
        kind, noun, beside = contradiction_planted._two_nouns(tuple(ATTRIBUTES), Random(seed))
        assert {noun, beside} <= set(ATTRIBUTES[kind])
        assert not any({noun, beside} <= group for group in NEAR)


@pytest.mark.parametrize("negative", NEGATIVES, ids=lambda negative: negative.name)
def test_a_hard_negative_holds_one_turn_to_judge_and_no_error(negative: HardNegative) -> None:
    made = [made for seed in range(20) if (made := negative.make(DRAFT, Random(seed), Pool()))]
    assert made
    for draft in made:
        assert not any(turn.marks for turn in draft.turns)
        assert [turn.probe for turn in draft.turns if turn.probe] == [negative.code]


def test_what_was_told_is_in_the_history_of_the_error_and_not_of_the_twin() -> None:
    planted = next(family for family in state_planted.FAMILIES if family.name == "U2.planted")
    seen = 0
    for seed in range(60):
        made = planted.make(DRAFT, Random(seed), Pool())
        assert made
        assert made.twin
        at = next(i for i, turn in enumerate(made.error.turns) if turn.marks)
        if at + 1 < len(made.error.turns):
            error_text, twin_text = (
                " ".join(t.text for t in half.turns[:at]) for half in (made.error, made.twin)
            )
            answer = made.error.turns[at + 1].text
            numbers = [word.strip(".,") for word in answer.split() if sum(c.isdigit() for c in word) > 4]
            if numbers:
                seen += 1
                assert numbers[0] in error_text
                assert numbers[0] not in twin_text
    assert seen > 3


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


def test_there_are_wordings_enough() -> None:
    assert set(ATTRIBUTES) == set(VALUES)
    assert len(ASK["whole"]) + sum(len(questions) for questions in QUESTIONS.values()) >= 200
    assert count_forms({"say": LATER}) + count_forms({"say": MATTER_LATER}) >= 120
