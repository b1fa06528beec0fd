"""What a run took: in the manifest and the closing table, of this run alone, and nothing invented."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.artifacts import read_manifest
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
