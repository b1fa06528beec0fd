"""What becomes of a suspicion of the scan that the judge confirms."""

from __future__ import annotations

import pytest

from dialint.detector.checks.context import append_proof, proof_name
from dialint.detector.decide import Rules
from dialint.detector.judge.cases import Case, Ruling
from dialint.detector.judge.merging import Merger
from dialint.detector.judge.messages import Answer
from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.detector.taxonomy import load_taxonomy

TEXT = "Your order is on its way."
FAR = "demoted: the log is far from the release"


def merged(*, suggested: bool, threshold: float | None) -> Verdict:
    """The verdict of a dialogue in which the judge confirms a finding or suggestion at .9."""
    finding = append_proof(
        Finding(
            code="C1", turn=1, severity="S2", probability=0.7, quote=TEXT, start=0, end=len(TEXT),
            reason="Irrelevant reply.",
        ),
        FAR if suggested else "gate 'fits': yes",
    )  # fmt: skip
    turns = (Turn(index=0, role="customer", text="Hello?"), Turn(index=1, role="agent", text=TEXT))
    verdict = Verdict(
        dialogue_id="d", release="r", taxonomy="1", status="scored", quality=90.0,
        **{"suggestions" if suggested else "findings": (finding,)},
    )  # fmt: skip
    answer = Answer(verdict="error", probability=0.9, quote=TEXT, severity="S2", reason="It answers nothing.")
    case = Case(Dialogue(id="d", turns=turns), verdict, {})
    case.rulings[1, "C1"] = Ruling(answer, 0.9, is_self_reported=False)
    return Merger("rules", load_taxonomy(), Rules({}, judge_threshold=threshold)).merge(case)


@pytest.mark.parametrize("threshold", [None, 0.95])
def test_a_confirmed_suggestion_keeps_why_it_is_one(threshold: float | None) -> None:
    verdict = merged(suggested=True, threshold=threshold)
    (suggestion,) = verdict.suggestions
    assert proof_name(suggestion) == FAR
    assert suggestion.reason.startswith("It answers nothing. (judge 'rules': error, probability 0.90) ")


def test_above_its_threshold_it_is_a_finding_of_the_judge() -> None:
    (finding,) = merged(suggested=True, threshold=0.8).findings
    assert proof_name(finding) == "judge 'rules'"


def test_a_confirmed_finding_is_one_of_the_judge() -> None:
    (finding,) = merged(suggested=False, threshold=None).findings
    assert proof_name(finding) == "judge 'rules'"
