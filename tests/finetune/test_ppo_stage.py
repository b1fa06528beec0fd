"""The stage of PPO from a base's folder to a sealed judge: files, options, and going on."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from detector.artifacts import read_manifest
from detector.errors import ConfigError, OutputRefused
from finetune.decoder.model import fresh, shape_of
from finetune.judge import ppo_loop
from finetune.judge.policy import Prompt
from finetune.judge.ppo import Method, PpoConfig, align, prompts_of
from finetune.tokenizer import SMALLEST, learn, save
from finetune.training.bases import load, source_of
from finetune.training.options import Adapters, Running

CHATS = [
    ([{"role": "system", "content": "Judge."}, {"role": "user", "content": f"Turn {n}?"}], n)
    for n in range(4)
]
METHOD = Method(steps=2, prompts_per_step=2, answers=2, max_new_tokens=6, minibatch=2, learning_rate=1e-2)


def brief(_: Sequence[Prompt], texts: Sequence[str]) -> torch.Tensor:
    return torch.tensor([-float(len(text)) for text in texts])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    save(learn(["Judge.", "Turn 1?"], SMALLEST + 5), folder)
    fresh(shape_of(2, SMALLEST + 5, {"pad": 0, "begin": 1, "end": 2}, 64), 0).save_pretrained(folder)
    return folder


@pytest.fixture
def config(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PpoConfig:
    monkeypatch.setenv("DIALINT_MIRRORS", "0")
    running = Running(threads=1, device="cpu", checkpoint_steps=1)
    return PpoConfig(
        model=str(base), dataset=tmp_path, out=tmp_path / "judge", method=METHOD, running=running,
        adapters=Adapters(rank=4),
    )  # fmt: skip


def run(config: PpoConfig) -> Path:
    align(config, source_of(config.model), CHATS, {"brief": brief}, {"questions": "abc"})
    return config.out


def steps(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_it_leaves_a_sealed_adapter_that_loads(config: PpoConfig, base: Path) -> None:
    out = run(config)
    told = read_manifest(out / "MANIFEST.json")
    assert told["kind"] == "ppo"
    assert told["config"]["kl"] == 0.05
    assert told["data"] == {"questions": "abc"}
    assert [entry["step"] for entry in steps(out)] == [1, 2]
    assert not list(out.glob("checkpoint-*"))
    source = source_of(str(out))
    assert source.base == str(base)
    weights = load(source, config.adapters, trainable=False).state_dict()
    assert any(float(weight.abs().max()) > 0 for name, weight in weights.items() if "lora_B" in name)
    with pytest.raises(OutputRefused, match="E_EXISTS"):
        run(config)


def test_a_stage_goes_on_from_the_adapter_of_another(config: PpoConfig) -> None:
    """The reference is that adapter, not the base: no distance before anything is learnt."""
    first = run(config)
    second = run(replace(config, model=str(first), out=config.out.with_name("second")))
    assert steps(second)[0]["kl"]["answer"] == 0.0
    assert steps(second)[1]["kl"]["token_k3"] > 0.0
    one, other = (load_file(folder / "adapter_model.safetensors") for folder in (first, second))
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_all_weights_come_with_their_tokenizer(config: PpoConfig) -> None:
    out = run(replace(config, adapters=Adapters(adapter="none")))
    model, tokenizer = AutoModelForCausalLM.from_pretrained(out), AutoTokenizer.from_pretrained(out)
    assert model.config._attn_implementation == "sdpa"
    assert prompts_of(tokenizer, CHATS)[0].ids[0] == tokenizer.convert_tokens_to_ids("<|im_start|>")
    assert source_of(str(out)).adapter is None


@pytest.mark.parametrize("optimizer", ["adamw", "adamw-8bit"])
def test_terminated_it_saves_says_so_and_goes_on(
    config: PpoConfig, optimizer: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Adapters are wide enough for states of 8 bits; they come back bit for bit too."""
    config = replace(config, adapters=Adapters(rank=64), running=replace(config.running, optimizer=optimizer))
    whole = run(replace(config, out=config.out.with_name("whole")))
    update, calls = ppo_loop._update, []

    def terminated(*given: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        update(*given)

    monkeypatch.setattr(ppo_loop, "_update", terminated)
    run(config)
    assert "stopped after step 1 of 2; the same command goes on" in capsys.readouterr().err
    assert not (config.out / "MANIFEST.json").exists()
    monkeypatch.setattr(ppo_loop, "_update", update)
    with pytest.raises(OutputRefused, match="E_OTHER_JOB"):
        run(replace(config, method=replace(METHOD, kl=0.1)))
    run(config)
    name = "adapter_model.safetensors"
    assert (config.out / name).read_bytes() == (whole / name).read_bytes()
    assert [entry["step"] for entry in steps(config.out)] == [1, 2]


@pytest.mark.parametrize("optimizer", ["adamw-8bit", "paged-adamw-8bit"])
def test_four_bits_and_small_optimizers(config: PpoConfig, optimizer: Any) -> None:
    small = replace(config.running, optimizer=optimizer)
    out = run(replace(config, running=small, adapters=Adapters(rank=4, quantise="nf4")))
    assert [entry["step"] for entry in steps(out)] == [1, 2]
    assert source_of(str(out)).adapter == out


def test_what_cannot_be_is_refused(config: PpoConfig, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="E_DATASET"):
        align(config, source_of(config.model), [], {"brief": brief}, {})
    long = [([{"role": "user", "content": "word " * 2000}], 0)]
    with pytest.raises(ConfigError, match="positions for 2048"):
        align(config, source_of(config.model), long, {"brief": brief}, {})
    with pytest.raises(ConfigError, match="E_OPTION"):
        run(replace(config, method=replace(METHOD, steps=0)))
    assert not config.out.exists()
