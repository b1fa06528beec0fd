"""What a customer asks, what a reply is about, and which values mean the same."""

from __future__ import annotations

from random import Random

import pytest

from dialint.labeling.synthetic.dialogue_acts import (
    is_surely_unanswered,
    leaves_ask_open,
)
from dialint.labeling.synthetic.example_draft import DraftTurn, ExampleDraft, Pool
from dialint.labeling.synthetic.repetition import FAMILIES as REPEATS
from dialint.labeling.synthetic.slots import is_same_value
from dialint.labeling.synthetic.topic import FAMILIES as JUMPS


@pytest.mark.parametrize(
    ("customer_text", "before", "open_ask"),
    [
        ("How much is the deposit?", "", True),
        ("I need a taxi to the station.", "", True),
        ("Thanks, I also need a room.", "", True),
        ("please book for 5 people", "", True),
        ("No thanks. I meant that I need a desk lamp.", "", True),
        ("No, that's all the information I need. Thanks!", "", False),
        ("Good to know.", "", False),
        ("My aunt came by.", "", False),
        ("Good to know.", "Shall I go on?", None),
        ("Same time, 10pm.", "", None),
        ("The screen is broken.", "", None),
    ],
)
def test_an_ask_is_open_or_not_or_nobody_can_say(
    customer_text: str, before: str, open_ask: bool | None
) -> None:
    assert leaves_ask_open(customer_text, before) is open_ask


@pytest.mark.parametrize(
    ("ask", "reply", "unanswered"),
    [
        ("What is the phone number?", "The travel time is 60 minutes.", True),
        ("What area is it in?", "The address is 59 Hills Road.", False),
        ("Is there a place with French food?", "The phone number is 01223 555.", False),
        ("Do they give discounts on the price?", "No, except for service animals.", False),
        ("How much does it cost?", "It comes to 12 pounds.", False),
        ("How much does it cost?", "The lodge is near the river.", True),
    ],
)
def test_only_a_definite_question_is_surely_unanswered(ask: str, reply: str, unanswered: bool) -> None:
    assert is_surely_unanswered(ask, reply) is unanswered


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("nine business days", "9 business days", True), ("two", "2", True), ("eight weeks", "56 days", True),
        ("2:15 pm", "14:15", True), ("noon", "12:00", True), ("Mr Miller", "Dr Miller", True), ("half an hour", "30 minutes", True),
        ("the 3rd of June", "June 3rd", True), ("a grey Volvo", "a Volvo", True), ("two", "3", False), ("$45", "$40", False),
        ("a grey Volvo", "a grey Ford", False), ("a double", "a single", False), ("05:32", "07:32", False), ("AB-1234", "AB-1235", False),
    ],
)  # fmt: skip
def test_values_are_compared_by_what_they_mean(one: str, other: str, same: bool) -> None:
    assert is_same_value(one, other) is same
    assert is_same_value(other, one) is same


def _talk(*lines: str) -> ExampleDraft:
    turns = tuple(DraftTurn("customer" if line[0] == "c" else "agent", line[2:]) for line in lines)
    return ExampleDraft(id="d", source="tests", domain="lamps", turns=turns)


def _codes(draft: ExampleDraft, name: str) -> set[frozenset[str]]:
    family = next(family for family in (*REPEATS, *JUMPS) if family.name == name)
    made = [found for seed in range(30) if (found := family.make(draft, Random(seed), Pool()))]
    return {frozenset(mark.code for turn in each.error.turns for mark in turn.marks) for each in made}


def test_a_question_that_was_answered_is_asked_for_again() -> None:
    start = ("c Hi, a lamp please.", "a Which colour should the lamp have?")
    assert _codes(_talk(*start, "c The white one.", "a Fine."), "M3.verbatim") == {frozenset({"M3", "U2"})}
    assert not _codes(_talk(*start, "c Wait, I'm not sure.", "a Fine."), "M3.verbatim")


def test_a_repeat_after_thanks_passes_nothing_over() -> None:
    talk = (
        "c Is it in stock?",
        "a We have three of them on the shelf.",
        "c No, that's all I need. Thanks!",
        "a Bye.",
    )
    assert _codes(_talk(*talk), "M3.verbatim") == {frozenset({"M3"})}
    talk = (*talk[:2], "c Thanks, I also need a bulb.", "a Sure.")
    assert _codes(_talk(*talk), "M3.verbatim") == {frozenset({"M3", "C1"})}
