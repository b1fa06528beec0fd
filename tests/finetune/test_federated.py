"""Three parties train one adapter over Flower."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rude_dialogues import written

SCRIPT = Path(__file__).parents[2] / "runs" / "federated.py"


@pytest.mark.slow
def test_the_study_of_federated_training_runs(tmp_path: Path) -> None:
    pytest.importorskip(
        "flwr", reason="flwr pins other versions: run it in the environment of runs/federated.py"
    )
    pytest.importorskip("ray", reason="flwr[simulation] needs it")
    for name in "abc":
        (tmp_path / name).mkdir()
        written(tmp_path / name, lambda _: 1.0)
    command = [sys.executable, "-W", "ignore", str(SCRIPT), "--codes", "T1", "--rounds", "1", "--tokens", "1500",
               "--examples", *(str(tmp_path / name) for name in "abc")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"trained"')]
    assert [row["trained"] for row in rows] == [
        "not at all", "federated", "pooled", "a alone", "b alone", "c alone",
    ]  # fmt: skip
    assert rows[1]["loss"] < rows[0]["loss"]
