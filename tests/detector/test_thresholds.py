"""A team's thresholds: a raised one takes findings back, a lowered one adds suggestions and never findings."""

import json
from pathlib import Path

import pytest
import tiny

from dialint.detector.calibration import Check, CodeRelease, Contract, Scan
from dialint.detector.errors import ConfigError, ReleaseRefused
from dialint.detector.gates import proof_name
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.records import Dialogue, Turn, Verdict
from dialint.detector.thresholds import Thresholds, read_thresholds

CONTRACT = Contract(
    threshold=0.8, false_accusations_per_100=1, confidence=0.9, recall=0.5, n_errors=10, n_clean=90
)
SCAN = Scan(slope=1.0, offset=0.0, contract=CONTRACT)
CODES = {
    "C1": CodeRelease(scan=SCAN),
    "T1": CodeRelease(scan=SCAN.model_copy(update={"contract": None})),
    "M2": CodeRelease(checks=(Check(name="unfilled_placeholder", precision=0.9),)),
}


def thresholds(**codes: float) -> Thresholds:
    return Thresholds(release="r-1", codes=codes)


@pytest.mark.parametrize(
    ("own", "probability", "expected"),
    [
        (0.9, 0.95, "finding"), (0.9, 0.9, "finding"), (0.9, 0.85, "suggestion"), (0.9, 0.79, "dropped"),
        (0.8, 0.8, "finding"), (0.8, 0.79, "dropped"),
        (0.4, 0.85, "finding"), (0.4, 0.79, "suggestion"), (0.4, 0.4, "suggestion"), (0.4, 0.39, "dropped"),
    ],
)  # fmt: skip
def test_own_thresholds_around_the_contract_of_08(own: float, probability: float, expected: str) -> None:
    outcome, why = thresholds(C1=own).outcome("C1", SCAN, probability)
    assert outcome == expected
    assert bool(why) == (expected == "suggestion" and probability >= 0.8)


@pytest.mark.parametrize("own", [0.01, 0.3, 0.5, 0.8, 0.99, 1.0])
@pytest.mark.parametrize("suggest_at", [None, 0.4])
@pytest.mark.parametrize("contract", [CONTRACT, None])
def test_no_threshold_makes_a_finding_that_the_release_does_not(
    own: float, suggest_at: float | None, contract: Contract | None
) -> None:
    scan = SCAN.model_copy(update={"suggest_at": suggest_at, "contract": contract})
    for step in range(101):
        outcome, _ = thresholds(C1=own).outcome("C1", scan, step / 100)
        if outcome == "finding":
            assert scan.outcome(step / 100) == "finding"
        assert thresholds(T1=own).outcome("C1", scan, step / 100)[0] == scan.outcome(step / 100)


def test_what_they_mean_is_said_in_a_line_for_each_code() -> None:
    assert thresholds(C1=0.9, T1=0.7).describe(CODES) == [
        "C1: threshold 0.9 of the team, raised from 0.8: suggestions between them",
        "T1: threshold 0.7 of the team; r-1 has none, so what it adds are suggestions",
    ]
    assert thresholds(C1=0.4).describe(CODES) == [
        "C1: threshold 0.4 of the team is under that of r-1, 0.8: suggestions between them, no findings"
    ]
    assert thresholds(C1=0.8).describe(CODES) == []


def test_a_file_is_read_for_its_release_and_codes_only(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    assert read_thresholds(None, "r-1", CODES) is None
    path.write_text('{"codes": {"T1": 1, "C1": 0.9}, "release": "r-1"}')
    read = read_thresholds(path, "r-1", CODES)
    assert read is not None
    assert read.fingerprint == thresholds(C1=0.9, T1=1.0).fingerprint != thresholds(C1=0.9).fingerprint
    with pytest.raises(ReleaseRefused, match="made for r-1, and this is r-2"):
        read_thresholds(path, "r-2", CODES)
    for codes, message in (
        ({"M2": 0.9}, "does not look for M2"), ({"X9": 0.9}, "does not look for X9"), ({}, "codes"),
        ({"C1": 0.0}, "codes.C1"), ({"C1": 1.5}, "codes.C1"), ({"C1": "0.9"}, "codes.C1"),
    ):  # fmt: skip
        path.write_text(json.dumps({"kind": "thresholds", "release": "r-1", "codes": codes}))
        with pytest.raises(ConfigError, match=message) as refused:
            read_thresholds(path, "r-1", CODES)
        assert refused.value.code == "E_THRESHOLDS"
    for bad in (path.parent / "none.json", path.parent):
        with pytest.raises(ConfigError, match="E_THRESHOLDS"):
            read_thresholds(bad, "r-1", CODES)
    path.write_text('{"kind": "demotions", "release": "r-1", "codes": {"C1": 0.9}}')
    with pytest.raises(ConfigError, match=r"expected .*CODE: PROBABILITY"):
        read_thresholds(path, "r-1", CODES)


def test_a_detector_keeps_to_them_and_its_verdicts_say_so(tmp_path: Path) -> None:
    strict = SCAN.model_copy(update={"contract": CONTRACT.model_copy(update={"threshold": 0.999})})
    known = tiny.release_info()
    info = tiny.release_info(codes={**known.codes, "R1": CodeRelease(scan=strict)})
    release = tiny.write_release(tmp_path / "r", info=info)
    turns = (Turn(index=0, role="customer", text="w1"), Turn(index=1, role="agent", text="w2 {first_name}"))
    dialogue = Dialogue(id="d", turns=turns)
    path = tmp_path / "thresholds.json"

    def detector(**codes: float) -> ReleaseDetector:
        if codes:
            path.write_text(Thresholds(release="tiny-1", codes=codes).model_dump_json())
        what = DetectorConfig(
            release=release, precision="fp32", threads=1, thresholds=path if codes else None
        )
        return load_detector(what)

    def verdict(one: ReleaseDetector) -> Verdict:
        return one.verdicts([dialogue], all_probabilities=True)[0]

    plain = detector()
    before = verdict(plain)
    assert before.thresholds is None
    assert before.probabilities is not None
    code, probability = max(
        ((code, value) for code, value in before.probabilities[1].items() if code in ("L1", "T1")),
        key=lambda each: each[1],
    )
    assert probability >= 0.5, "the tiny model flags something at its threshold"
    raised = detector(**{code: min(1.0, probability + 0.01)})
    after = verdict(raised)
    assert code in [each.code for each in before.findings]
    assert code not in [each.code for each in after.findings]
    (moved,) = [each for each in after.suggestions if each.code == code]
    assert proof_name(moved) == "demoted: below the threshold of the team"
    assert "M2" in [each.code for each in after.findings], "an exact check has no threshold"
    assert raised.thresholds is not None
    assert after.thresholds == raised.thresholds.fingerprint
    assert raised.fingerprint != plain.fingerprint
    assert raised.with_log(plain.log).thresholds == raised.thresholds

    low, value = "R1", before.probabilities[1]["R1"]
    assert low not in [each.code for each in (*before.findings, *before.suggestions)]
    lowered = verdict(detector(**{low: max(value - 0.01, 0.001)}))
    assert lowered.findings == before.findings
    assert lowered.quality == before.quality
    (added,) = [each for each in lowered.suggestions if each.code == low]
    assert proof_name(added) == "demoted: below the contract"
