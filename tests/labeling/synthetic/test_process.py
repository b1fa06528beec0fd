"""P1 and P4 on a chart and dialogues written for it: what a chart requires, and what is made of it."""

from __future__ import annotations

from random import Random

import pytest

from dialint.labeling.synthetic import process
from dialint.labeling.synthetic.example_draft import DraftTurn, ExampleDraft, Family, HardNegative, Pool
from dialint.labeling.synthetic.flowcharts import required_steps

CHART = {
    "replies": {
        "hello": "Hello, how may I help you?",
        "ask_name": "What is your name?",
        "tool_ask_day": "Which day do you want the tool?",
        "tool_ask_extra": "Would you like to add a note?",
        "tool_ask_confirm": "A drill is free then. Shall I book it?",
        "tool_booked": "Done, the drill is yours.",
        "tool_unavailable": "No drill is free.",
        "anything_else": "Anything else?",
        "query_check": "Check",
        "query_book": "Book",
        "available": "Free",
        "unavailable": "Taken",
        "yes": "Yes",
        "no": "No",
    },
    "graph": {
        "hello": "ask_name",
        "ask_name": "tool_ask_day",
        "tool_ask_day": "tool_ask_extra",
        "tool_ask_extra": "query_check",
        "available": "tool_ask_confirm",
        "unavailable": "tool_unavailable",
        "yes": "query_book",
        "no": "tool_ask_day",
        "query_book": "tool_booked",
        "tool_booked": "anything_else",
    },
}
TALK = (
    ("customer", "Hello, I would like to rent a drill.", ""),
    ("agent", "What is your name?", "ask_name"),
    ("customer", "Robin Vale", ""),
    ("agent", "Which day do you want the tool?", "tool_ask_day"),
    ("customer", "Thursday", ""),
    ("agent", "A drill is free then. Shall I book it?", "tool_ask_confirm"),
    ("customer", "Yes please.", ""),
    ("agent", "Done, the drill is yours.", "tool_booked"),
    ("customer", "Nice to hear, thanks.", ""),
    ("agent", "Anything else?", "anything_else"),
    ("customer", "No, nothing.", ""),
    ("agent", "Thank you and goodbye.", ""),
)


def talk(*turns: tuple[str, str, str]) -> ExampleDraft:
    made = tuple(DraftTurn("agent" if r == "agent" else "customer", t, action=a) for r, t, a in turns or TALK)
    return ExampleDraft("t", "tests", "tools", made, policy="tool_rent", required=required_steps(CHART))


def test_a_chart_requires_what_every_path_to_the_outcome_passes_through() -> None:
    assert required_steps(CHART) == {"tool_booked": ("ask_name", "tool_ask_day", "tool_ask_confirm")}
    shortcut = {**CHART["graph"], "hello": ["ask_name", "tool_ask_day"]}
    assert required_steps({**CHART, "graph": shortcut}) == {
        "tool_booked": ("tool_ask_day", "tool_ask_confirm")
    }


@pytest.mark.parametrize("family", process.FAMILIES, ids=lambda family: family.name)
def test_the_step_is_gone_or_late_and_in_its_place_in_the_twin(family: Family) -> None:
    for seed in range(20):
        made = family.make(talk(), Random(seed), Pool())
        assert made is not None
        assert made.twin is not None
        bad = [(i, turn) for i, turn in enumerate(made.error.turns) if turn.marks]
        (good,) = [i for i, turn in enumerate(made.twin.turns) if turn.probe]
        assert {mark.code for _, turn in bad for mark in turn.marks} == {family.code}
        assert all(mark.end == len(turn.text) for _, turn in bad for mark in turn.marks)
        assert made.twin.turns[good].probe == family.code
        outcome = [turn.action for turn in made.error.turns].index("tool_booked")
        index = bad[-1][0]
        if family.code == "P1":
            assert index == outcome
            assert made.twin.turns[good].text == bad[-1][1].text
        else:
            assert index >= outcome
            assert good < [turn.action for turn in made.twin.turns].index("tool_booked")


@pytest.mark.parametrize("negative", process.NEGATIVES, ids=lambda negative: negative.name)
def test_a_hard_negative_has_one_probe_and_no_mark(negative: HardNegative) -> None:
    for seed in range(20):
        made = negative.make(talk(), Random(seed), Pool())
        assert made is not None
        assert not any(turn.marks for turn in made.turns)
        assert [turn.probe for turn in made.turns if turn.probe] == [negative.code]
