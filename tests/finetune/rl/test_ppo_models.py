"""PPO of a model from a base's folder: adapters, all weights, 4 bits, optimizers, SIGTERM, going on."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from resuming import figures
from transformers import AutoTokenizer

from dialint.detector.engines.base_models import resolve_source
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.finetune.decoder.tokenizer import SMALLEST, save_tokenizer, train_tokenizer
from dialint.finetune.decoder.trainer import decoder_config, init_decoder
from dialint.finetune.judge.ppo import PpoConfig, align
from dialint.finetune.rl import ppo_trainer
from dialint.finetune.train.adapters import AdapterOptions, load_model, unwrap
from dialint.finetune.train.lineage import job_of_config
from dialint.finetune.train.options import PpoOptions, RunOptions

PROMPTS = [(5, 6 + place, 7) for place in range(4)]
OPTIONS = PpoOptions(steps=2, questions=2, answers=2, answer_tokens=6, minibatch=2, learning_rate=1e-2)


def brief(_: Sequence[int], texts: Sequence[str]) -> list[dict[str, float]]:
    return [{"brief": -float(len(text))} for text in texts]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    save_tokenizer(train_tokenizer(["Judge.", "Turn 1?"], SMALLEST + 5), folder)
    init_decoder(decoder_config(2, SMALLEST + 5, 64), 0).save_pretrained(folder)
    return folder


@pytest.fixture
def config(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PpoConfig:
    running = RunOptions(threads=1, device="cpu", checkpoint_steps=1)
    return PpoConfig(
        base=str(base), dataset=tmp_path, out=tmp_path / "judge", options=OPTIONS, running=running,
        adapters=AdapterOptions(rank=4),
    )  # fmt: skip


def run(config: PpoConfig) -> tuple[Any, dict[str, Any]]:
    """The model after training, and the run's figures."""
    config.out.mkdir(exist_ok=True)
    torch.manual_seed(config.running.seed)
    model = load_model(resolve_source(config.base), config.adapters)
    tokenizer = AutoTokenizer.from_pretrained(config.base)
    return model, align(config, model, tokenizer, PROMPTS, brief, job_of_config(config))


@pytest.mark.parametrize("adapter", ["lora", "none"])
def test_the_model_learns_and_comes_back_as_it_attended(config: PpoConfig, adapter: Any) -> None:
    model, summary = run(replace(config, adapters=AdapterOptions(adapter=adapter, rank=4)))
    assert unwrap(model).config._attn_implementation == "sdpa"
    assert (summary["step"], summary["tokens"] > 0) == (2, True)
    assert summary["last"]["reward"]["total"] < 0
    assert figures(config.out, "step") == [1, 2]
    initial = load_model(resolve_source(config.base), AdapterOptions(adapter="none")).state_dict()
    if adapter == "none":
        assert any(not torch.equal(weight, initial[name]) for name, weight in model.state_dict().items())
    else:
        trained = {name: p for name, p in model.named_parameters() if "lora_B" in name}
        assert all(float(p.detach().abs().max()) > 0 for p in trained.values())


def test_terminated_it_saves_and_resumes(
    config: PpoConfig, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Adapters are wide enough for states of 8 bits; they come back bit for bit too."""
    running = replace(config.running, optimizer="adamw-8bit")
    config = replace(config, adapters=AdapterOptions(rank=64), running=running)
    whole, _ = run(replace(config, out=config.out.with_name("whole")))
    train, calls = ppo_trainer._train_on_batch, []

    def terminated(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return train(*arguments)

    monkeypatch.setattr(ppo_trainer, "_train_on_batch", terminated)
    with pytest.raises(SystemExit) as ended:
        run(config)
    assert ended.value.code == 0
    assert "stopped after step 1 of 2 and saved; the same command resumes" in capsys.readouterr().err
    monkeypatch.setattr(ppo_trainer, "_train_on_batch", train)
    with pytest.raises(OutputRefused, match="E_OTHER_JOB"):
        run(replace(config, options=replace(OPTIONS, kl=0.1)))
    resumed, _ = run(config)
    for name, weight in whole.state_dict().items():
        assert torch.equal(resumed.state_dict()[name], weight), name
    assert figures(config.out, "step") == figures(config.out.with_name("whole"), "step") == [1, 2]


def test_four_bits_and_a_small_optimizer(config: PpoConfig) -> None:
    small = replace(config.running, optimizer="paged-adamw-8bit")
    run(replace(config, running=small, adapters=AdapterOptions(rank=4, quantise="nf4")))
    assert figures(config.out, "step") == [1, 2]


def test_prompts_beyond_the_positions_are_refused(config: PpoConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.PROMPTS", [(5,) * 2045])
    with pytest.raises(ConfigError, match=r"2051 tokens at once, and .* has positions for 2048"):
        run(config)
