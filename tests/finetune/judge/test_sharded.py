"""Two processes, each with the model or with a part of it, or compressing what they exchange, train what one does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env
from resuming import logged
from safetensors.torch import load_file
from sharded_driver import RUNS, config

ROOT = Path(__file__).parents[3]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def launcher_environment(name: str, n_processes: int) -> dict[str, str]:
    """Returns the environment of ``accelerate launch`` for the launch file, without the ranks."""
    if name == "ddp":
        return {}
    path = ROOT / "finetune" / "accelerate" / f"{name}.yaml"
    command = ["--config_file", str(path), "--num_processes", str(n_processes), "train.py"]
    arguments = _validate_launch_command(launch_command_parser().parse_args(command))[0]
    if name == "fsdp2":
        return dict(prepare_multi_gpu_env(arguments))
    arguments.deepspeed_fields_from_accelerate_config = ",".join(
        yaml.safe_load(path.read_text())["deepspeed_config"]
    )
    return {**prepare_deepspeed_cmd_env(arguments)[1], "DS_ACCELERATOR": "cpu"}


def train(tiny: Path, dataset: Path, out: Path, launch: dict[str, str], n_processes: int, *jobs: str) -> str:
    """Run the jobs in as many processes; what the first one printed."""
    place = {"WORLD_SIZE": n_processes, "LOCAL_WORLD_SIZE": n_processes, "MASTER_PORT": free_port()}
    shared = {**os.environ, **launch, **{name: str(value) for name, value in place.items()},
              "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}  # fmt: skip
    command = [
        sys.executable,
        str(ROOT / "tests/finetune/sharded_driver.py"),
        *map(str, (tiny, dataset, out)),
        *jobs,
    ]
    started = [
        subprocess.Popen(
            command, env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for rank in range(n_processes)
    ]  # fmt: skip
    printed = [process.communicate(timeout=600) for process in started]
    assert [process.returncode for process in started] == [0] * n_processes, printed[0][1][-3000:]
    return printed[0][0]


def assert_same_training(first: Path, second: Path, figure: str = "loss") -> None:
    """The same losses and adapter within 1e-5."""
    losses = [[row[figure] for row in logged(out) if figure in row] for out in (first, second)]
    assert len(losses[0]) == 4
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    adapters = [load_file(out / "adapter_model.safetensors") for out in (first, second)]
    assert adapters[0].keys() == adapters[1].keys()
    for name, values in adapters[0].items():
        torch.testing.assert_close(adapters[1][name], values, atol=1e-5, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "resumed_in", "stored"),
    [
        ("ddp", 2, "adapter_model.safetensors"),
        ("fsdp2", 1, "pytorch_model_fsdp.bin"),
        ("zero3", 2, "global_step2"),
    ],
)
def test_two_processes_train_what_one_does(
    tiny: Path, dataset: Path, tmp_path: Path, name: str, resumed_in: int, stored: str
) -> None:
    """The second one is terminated in the middle."""
    if name == "zero3":
        pytest.importorskip("deepspeed", reason="no extra installs it")
    launch, stages = launcher_environment(name, 2), ("sft",) if name == "ddp" else ("sft", "reward")
    more = () if name == "ddp" else ("reward:reward:1:0:none", "grpo:grpo:1:0:none")
    printed = train(tiny, dataset, tmp_path, launch, 2, "sft:sft:1:2:none", *more)
    assert "sft stopped 0" in printed
    assert stored in printed
    again = launcher_environment(name, resumed_in)
    train(tiny, dataset, tmp_path, again, resumed_in, f"sft:sft:{2 // resumed_in}:0:none")
    for stage in stages:
        RUNS[stage](config(stage, tiny, dataset, tmp_path / f"one-{stage}", 2))
        assert_same_training(tmp_path / f"one-{stage}", tmp_path / stage)
    assert json.loads((tmp_path / "sft" / "manifest.json").read_text())["figures"]["processes"] == resumed_in
    assert not list((tmp_path / "sft").glob("checkpoint-*"))
    if name == "ddp":
        return
    train(tiny, dataset, tmp_path, {}, 2, "whole:grpo:1:0:none")  # with the answers that these two sampled
    assert_same_training(tmp_path / "whole", tmp_path / "grpo")


@pytest.mark.slow
def test_compressed_gradients_are_fewer_bytes(tiny: Path, dataset: Path, tmp_path: Path) -> None:
    train(tiny, dataset, tmp_path, {}, 2, "fp16:sft:1:0:fp16", "powersgd:sft:1:0:powersgd")
    figures = {
        kind: json.loads((tmp_path / kind / "manifest.json").read_text())["figures"]
        for kind in ("fp16", "powersgd")
    }
    shares = {kind: each["sent_bytes"] / each["gradient_bytes"] for kind, each in figures.items()}
    assert shares["fp16"] == 0.5
    assert shares["powersgd"] < 0.85  # 10 of 14 steps are not compressed
    losses = {kind: [row["loss"] for row in logged(tmp_path / kind) if "loss" in row] for kind in figures}
    assert losses["fp16"] == pytest.approx(losses["powersgd"], rel=0.02)
