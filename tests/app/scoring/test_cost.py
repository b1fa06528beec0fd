"""What a run took: in the manifest and the closing table, of this run alone, and nothing invented."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dialint.app.scoring.cost import CostMeter, cost_line, read_energy
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.artifacts import read_manifest
from dialint.detector.interface import Monitor
from dialint.detector.verdict_files import manifest_path
from dialint.detector.watchdog import WatchConfig

SAMPLE = "app/sample/dialogues.jsonl"


@pytest.mark.parametrize("watched", [True, False])
def test_the_manifest_and_the_closing_table_say_what_a_run_took(
    watched: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "v.jsonl"
    watch = WatchConfig(dialogue_seconds=20.0 if watched else 0.0)
    run([SAMPLE], ScoreConfig(out=out, limit=4, chunk_size=2, watch=watch))
    cost = read_manifest(manifest_path(out))["cost"]
    assert list(cost["seconds"]) == ["read_write", "mask", "scan", "checks", "other"]
    assert min(cost["seconds"][stage] for stage in ("mask", "scan", "checks")) > 0
    assert sum(cost["seconds"].values()) == pytest.approx(cost["seconds_all"], abs=0.01)
    assert cost["cpu_seconds"] > 0
    assert cost["dialogues"] == 4
    assert cost["tokens_scanned"] > 0
    assert "s of processor time" in capsys.readouterr().out.replace("\n", " ")


def zone(folder: Path, name: str, energy: int, wrap: int = 1_000_000) -> None:
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "energy_uj").write_text(f"{energy}\n")
    (folder / name / "max_energy_range_uj").write_text(f"{wrap}\n")


def test_energy_is_read_or_not_known(tmp_path: Path) -> None:
    detector: Any = SimpleNamespace(monitor=Monitor(seconds={"scan": 1.0}))
    none = CostMeter(tmp_path).summarize(detector)
    assert none["energy_wh"] is None
    assert "Wh" not in cost_line(none)
    for name, energy in (("intel-rapl:0", 900_000), ("intel-rapl:1", 5), ("intel-rapl:0:0", 7)):
        zone(tmp_path, name, energy, 10_000_000_000)
    meter = CostMeter(tmp_path)
    zone(tmp_path, "intel-rapl:0", 3_600_000_000 + 900_000, 10_000_000_000)
    zone(tmp_path, "intel-rapl:1", 5, 10_000_000_000)
    assert meter.summarize(detector)["energy_wh"] == pytest.approx(1.0)  # 3,600 J
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("?")
    assert read_energy(tmp_path) is None


def test_a_counter_that_wraps_around(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", 4_000_000_000, 4_000_000_001)
    meter, detector = CostMeter(tmp_path), SimpleNamespace(monitor=Monitor())
    zone(tmp_path, "intel-rapl:0", 3_599_999_999, 4_000_000_001)
    assert meter.summarize(detector)["energy_wh"] == pytest.approx(1.0)  # type: ignore[arg-type]


def test_a_judge_has_its_own_seconds() -> None:
    monitor = Monitor(seconds={"scan": 2.0, "judge": 5.0}, cpu_seconds=lambda: 3.0)
    detector: Any = SimpleNamespace(monitor=monitor)
    meter = CostMeter(Path("/nowhere"))
    meter.scoring_s = 8.0
    cost = meter.summarize(detector)
    assert (cost["seconds"]["judge"], cost["seconds"]["other"]) == (5.0, 1.0)
    assert cost["cpu_seconds"] >= 3.0
