"""The overrides of a team: read and written by section, and never a finding that the release does not make."""

from pathlib import Path

import pytest
import tiny
from marked_dialogues import read_case

from dialint.detector.calibration import CheckPrecision, CodeRelease, Contract, Scan
from dialint.detector.checks.context import proof_name
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
