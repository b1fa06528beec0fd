"""The outcome of a suspicion, by hand: the table of `decide`."""

from dataclasses import replace
from datetime import date

import pytest
from marked_dialogues import dialogue

from dialint.detector.calibration import CheckPrecision, CodeRelease, Contract, NaturalThreshold, Scan
from dialint.detector.decide import (
    Decision,
    Facts,
    Outcome,
    Rules,
    Suspicion,
    decide,
    deny,
    drop_doubles,
)
from dialint.detector.log_profile import LOGGED, Domain
from dialint.detector.overrides import JudgeContract, JudgedCode, LogContract, Overrides, SourceContract
from dialint.detector.records import Finding, Severity, Source, Turn
from dialint.detector.release import TurnCoverage
from dialint.detector.taxonomy import load_taxonomy

CHECK = CheckPrecision(name="unfilled_placeholder", precision=0.85)
CONTRACT = Contract(
    threshold=0.8, false_accusations_per_100=1, confidence=0.9, recall=0.5, n_errors=10, n_clean=90
)
SCAN = Scan(slope=1.0, offset=0.0, contract=CONTRACT)
DIALOGUE = dialogue(("agent", "w1 w2"))
FAR = Domain(pairs="", corpora=("a",), n_dialogues=1000)


def suspect(source: Source, probability: float, name: str = "") -> Suspicion:
    return Suspicion("C1", 0, 0, 0, 2, source, probability, name, f"{name}: said" if name else "")


def outcome(
    *suspicions: Suspicion,
    scan: Scan = SCAN,
    check: CheckPrecision = CHECK,
    covers: bool = True,
    overrides: Overrides | None = None,
    far: bool = False,
    lacking: tuple[str, ...] = (),
    judge_threshold: float | None = None,
) -> Decision | None:
    how = CodeRelease(scan=scan, checks=(check,))
    checked = {"C1": (check,)} if covers else {}
    coverage = {0: TurnCoverage(frozenset({"C1"}), checked, {"C1": "en"}, True)}
    rules = Rules({"C1": how}, overrides or Overrides(), FAR if far else None, judge_threshold)
    return decide(suspicions, rules, Facts(DIALOGUE, coverage, lacking))


def one(decision: Decision | None) -> tuple[Outcome, str]:
    """The outcome, and the last proof."""
    assert decision is not None
    return decision.outcome, decision.proofs[-1] if decision.proofs else ""


@pytest.mark.parametrize(
    ("own", "suggest_at", "probability", "expected", "why"),
    [
        (None, None, 0.8, "finding", ""), (None, None, 0.79, "dropped", ""),
        (None, 0.4, 0.79, "suggestion", "below the contract"), (None, 0.4, 0.39, "dropped", ""),
        (0.9, None, 0.9, "finding", ""), (0.9, None, 0.85, "suggestion", "threshold of the team"),
        (0.9, None, 0.79, "dropped", ""), (0.4, None, 0.85, "finding", ""),
        (0.4, None, 0.4, "suggestion", "below the contract"), (0.4, None, 0.39, "dropped", ""),
    ],
)  # fmt: skip
def test_thresholds_of_the_release_and_of_the_team(
    own: float | None, suggest_at: float | None, probability: float, expected: Outcome, why: str
) -> None:
    scan = SCAN.model_copy(update={"suggest_at": suggest_at})
    overrides = Overrides(release="r", thresholds={} if own is None else {"C1": own})
    result, proof = one(outcome(suspect("scan", probability), scan=scan, overrides=overrides))
    assert result == expected
    assert why in proof


def test_the_higher_of_contract_and_natural_threshold_counts() -> None:
    natural = NaturalThreshold(threshold=0.9, flagged=10, right=9, n_errors=20, n_turns=100)
    scan = SCAN.model_copy(update={"natural": natural})
    assert one(outcome(suspect("scan", 0.89), scan=scan))[0] == "dropped"
    assert one(outcome(suspect("scan", 0.9), scan=scan))[0] == "finding"


def test_the_scan_is_silent_on_what_was_not_done_where_no_tools_are_logged() -> None:
    rules = Rules({"R3": CodeRelease(scan=SCAN, checks=(CHECK,))})
    suspicion = replace(suspect("scan", 0.9), code="R3")
    assert one(decide([suspicion], rules, Facts(DIALOGUE, {})))[0] == "dropped"
    assert one(decide([suspicion], rules, Facts(DIALOGUE, {}, log=LOGGED)))[0] == "finding"
    with_result = DIALOGUE.model_copy(
        update={"turns": (*DIALOGUE.turns, Turn(index=1, role="tool", text="ok"))}
    )
    assert one(decide([suspicion], rules, Facts(with_result, {})))[0] == "finding"


def test_the_scan_is_silent_on_raw_text() -> None:
    rules = Rules({"C1": CodeRelease(scan=SCAN, checks=(CHECK,))})
    raw = dialogue(("agent", '{"name": "find_order", "arguments": {"id": "7"}}'))
    assert one(decide([suspect("scan", 0.9)], rules, Facts(DIALOGUE, {})))[0] == "finding"
    assert one(decide([suspect("scan", 0.9)], rules, Facts(raw, {})))[0] == "dropped"


