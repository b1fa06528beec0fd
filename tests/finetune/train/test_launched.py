"""Under a launcher each process takes its own GPU; what runs alone says so; the launch file that ships means what it
says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser

from dialint.detector import environment
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.finetune import screening, search
from dialint.finetune.decoder.pretrain import PretrainConfig, pretrain
from dialint.finetune.judge import merge_adapter, ppo
from dialint.finetune.scanner.calibrate import CalibrateConfig, calibrate
from dialint.finetune.scanner.distill import DistillConfig, distill
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.scanner.pack import PackConfig, pack
from dialint.finetune.scanner.train import scan
from dialint.finetune.train.checkpoint import describe_job, job_mismatch
from dialint.finetune.train.options import RunOptions

NOWHERE = Path("nowhere")


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the second of two processes."""
    for name, value in {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)


def test_a_process_takes_its_own_gpu(launched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert [RunOptions(device=name).resolve_device() for name in ("auto", "cuda")] == ["cuda:1", "cuda:1"]
    with pytest.raises(ConfigError, match="E_DEVICE: --device cuda:0: one GPU for 2 processes"):
        RunOptions(device="cuda:0").resolve_device()


ALONE: dict[str, Callable[[Path], Any]] = {
    "train sft scan": lambda out: scan(ScanConfig(examples=NOWHERE, base=NOWHERE, out=out)),
    "train distill": lambda out: distill(DistillConfig(teacher=NOWHERE, dialogues=(), out=out)),
    "train pretrain": lambda out: pretrain(PretrainConfig(dialogues=(), out=out)),
    "train ppo": lambda out: ppo.run(ppo.PpoConfig(base="nowhere", dataset=NOWHERE, out=out)),
    "train pack": lambda out: pack(PackConfig(scanner=NOWHERE, examples=NOWHERE, out=out, name="name")),
    "train calibrate": lambda out: calibrate(CalibrateConfig(examples=NOWHERE, out=out, name="name")),
    "train merge": lambda out: merge_adapter.run(merge_adapter.MergeConfig(model="nowhere", out=out)),
    "train screen": lambda out: screening.run(screening.ScreenConfig(dataset=NOWHERE, out=out)),
    "train search": lambda out: search.run(
        search.SearchConfig(stage="scan", out=out, space=("rank=4,8",)), [], search.STAGES["scan"]
    ),
}


@pytest.mark.parametrize("command", ALONE)
def test_what_runs_in_one_process_refuses_a_launcher(launched: None, tmp_path: Path, command: str) -> None:
    with pytest.raises(ConfigError, match=f"E_OPTION: dialint {command} runs in one process") as refused:
        ALONE[command](tmp_path / "out")
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []
    assert environment.world_size() == 2


FOLDER = Path(__file__).parents[3] / "finetune" / "accelerate"


@pytest.mark.parametrize(
    ("name", "kind"), [("ddp", "multi_gpu"), ("fsdp2", "use_fsdp"), ("zero3", "use_deepspeed")]
)
def test_the_launcher_takes_each_file(name: str, kind: str) -> None:
    path = str(FOLDER / f"{name}.yaml")
    load_config_from_file(path)  # refuses unknown keys of its own
    command = ["--config_file", path, "--num_processes", "2", "-m", "dialint", "train", "sft", "judge"]
    args = _validate_launch_command(launch_command_parser().parse_args(command))[0]
    assert [key for key in ("multi_gpu", "use_fsdp", "use_deepspeed") if getattr(args, key)] == [kind]
    assert args.num_processes == 2
    assert (args.training_script, args.training_script_args) == ("dialint", ["train", "sft", "judge"])


def test_compressed_gradients_need_processes(launched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    options = RunOptions(compress_gradients="powersgd")
    options.validate()
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(ConfigError, match="E_OPTION: --compress-gradients"):
        options.validate()
    monkeypatch.delenv("ACCELERATE_USE_FSDP")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(ConfigError, match="E_OPTION: --compress-gradients"):
        options.validate()


def test_checkpoints_of_zero_belong_to_a_number_of_processes(
    launched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCELERATE_USE_DEEPSPEED", "true")
    before = describe_job({})
    monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(
        OutputRefused, match=r"E_OTHER_JOB: .* processes were deepspeed 2, are deepspeed 1 now"
    ):
        raise job_mismatch(NOWHERE, before, describe_job({}))
