"""A judge that learns with differential privacy: what one dialogue may do, what is said of it, and resuming."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from resuming import assert_same_weights, interrupted, logged
from safetensors.torch import load_file

from dialint.detector.engines import adapter_files, base_models
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.labelled import SelectionConfig, ask_about, read_labelled
from dialint.finetune.judge import private_sft
from dialint.finetune.judge.private_sft import CLIP, set_noisy_gradient
from dialint.finetune.judge.sft import SftJudgeConfig, run
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.options import RunOptions, ScheduleOptions

pytest.importorskip("opacus", reason="needs the extra: private")


@pytest.fixture
def config(tiny: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SftJudgeConfig:
    return SftJudgeConfig(
        dataset=dataset, base=str(tiny), out=tmp_path / "judge", questions=2, learning_rate=1e-2,
        dev_questions=2, dev_answers=1, learning=ScheduleOptions(steps=6, eval_steps=3), adapters=AdapterOptions(rank=4),
        running=RunOptions(threads=1, precision="fp32", device="cpu", checkpoint_steps=2),
        private_epsilon=4.0, private_delta=1e-3,
    )  # fmt: skip


@pytest.mark.slow
def test_it_says_what_it_promises_and_nothing_of_what_it_saw(config: SftJudgeConfig) -> None:
    config = replace(config, running=replace(config.running, gradient_checkpointing=True))
    figures = run(config)["figures"]
    told = figures["private"]
    assert (told["epsilon"], told["delta"], told["dialogues"], told["clip"]) == (4.0, 1e-3, 32, 1.0)
    assert told["noise"] > 0.5
    assert "epsilon 4, delta" in (card := (config.out / "README.md").read_text())
    assert "delta 0.001" in card
    entries = logged(config.out)
    assert [entry["step"] for entry in entries] == [3, 6]
    assert all(entry.keys() == {"step", "of", "eval"} for entry in entries)
    assert load_model(
        base_models.resolve_source(str(config.out)), AdapterOptions(), trainable=False
    ).peft_config
    again = replace(config, out=config.out.with_name("again"))
    run(again)
    first, other = (load_file(each.out / adapter_files.ADAPTER) for each in (config, again))
    assert any(not torch.equal(first[name], other[name]) for name in first)  # the seed tells no noise


@pytest.mark.slow
def test_a_stopped_run_goes_on_bit_for_bit(config: SftJudgeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "randbits", lambda bits: 7)
    monkeypatch.setattr(private_sft, "noise_multiplier", lambda *_: 0.5)
    whole = replace(config, out=config.out.with_name("whole"))
    run(whole)
    with interrupted(private_sft, "sample_owners", 6):
        run(config)
    monkeypatch.setattr(secrets, "randbits", lambda bits: 8)  # the checkpoint brings the first one back
    run(config)
    assert_same_weights(*(each.out / adapter_files.ADAPTER for each in (config, whole)))
    assert not list(config.out.glob("checkpoint-*"))


def test_a_dialogue_changes_a_step_by_no_more_than_its_share(config: SftJudgeConfig) -> None:
    """Also one whose loss is a thousand times too large."""
    torch.manual_seed(0)
    model = load_model(base_models.resolve_source(config.base), config.adapters)
    prompt = JudgePrompt.of(config.base, "short", 2048)
    labelled = read_labelled(config.dataset, "train", SelectionConfig(), 1)[:3]
    labelled.append(labelled[0])  # two questions of one dialogue
    owned = private_sft._rows_by_dialogue(ask_about(labelled, prompt.reader(load_taxonomy())), prompt)
    assert [len(rows) for rows in owned] == [2, 1, 1]
    learning = [p for p in model.parameters() if p.requires_grad]

    def gradient(rows: list[list[dict[str, object]]], by: float) -> torch.Tensor:
        losses = [lambda rows=rows: by * private_sft.compute_loss(model, rows, False) for rows in rows]
        set_noisy_gradient(learning, losses, 0.0, 2.0, torch.Generator(), 1)
        return torch.cat([p.grad.flatten() for p in learning])

    for by in (1000.0, 1e-3):
        changed = float((gradient(owned, by) - gradient(owned[:2], by)).norm())
        assert 0 < changed <= CLIP / 2.0 + 1e-5
        assert (changed > 0.49) == (by > 1e-2)


@pytest.mark.parametrize(
    "more",
    [
        {"private_epsilon": 0.0},
        {"private_delta": 1 / 32},
        {"adapters": AdapterOptions(adapter_dropout=0.1)},
    ],
)
def test_what_cannot_be_promised_is_refused(config: SftJudgeConfig, more: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="E_OPTION"):
        run(replace(config, **more))  # type: ignore[arg-type]
