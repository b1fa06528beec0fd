"""Several processes teach one judge: the same as one process, written once, stopped and resumed together."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from resuming import logged
from safetensors.torch import load_file
from sft_driver import STOPS_AT, config

from dialint.finetune.judge.sft import run

DRIVERS = Path(__file__).parents[1]


def losses(out: Path) -> list[tuple[int, float]]:
    return [(row["step"], row["loss"]) for row in logged(out) if "loss" in row]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def started(rank: int, port: int, driver: str, *arguments: Path) -> subprocess.Popen[str]:
    """As a launcher starts it."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_PORT": port}
    return subprocess.Popen(
        [sys.executable, str(DRIVERS / driver), *map(str, arguments)],
        env={
            **os.environ, **{name: str(value) for name, value in place.items()},
            "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1",
        },
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_two_processes_learn_what_one_does(
    tiny: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a batch each, the second one terminated in the middle. (Of an epoch, the last batch would differ where
    it is not full: accelerate fills it up from the front, so that no process waits for another.)"""
    port = free_port()
    both = [started(rank, port, "sft_driver.py", tiny, dataset, tmp_path / "two") for rank in (0, 1)]
    one = config(tiny, dataset, tmp_path / "one", questions=2)
    run(one)
    told = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], told[0][1][-2000:] + told[1][1][-2000:]
    lines = [out.splitlines() for out, _ in told]
    assert lines[0][0] == lines[1][0] == f"stopped ['checkpoint-{STOPS_AT}']"
    assert "'figures'" in lines[0][1]
    assert lines[1][1] == "manifest []"
    assert [f"stopped at step {STOPS_AT} of 4" in err for _, err in told] == [True, False]
    steps, found = zip(*losses(tmp_path / "two"), strict=True)
    assert steps == (1, 2, 3, 4)
    assert found == pytest.approx([loss for _, loss in losses(tmp_path / "one")], abs=1e-5)
    adapters = [load_file(tmp_path / name / "adapter_model.safetensors") for name in ("one", "two")]
    assert adapters[0].keys() == adapters[1].keys()
    for name, values in adapters[0].items():
        torch.testing.assert_close(adapters[1][name], values, atol=1e-5, rtol=0)
    assert any(values.abs().max() > 1e-4 for name, values in adapters[0].items() if "lora_B" in name)
    manifest = json.loads((tmp_path / "two" / "manifest.json").read_text())
    assert manifest["figures"]["processes"] == 2
    assert not list((tmp_path / "two").glob("checkpoint-*"))
