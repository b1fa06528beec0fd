"""A run that reports nothing of the scan loads no model, and says what it then does not cover."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.app.scoring.run import resolve_scan
from dialint.detector.artifacts import read_manifest
from dialint.detector.calibration import NaturalThreshold
from dialint.detector.errors import ConfigError, TooManyBad
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.overrides import update_overrides
from dialint.detector.release import EMBEDDED, Release, finalize_release
from dialint.detector.verdict_files import manifest_path, read_verdicts

SAMPLE = "app/sample/dialogues.jsonl"
OFF = DetectorConfig(scan="off")


@pytest.mark.parametrize(
    ("options", "scan"),
    [
        ({}, "off"), ({"all_probabilities": True}, "auto"),
        ({"judge": JudgeConfig(judge="http://127.0.0.1:1/v1")}, "auto"),
        ({"detector": DetectorConfig(release=Path("smollm2"))}, "auto"),
        ({"detector": DetectorConfig(release=Path("smollm2")), "codes": ("L3",)}, "off"),
        ({"detector": DetectorConfig(release=Path("smollm2")), "out": Path("v.xml")}, "off"),
    ],
)  # fmt: skip
def test_the_scan_runs_where_something_of_it_is_reported(options: dict[str, Any], scan: str) -> None:
    assert resolve_scan(ScoreConfig(**options)).detector.scan == scan


def test_what_a_team_has_demoted_needs_no_scan_for_findings(tmp_path: Path) -> None:
    """Of a release whose scan accuses of L4."""
    shutil.copytree(EMBEDDED, tmp_path / "release")
    info = Release(EMBEDDED).info
    scan = info.codes["L4"].scan
    assert scan is not None
    natural = NaturalThreshold(threshold=0.9, flagged=10, right=10, n_errors=20, n_turns=100)
    codes = {**info.codes, "L4": info.codes["L4"].model_copy(
        update={"scan": scan.model_copy(update={"natural": natural, "suggest_at": 0.5})}
    )}  # fmt: skip
    finalize_release(tmp_path / "release", info.model_copy(update={"codes": codes}))
    accusing = DetectorConfig(release=tmp_path / "release")
    assert (
        resolve_scan(ScoreConfig(codes=("L4",), out=Path("v.xml"), detector=accusing)).detector.scan == "auto"
    )
    update_overrides(tmp_path / "o.yaml", "embedded-7", demoted={"L4": "wrong here"})
    what = replace(accusing, overrides=tmp_path / "o.yaml")
    assert resolve_scan(ScoreConfig(codes=("L4",), out=Path("v.xml"), detector=what)).detector.scan == "off"
    assert resolve_scan(ScoreConfig(codes=("L4",), detector=what)).detector.scan == "auto"


def test_without_the_scan_checks_find_the_same_and_its_codes_are_not_covered(
    scanned_sample: tuple[Path, Path], tmp_path: Path
) -> None:
    log, with_scan = scanned_sample
    without, n_findings = tmp_path / "v.jsonl", 0
    assert run([str(log)], ScoreConfig(out=without, quiet=True, detector=OFF)) == 0
    for both, alone in zip(read_verdicts(with_scan), read_verdicts(without), strict=True):
        n_findings += len(alone.findings)
        by_check = [each for each in both.findings if "exact check" in each.reason]
        assert [(e.code, e.turn, e.quote) for e in by_check] == [
            (e.code, e.turn, e.quote) for e in alone.findings
        ]
    assert n_findings >= 3
    scanned, checked = (set(read_manifest(manifest_path(out))["not_covered"]) for out in (with_scan, without))
    scan_only = {code for code, how in Release(EMBEDDED).info.codes.items() if how.covered_by == ("scan",)}
    assert checked - scanned == scan_only


def test_a_code_that_only_the_scan_suggests_is_not_covered_without_it(tmp_path: Path) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "release")
    info = Release(EMBEDDED).info
    scan = info.codes["C3"].scan
    assert scan is not None
    how = info.codes["C3"].model_copy(update={"scan": scan.model_copy(update={"suggest_at": 0.5})})
    finalize_release(tmp_path / "release", info.model_copy(update={"codes": {**info.codes, "C3": how}}))
    suggesting = DetectorConfig(release=tmp_path / "release")
    assert resolve_scan(ScoreConfig(codes=("C3",), detector=suggesting)).detector.scan == "auto"
    with pytest.raises(ConfigError, match="not covered by embedded-7: C3"):
        run([SAMPLE], ScoreConfig(codes=("C3",), quiet=True, detector=replace(suggesting, scan="off")))


def test_a_language_that_only_the_scan_covered_is_no_gap_without_it(tmp_path: Path, capsys: Any) -> None:
    def score(customer: str, agent: str) -> int:
        turns = [{"role": "customer", "text": customer}, {"role": "agent", "text": agent}]
        (tmp_path / "log.jsonl").write_text(json.dumps({"id": "d", "turns": turns}))
        return run([str(tmp_path / "log.jsonl")], ScoreConfig(fail_on="S2", detector=OFF))

    answer = "I have passed your question on to the carrier, please wait."
    assert score("My parcel has not arrived yet, where is it?", answer) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("not covered by")]
    assert "C3" in line.split()
    german = (
        "Mein Paket ist noch nicht da, wo ist es denn?",
        "Ich habe Ihre Frage an den Paketdienst weitergegeben.",
    )
    with pytest.raises(TooManyBad, match="a language that the release does not cover"):
        score(*german)  # no check of most codes reads German, and the scan never did


def test_no_model_is_loaded() -> None:
    code = (
        "import sys; from dialint.app.scoring.loop import run; from dialint.app.scoring.options import ScoreConfig; "
        "from dialint.detector.watchdog import WatchConfig; "
        f"run([{SAMPLE!r}], ScoreConfig(codes=('L3',), limit=1, quiet=True, watch=WatchConfig(dialogue_seconds=0))); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
