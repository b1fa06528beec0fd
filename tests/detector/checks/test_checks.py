"""What checks and gates make of a log as a whole."""

from __future__ import annotations

import pytest
from marked_dialogues import read_case

from dialint.detector.checks import CheckContext, Evidence
from dialint.detector.checks.context import GateInput
from dialint.detector.checks.gates import GATES
from dialint.detector.checks.slots import unfilled_placeholder
from dialint.detector.log_profile import EMPTY_PROFILE, LogProfile, profile_log

TOKENS = ("I am {{client 1}}", "{{client 2}} here")


def test_the_logs_own_masking_is_no_slot() -> None:
    log = profile_log([read_case([text, "Hi!"], str(n))[0] for n, text in enumerate(TOKENS)])
    assert log.masking == ("{{client}}",)
    talk, quotes = read_case(["Hello", "Hi ⟦{{client 4}}⟧!"])
    assert [(hit.turn, hit.start, hit.end) for hit in unfilled_placeholder(talk)] == quotes
    assert list(unfilled_placeholder(talk, CheckContext(log))) == []
    outcomes = [
        GATES["raw_slot"](GateInput(talk, 1, 0, 16, 0.9, each)).outcome for each in (EMPTY_PROFILE, log)
    ]
    assert outcomes == ["finding", "dropped"]
    asked, _ = read_case(["What is {{client 4}}?", "Hi {{client 4}}!"])
    assert GATES["raw_slot"](GateInput(asked, 1, 0, 16, 0.9, EMPTY_PROFILE)).outcome == "dropped"


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("recieved", "finding"), ("Thier", "finding"), ("Elantra", "dropped"), ("fluxo", "dropped"),
        ("usual", "dropped"), ("demurrage", "dropped"),
    ],
)  # fmt: skip
def test_an_odd_word(word: str, outcome: str) -> None:
    text = "Thier usual Elantra was recieved with the fluxo; demurrage starts."
    talk, start = read_case(["My fluxo is gone", text])[0], text.index(word)
    log = LogProfile(n_dialogues=50, word_dialogues={"usual": 9, "recieved": 2})
    assert GATES["odd_word"](GateInput(talk, 1, start, start + len(word), 0.9, log)).outcome == outcome


def test_what_only_tool_calls_show_needs_a_log_that_holds_them() -> None:
    spoken, _ = read_case(["Cancel my order.", "I have cancelled it."])
    with_calls, _ = read_case(["c: Cancel my order.", "call: cancel", "t: done", "a: I have cancelled it."])
    log = profile_log([with_calls] * 20)
    assert GATES["tools_are_logged"](GateInput(spoken, 1, 0, 9, 0.9, log)).outcome == "finding"


@pytest.mark.parametrize(
    ("evidence", "outcome"),
    [(Evidence(), "suggestion"), (Evidence(1, 50), "suggestion"), (Evidence(13, 20), "suggestion"),
     (Evidence(47, 50), "finding"), (Evidence(47, 50, "suggestion"), "suggestion"),
     (Evidence(estimate=0.65), "suggestion"), (Evidence(estimate=0.9), "finding")],
)  # fmt: skip
def test_a_check_accuses_only_where_it_was_measured_and_right_often_enough(
    evidence: Evidence, outcome: str
) -> None:
    assert evidence.outcome == outcome
