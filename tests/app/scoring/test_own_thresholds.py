"""`dialint score --overrides`: the closing table, the manifest and the verdicts say so; another file is another
job."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import tiny

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import OutputRefused, ReleaseRefused
from dialint.detector.interface import DetectorConfig
from dialint.detector.overrides import Overrides, dump_overrides
from dialint.detector.verdict_files import FileFormat, read_verdicts

LOWERED = "L1: threshold 0.2 of the team is under that of tiny-1, 0.5: suggestions between them, no findings"


def test_the_job_says_under_which_thresholds_it_was_made(
    tmp_path: Path, write_log: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    log, path, out = str(write_log(2)), tmp_path / "overrides.yaml", tmp_path / "v.jsonl"
    own = Overrides(release="tiny-1", thresholds={"L1": 0.2, "T1": 1.0})
    path.write_text(dump_overrides(own))
    what = DetectorConfig(
        release=tiny.write_release(tmp_path / "r"), precision="fp32", threads=1, overrides=path
    )
    config = ScoreConfig(out=out, detector=what)
    assert run([log], config) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert LOWERED in shown
    assert "T1: threshold 1 of the team, raised from 0.5: suggestions between them" in shown
    manifest = read_manifest(tmp_path / "v.manifest.json")
    described = manifest["work"]["release"]["overrides"]
    assert described == {"sha256": own.fingerprint, "thresholds": {"L1": 0.2, "T1": 1.0}, "spot_check": False}
    verdicts = list(read_verdicts(out))
    assert {verdict.overrides for verdict in verdicts} == {own.fingerprint}
    assert "T1" not in {finding.code for verdict in verdicts for finding in verdict.findings}
    formats: tuple[FileFormat, ...] = ("csv", "parquet")
    for name in formats:
        assert run([log], replace(config, out=tmp_path / f"v.{name}", quiet=True)) == 0
        assert list(read_verdicts(tmp_path / f"v.{name}")) == verdicts
    path.write_text(json.dumps({"thresholds": {"T1": 1, "L1": 0.2}, "release": "tiny-1"}))
    assert run([log], config) == 0, "the same thresholds in another form are the same job"
    path.write_text(dump_overrides(Overrides(release="tiny-1", thresholds={"L1": 0.3})))
    with pytest.raises(OutputRefused, match="--overrides"):
        run([log], config)
    path.write_text(dump_overrides(Overrides(release="tiny-2", thresholds={"L1": 0.3})))
    with pytest.raises(ReleaseRefused, match="made for tiny-2, and this is tiny-1"):
        run([log], replace(config, out=tmp_path / "x.jsonl"))
