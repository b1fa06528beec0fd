"""The overrides of a team: read and written by section, and never a finding that the release does not make; what a
spot check demotes and how it scales probabilities."""

from pathlib import Path

import pytest
import tiny
from marked_dialogues import read_case

from dialint.detector.calibration import CheckPrecision, CodeRelease, Contract, Scan
from dialint.detector.checks import proof_name
from dialint.detector.errors import ConfigError, ReleaseRefused
from dialint.detector.interface import DetectorConfig
from dialint.detector.overrides import (
    NO_OVERRIDES,
    JudgeContract,
    Judged,
    JudgedCode,
    Overrides,
    read_overrides,
    update_overrides,
)
from dialint.detector.pipeline import load_detector

CONTRACT = Contract(
    threshold=0.8, false_accusations_per_100=1, confidence=0.9, recall=0.5, n_errors=10, n_clean=90
)
SCAN = Scan(slope=1.0, offset=0.0, contract=CONTRACT)
CODES = {
    "C1": CodeRelease(scan=SCAN),
    "T1": CodeRelease(scan=SCAN.model_copy(update={"contract": None})),
    "M2": CodeRelease(checks=(CheckPrecision(name="unfilled_placeholder", precision=0.9),)),
}
SPOT_CHECK = tiny.spot_check("r-1", R1=Judged(reported=9, right=0, arguable=0, wrong=6, stated=4.0))
JUDGE = JudgeContract(
    judge="j", prompt="1", precision=0.8, codes={"C2": JudgedCode(slope=1.0, offset=0.0)}
)  # fmt: skip


@pytest.mark.parametrize("name", ["overrides.yaml", "overrides.json"])
def test_writers_of_sections_share_one_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert read_overrides(None) == NO_OVERRIDES
    update_overrides(path, None, judge=JUDGE)
    update_overrides(path, "r-1", demoted={"T1": "people confirmed 2 of 14"})
    update_overrides(path, "r-1", spot_check=SPOT_CHECK)
    update_overrides(path, "r-1", demoted={"M2": "people confirmed 3 of 20"})
    read = read_overrides(path)
    assert read == Overrides(
        release="r-1", demoted={"M2": "people confirmed 3 of 20"}, spot_check=SPOT_CHECK, judge=JUDGE
    )
    assert read.demotions.keys() == {"M2", "R1"}
    assert read.fingerprint != Overrides(release="r-1", spot_check=SPOT_CHECK, judge=JUDGE).fingerprint
    with pytest.raises(ReleaseRefused, match="made for r-1, and this is r-2"):
        update_overrides(path, "r-2", demoted={})
    assert read_overrides(path) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("thresholds: {C1: 0.9}", "need the release"), ("release: r\nthresholds: {C1: 0}", "thresholds.C1"),
        ("release: r\nthresholds: {C1: 1.5}", "thresholds.C1"), ("release: r\nthresholds: {C1: x}", "thresholds.C1"),
        ("release: r\ndemoted: {C1: a (b)}", "demoted.C1"), ("kind: other", "kind"), ("codes: {}", "codes"), ("[1]", "mapping"),
        ("release: r\ndemoted: {C1: a, C1: b}", "stands twice"),
    ],
)  # fmt: skip
def test_what_is_no_such_file_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "overrides.yaml"
    path.write_text(text + "\n")
    with pytest.raises(ConfigError, match=message) as refused:
        read_overrides(path)
    assert refused.value.code == "E_OVERRIDES"


def test_thresholds_are_of_codes_that_the_scan_looks_for() -> None:
    for code in ("M2", "X9"):
        with pytest.raises(ConfigError, match=f"does not look for {code}"):
            Overrides(release="r-1", thresholds={code: 0.9}).check_release(Path("o"), "r-1", CODES)
    with pytest.raises(ReleaseRefused, match="made for r-1, and this is r-2"):
        Overrides(release="r-1").check_release(Path("o"), "r-2", CODES)


