"""`dialint score --policy`: the policies are a part of the job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import OutputRefused
from dialint.detector.interface import DetectorConfig

POLICY = "policy: shop\nclauses:\n  - {id: c, text: A clause., on: refund, before: find}\n"


def test_the_manifest_has_the_policies_and_another_text_is_another_job(
    tmp_path: Path, write_log: Callable[..., Path], driver: ModuleType
) -> None:
    log, file, out = str(write_log(3)), tmp_path / "shop.yaml", tmp_path / "v.jsonl"
    file.write_text(POLICY, encoding="utf-8")
    config = ScoreConfig(out=out, quiet=True, detector=DetectorConfig(policy=(file,)))
    assert run([log], config, driver.FakeDetector({})) == 0
    manifest = read_manifest(tmp_path / "v.manifest.json")
    assert list(manifest["work"]["release"]["policies"]) == ["shop"]
    file.write_text(f"# a comment changes nothing\n{POLICY}", encoding="utf-8")
    assert run([log], config, driver.FakeDetector({})) == 0
    file.write_text(POLICY.replace("before: find", "before: look_up"), encoding="utf-8")
    with pytest.raises(OutputRefused, match="--policy"):
        run([log], config, driver.FakeDetector({}))
