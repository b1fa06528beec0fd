"""The launch file that ships says nothing that accelerate does not know, and means what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser

from dialint.detector.errors import ConfigError
from dialint.finetune.train.options import RunOptions

PATH = str(Path(__file__).parents[3] / "finetune" / "accelerate" / "ddp.yaml")


def test_the_launcher_takes_it() -> None:
    load_config_from_file(PATH)  # refuses unknown keys of its own
    command = ["--config_file", PATH, "--num_processes", "2", "-m", "dialint", "train", "sft", "judge"]
    found = _validate_launch_command(launch_command_parser().parse_args(command))[0]
    assert (found.multi_gpu, found.use_fsdp, found.use_deepspeed, found.num_processes) == (
        True,
        False,
        False,
        2,
    )
    assert (found.training_script, found.training_script_args) == ("dialint", ["train", "sft", "judge"])


@pytest.mark.parametrize("name", ["ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED"])
def test_a_model_is_not_cut_up_among_processes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "true")
    with pytest.raises(ConfigError, match=f"E_DEVICE: {name} is set"):
        RunOptions().resolve_device()