def test_what_else_demotes_the_scan() -> None:
    high = suspect("scan", 0.9)
    assert "no policy" in one(outcome(high, lacking=("C1",)))[1]
    far = outcome(high, far=True)
    assert far is not None
    assert (far.outcome, far.stated) == ("suggestion", FAR.temper(0.9))
    assert one(outcome(high, overrides=Overrides(release="r", demoted={"C1": "wrong"}))) == (
        "suggestion",
        "demoted: wrong",
    )


def test_only_what_keeps_the_contract_on_the_log_accuses() -> None:
    codes = {"C1": {"scan": SourceContract(threshold=0.9, right=40, n=40)}}
    contract = LogContract(precision=0.9, confidence=0.95, log="0", judged_on=date(2026, 11, 29), codes=codes)
    overrides = Overrides(release="r", contract=contract)
    outside = ("suggestion", "demoted: outside the contract on this log")
    assert one(outcome(suspect("scan", 0.9), overrides=overrides)) == ("finding", "")
    assert one(outcome(suspect("scan", 0.9 - 1e-9), overrides=overrides))[0] == "finding", (
        "as rounded in files"
    )
    assert one(outcome(suspect("scan", 0.89), overrides=overrides)) == outside
    assert one(outcome(suspect("check", 0.99, CHECK.name), overrides=overrides)) == outside
    assert one(outcome(suspect("judge", 0.99, "j"), overrides=overrides, judge_threshold=0.5)) == outside


def test_a_check_accuses_where_it_covers_the_language_and_the_release_lets_it() -> None:
    hit = suspect("check", 0.85, CHECK.name)
    careful = CHECK.model_copy(update={"report": "suggestion"})
    assert one(outcome(hit)) == ("finding", "unfilled_placeholder: said")
    assert outcome(hit, covers=False) is None
    assert one(outcome(hit, check=careful))[0] == "suggestion"
    assert one(outcome(hit, far=True, lacking=("C1",)))[0] == "finding", "exact checks prove it by the log"
    both = outcome(hit, suspect("scan", 0.95))
    assert both is not None
    assert (both.suspicion.source, both.outcome, both.stated) == ("check", "finding", 0.95)
    weak = outcome(hit, suspect("scan", 0.95), check=careful)
    assert weak is not None
    assert (weak.suspicion.source, weak.outcome) == ("scan", "finding")
    low = outcome(hit, suspect("scan", 0.1), check=careful)
    assert low is not None
    assert (low.suspicion.source, low.outcome, low.stated) == ("check", "suggestion", 0.85)


def judged(threshold: float | None) -> Overrides:
    code = JudgedCode(slope=1.0, offset=0.0, threshold=threshold)
    return Overrides(judge=JudgeContract(judge="j", prompt="1", precision=0.8, codes={"C1": code}))


@pytest.mark.parametrize(
    ("probability", "overrides", "threshold", "expected", "why"),
    [
        (0.49, None, 0.1, "dropped", ""), (0.9, None, None, "suggestion", "no contract"), (0.9, None, 0.9, "finding", ""),
        (0.9, None, 0.95, "suggestion", "below its threshold"), (0.9, judged(0.8), None, "finding", ""),
        (0.7, judged(0.8), 0.1, "suggestion", "below its threshold"), (0.9, judged(None), 0.1, "suggestion", "no contract"),
    ],
)  # fmt: skip
def test_what_only_the_judge_found(
    probability: float, overrides: Overrides | None, threshold: float | None, expected: Outcome, why: str
) -> None:
    result, proof = one(
        outcome(suspect("judge", probability), overrides=overrides, judge_threshold=threshold)
    )
    assert (result, why in proof) == (expected, True)


@pytest.mark.parametrize(
    ("overrides", "threshold", "expected", "proof"),
    [
        (None, None, "finding", "the judge j denies it, but keeps no contract on C1"),
        (None, 2.0, "finding", "the judge j denies it, but keeps no contract on C1"),
        (judged(None), 0.5, "finding", "the judge j denies it, but keeps no contract on C1"),
        (None, 0.8, "suggestion", "demoted: the judge j denies it"),
        (judged(0.8), None, "suggestion", "demoted: the judge j denies it"),
    ],
)
def test_what_the_judge_does_not_list_is_demoted_by_one_that_may_accuse(
    overrides: Overrides | None, threshold: float | None, expected: Outcome, proof: str
) -> None:
    rules = Rules({}, overrides or Overrides(), judge_threshold=threshold)
    assert deny("finding", "C1", "j", rules) == (expected, proof)


def test_one_slip_has_one_accusation() -> None:
    def finding(code: str, severity: Severity, start: int, end: int) -> Finding:
        return Finding(
            code=code,
            turn=0,
            severity=severity,
            probability=0.9,
            quote="q",
            start=start,
            end=end,
            reason="r (exact check 'g', x)",
        )

    slot, shape, typo, wait = (
        finding("M2", "S2", 4, 14), finding("L4", "S3", 3, 14), finding("L1", "S4", 5, 8), finding("C1", "S2", 0, 14)
    )  # fmt: skip
    taxonomy = load_taxonomy()
    assert drop_doubles([shape, slot, typo, wait], (), taxonomy) == [slot, typo, wait]
    assert drop_doubles([shape, typo], (slot,), taxonomy) == [typo]
