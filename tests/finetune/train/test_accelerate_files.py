"""The launch files that ship say nothing that accelerate does not know, and mean what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils.launch import prepare_multi_gpu_env

from dialint.finetune.train.distributed import loading_device
from dialint.finetune.train.options import RunOptions

FOLDER = Path(__file__).parents[3] / "finetune" / "accelerate"
FILES = sorted(FOLDER.glob("*.yaml"))


def launched(path: Path) -> Any:
    """What the launcher makes of a file."""
    parser = launch_command_parser()
    command = ["--config_file", str(path), "--num_processes", "2", "-m", "dialint", "train", "sft", "judge"]
    return _validate_launch_command(parser.parse_args(command))[0]


def test_there_is_one_for_each_way() -> None:
    assert [path.stem for path in FILES] == ["ddp", "deepspeed_zero3", "fsdp"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_key_is_known(path: Path) -> None:
    load_config_from_file(str(path))  # refuses unknown keys of its own
    options = vars(launch_command_parser().parse_args(["-m", "dialint"]))
    content = yaml.safe_load(path.read_text())
    nested = content.get("fsdp_config", {}) | content.get("deepspeed_config", {})
    assert set(nested) <= set(options)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_launcher_takes_it(path: Path) -> None:
    found = launched(path)
    ways = {"ddp": found.multi_gpu, "fsdp": found.use_fsdp, "deepspeed_zero3": found.use_deepspeed}
    assert [name for name, on in ways.items() if on] == [path.stem]
    assert found.num_processes == 2
    assert (found.training_script, found.training_script_args) == ("dialint", ["train", "sft", "judge"])


def test_weights_that_are_cut_up_are_loaded_into_main_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = prepare_multi_gpu_env(launched(FOLDER / "fsdp.yaml"))
    assert environment["FSDP_VERSION"] == "2"
    assert environment["FSDP_STATE_DICT_TYPE"] == "FULL_STATE_DICT"
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert loading_device(RunOptions()) == "cuda:1"
    monkeypatch.setenv("ACCELERATE_USE_FSDP", environment["ACCELERATE_USE_FSDP"])
    assert loading_device(RunOptions()) == "cpu"


def test_whole_weights_are_written_where_they_were_cut_up() -> None:
    found = launched(FOLDER / "deepspeed_zero3.yaml")
    assert (found.zero_stage, found.zero3_save_16bit_model) == (3, True)
