"""What checks make of a log as a whole, and what their records let them report."""

from __future__ import annotations

import pytest
from marked_dialogues import read_case

from dialint.detector.checks import CheckContext, Evidence
from dialint.detector.checks.slots import unfilled_placeholder
from dialint.detector.log_profile import profile_log

TOKENS = ("I am {{client 1}}", "{{client 2}} here")


def test_the_logs_own_masking_is_no_slot() -> None:
    log = profile_log([read_case([text, "Hi!"], str(n))[0] for n, text in enumerate(TOKENS)])
    assert log.masking == ("{{client}}",)
    talk, quotes = read_case(["Hello", "Hi ⟦{{client 4}}⟧!"])
    assert [(hit.turn, hit.start, hit.end) for hit in unfilled_placeholder(talk)] == quotes
    assert list(unfilled_placeholder(talk, CheckContext(log))) == []


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