def test_a_detector_keeps_to_them_and_its_verdicts_say_so(tmp_path: Path) -> None:
    release, path = tiny.write_release(tmp_path / "r"), tmp_path / "overrides.yaml"
    talk, _ = read_case(["c: w1", "a: w2", "c: w3", "a: {first_name} w2"])
    update_overrides(path, "tiny-1", thresholds=dict.fromkeys(("L1", "T1", "R1"), 1.0))
    plain, raised = (
        load_detector(DetectorConfig(release=release, precision="fp32", threads=1, overrides=overrides))
        for overrides in (None, path)
    )
    (before,), (after,) = plain.verdicts([talk]), raised.verdicts([talk])
    assert {each.code for each in before.findings} > {"M2"}
    assert [each.code for each in after.findings] == ["M2"], "an exact check has no threshold"
    assert {proof_name(each) for each in after.suggestions} == {"demoted: below the threshold of the team"}
    assert before.overrides is None
    assert after.overrides == raised.overrides.fingerprint is not None
    assert raised.fingerprint != plain.fingerprint
    assert raised.with_log(plain.log).overrides == raised.overrides


def judged(right: int, wrong: int, stated: float = 0.0) -> Judged:
    return Judged(reported=100, right=right, arguable=0, wrong=wrong, stated=stated)


@pytest.mark.parametrize(
    ("right", "wrong", "advice"),
    [
        (0, 0, "too few judged"),
        (0, 5, "too few judged"),  # the interval ends at 1 - .025 ** (1/5) = .522
        (0, 6, "suggestion only"),  # and at .459
        (4, 3, "too few judged"),
        (6, 4, "suggestion only"),
        (7, 3, "keep"),
        (9, 0, "too few judged"),
    ],
)
def test_advice(right: int, wrong: int, advice: str) -> None:
    assert judged(right, wrong).advice == advice


def test_an_interval_by_hand() -> None:
    """None of six: 0 to 1 - .025 ** (1/6); an arguable one is not right."""
    assert judged(0, 6).interval == pytest.approx((0.0, 0.45926), abs=1e-5)
    assert Judged(reported=9, right=3, arguable=1, wrong=0, stated=1.0).precision == 0.75


def test_demoted_codes_say_why() -> None:
    made = tiny.spot_check(C1=judged(0, 6), T1=judged(9, 1), U2=judged(0, 0))
    assert made.demoted == {"C1": "spot check of 2026-11-23: right 0 of 6, 95 % 0.00 to 0.46"}
    assert made.summary == "spot check of 2026-11-23: 9 of 16 judged findings were right"


def test_codes_with_few_judgements_are_decided_together() -> None:
    """1 of 4, 1 of 4 and 3 of 3 are 5 of 11: under .7 with ten or more. The one that is right itself stays, and
    so do all where 7 of 10 of them are right together."""
    made = tiny.spot_check(C1=judged(1, 3), U2=judged(1, 3), V2=judged(3, 0), T1=judged(8, 2))
    assert [made.advice(code) for code in ("C1", "V2", "T1")] == ["suggestion only", "too few judged", "keep"]
    assert list(made.demoted) == ["C1", "U2"]
    assert "right 1 of 4, with other codes that are rare 5 of 11, 95 % 0.17 to 0.77" in made.demoted["C1"]
    assert not tiny.spot_check(C1=judged(1, 3), V2=judged(6, 0)).demoted


def test_probabilities_follow_what_was_measured() -> None:
    """9 right of 17 expected: (9 + 3) / (17 + 3) = .6 for a code not judged. One with 1 right of 9
    expected: (1 + 3 x .6) / (9 + 3) = 7/30. One with 8 right of 8: (8 + 1.8) / (8 + 3) = 98/110."""
    made = tiny.spot_check(C1=judged(1, 10, 9.0), T1=judged(8, 2, 8.0))
    assert made.calibrate("V2", "finding", 0.9) == pytest.approx(0.54)
    assert made.calibrate("C1", "finding", 0.9) == pytest.approx(0.21)
    assert made.calibrate("T1", "finding", 0.9) == pytest.approx(0.9 * 98 / 110)
    assert made.calibrate("T1", "suggestion", 0.9) == 0.9


def test_a_raised_probability_ends_at_the_interval() -> None:
    """20 of 20 right, 10 expected: the factor is (20 + 3 x 23/13) / 13 = 1.95, the interval ends at 1."""
    made = tiny.spot_check(T1=judged(20, 0, 10.0))
    assert made.calibrate("T1", "finding", 0.4) == pytest.approx(0.4 * (20 + 3 * 23 / 13) / 13)
    assert made.calibrate("T1", "finding", 0.9) == 1.0
    low = tiny.spot_check(T1=judged(2, 8, 0.5), C1=judged(9, 0, 1.0))
    assert low.calibrate("T1", "finding", 0.5) == pytest.approx(low.findings["T1"].interval[1])
