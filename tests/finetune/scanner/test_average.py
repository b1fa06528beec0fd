"""What cannot be averaged is said in one line; the mean itself is in `test_scan_training`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialint.detector.artifacts import write_manifest
from dialint.detector.errors import UserError
from dialint.finetune.scanner.average import AverageConfig, average


def test_a_folder_that_is_no_scanner_or_not_whole_is_named(tmp_path: Path) -> None:
    for kind in ("decoder", "scanner"):
        folder = tmp_path / kind
        folder.mkdir()
        write_manifest(folder / "training.json", {"kind": kind})
        with pytest.raises(
            UserError, match=r"decoder: neither a release|scanner/training.json: Object missing"
        ):
            average(folder, folder, config=AverageConfig(out=tmp_path / "mean"))
    assert not (tmp_path / "mean").exists()
