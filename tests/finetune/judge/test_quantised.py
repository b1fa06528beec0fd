"""QLoRA of the judge on a CPU: a frozen base in NF4, adapters that learn, and states of 8 bits."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from judge_fixtures import write_decoder
from resuming import assert_same_weights, figures, interrupted
from safetensors.torch import load_file

from dialint.detector import environment
from dialint.detector.engines import adapter_files, base_models
from dialint.detector.errors import ConfigError
from dialint.finetune.judge.sft import SftJudgeConfig, run
from dialint.finetune.train import hf_trainer
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.options import Optimizer, RunOptions, ScheduleOptions


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder whose layers are whole blocks of NF4 wide."""
    sizes = {"hidden_size": 64, "head_dim": 32, "intermediate_size": 128}
    return write_decoder(tmp_path_factory.mktemp("wide"), **sizes)


def config(
    wide: Path, dataset: Path, out: Path, steps: int, optimizer: Optimizer = "adamw"
) -> SftJudgeConfig:
    return SftJudgeConfig(
        dataset=dataset, base=str(wide), out=out, questions=2, learning_rate=1e-2, dev_questions=2, dev_answers=0,
        learning=ScheduleOptions(steps=steps, eval_steps=2, patience=99),
        adapters=AdapterOptions(rank=64, quantise="nf4"),
        running=RunOptions(threads=1, precision="fp32", device="cpu", optimizer=optimizer, checkpoint_steps=2),
    )  # fmt: skip


def losses(out: Path) -> list[float]:
    return figures(out, "loss")


@pytest.mark.slow
def test_it_learns_resumes_and_loads(wide: Path, dataset: Path, tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run(config(wide, dataset, whole, 8))
    assert np.mean(losses(whole)[-3:]) < 0.8 * losses(whole)[0]
    with interrupted(hf_trainer.TrainingCallback, "on_step_end", 5):
        run(config(wide, dataset, stopped, 8))
    run(config(wide, dataset, stopped, 8))
    assert losses(stopped) == losses(whole)
    assert_same_weights(*(folder / adapter_files.ADAPTER for folder in (stopped, whole)))
    loaded = load_model(
        base_models.resolve_source(str(whole)), AdapterOptions(quantise="nf4"), trainable=False
    )
    kinds = {type(module).__name__ for module in loaded.modules()}
    assert "Linear4bit" in kinds
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_B"
    weight, stored = loaded.state_dict()[f"{name}.default.weight"], load_file(whole / adapter_files.ADAPTER)
    assert torch.equal(weight.float(), stored[f"{name}.weight"].float())


@pytest.mark.parametrize(
    "optimizer", ["adamw-8bit", pytest.param("paged-adamw-8bit", marks=pytest.mark.slow)]
)
def test_states_of_eight_bits_take_steps(
    wide: Path, dataset: Path, tmp_path: Path, optimizer: Optimizer
) -> None:
    run(config(wide, dataset, tmp_path / "judge", 3, optimizer))
    assert losses(tmp_path / "judge")[-1] < losses(tmp_path / "judge")[0]


def test_options_of_bitsandbytes_require_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        environment, "find_spec", lambda name: None if name == "bitsandbytes" else find_spec(name)
    )
    for group in (AdapterOptions(quantise="nf4"), RunOptions(optimizer="adamw-8bit")):
        with pytest.raises(ConfigError, match=r"needs bitsandbytes: pip install 'dialint\[quantise\]'"):
            group.validate()
