"""The closing table says what the release covers, and how, and whether the log is far from it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from rich.console import Console

from dialint.app.commands.report import ReportConfig, report
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.app.scoring.summary import Tally, summary_table
from dialint.detector.artifacts import read_manifest
from dialint.detector.interface import DetectorConfig
from dialint.detector.log_profile import MIN_FOR_DISTANCE, MIN_REFERENCE, fit_domain
from dialint.detector.records import Dialogue, Turn
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import manifest_path
from dialint.detector.watchdog import WatchConfig


def test_every_code_is_covered_by_something_or_needs_a_judge() -> None:
    info, console = Release(EMBEDDED).info, Console(width=1000)
    about = {"taxonomy": load_taxonomy(), "release": info.id, "codes": tuple(info.codes), "judge_info": None}
    fake: Any = SimpleNamespace(info=info, **about)
    with console.capture() as capture:
        console.print(summary_table(Tally(), {"rejected": 0, "warnings": {}}, fake))
    lines = [line.rstrip() for line in capture.get().splitlines() if info.id in line]
    groups = {line.partition(":")[0]: line.partition(":")[2].split() for line in lines}
    assert list(groups) == [
        *(f"covered ({name}) by {info.id}" for name in ("check", "policy")),
        f"not covered by {info.id}, needs a judge",
    ]
    assert {code for group in groups.values() for code in group} == set(load_taxonomy().codes)
    for code, how in info.codes.items():
        names = [name for name in ("check", "policy") if code in groups[f"covered ({name}) by {info.id}"]]
        assert tuple(names) == how.covered_by


AWAY = {
    "customer": "Mein Router geht seit gestern nicht.", "agent": "Haben Sie den Router schon neu gestartet?",
}  # fmt: skip


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """One calibrated on talk of hotels alone."""
    home = (
        Dialogue(id=f"h{i}", turns=(Turn(index=0, role="agent", text="Your hotel is booked."),))
        for i in range(MIN_REFERENCE)
    )
    return tiny.write_release(tmp_path / "r", info=tiny.release_info(domain=fit_domain({"home": home})))


@pytest.mark.parametrize(
    ("n", "option", "expected"),
    [
        (MIN_FOR_DISTANCE, "auto", "what its scan finds are suggestions with lower probabilities"),
        (MIN_FOR_DISTANCE, "trust", "--domain trust takes its findings all the same"),
        (MIN_FOR_DISTANCE - 1, "auto", ""),
    ],
)
def test_a_far_log_is_reported_with_advice(
    tmp_path: Path, release: Path, capsys: pytest.CaptureFixture[str], n: int, option: Any, expected: str
) -> None:
    log_file, out = tmp_path / "log.jsonl", tmp_path / "v.jsonl"
    turns = [{"role": role, "text": text} for role, text in AWAY.items()]
    lines = (json.dumps({"dialogue_id": f"d{i}", "language": "en", "turns": turns}) for i in range(n))
    log_file.write_text("\n".join(lines) + "\n")
    detector = DetectorConfig(release=release, domain=option)
    config = ScoreConfig(out=out, detector=detector, watch=WatchConfig(dialogue_seconds=0))
    assert run([str(log_file)], config) == 0
    console = " ".join(capsys.readouterr().out.split())
    log = read_manifest(manifest_path(out))["work"]["log"]
    assert log["distance"] == 1.0
    assert ("far from what tiny-1 was calibrated on" in console) == bool(expected)
    assert ("calibrate on your own: dialint eval spot-check" in console) == bool(expected)
    assert expected in console
    page = tmp_path / "r.html"
    report(out, config=ReportConfig(html=page))
    assert ("The log is far from what tiny-1" in page.read_text()) == bool(expected)
    assert log.get("far", "").startswith("far from" if expected else "")


SAMPLE = "app/sample/dialogues.jsonl"


@pytest.mark.parametrize("watched", [True, False])
def test_the_manifest_and_the_summary_have_the_cost_of_a_run(
    watched: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "v.jsonl"
    watch = WatchConfig(dialogue_seconds=20.0 if watched else 0.0)
    run([SAMPLE], ScoreConfig(out=out, limit=4, chunk_size=2, watch=watch, all_probabilities=True))
    cost = read_manifest(manifest_path(out))["cost"]
    assert list(cost["seconds"]) == ["read_write", "mask", "scan", "checks", "other"]
    assert min(cost["seconds"][stage] for stage in ("mask", "scan", "checks")) > 0
    assert sum(cost["seconds"].values()) == pytest.approx(cost["seconds_all"], abs=0.01)
    assert cost["cpu_seconds"] > 0
    assert cost["dialogues"] == 4
    assert cost["tokens_scanned"] > 0
    assert "s of processor time" in capsys.readouterr().out.replace("\n", " ")
