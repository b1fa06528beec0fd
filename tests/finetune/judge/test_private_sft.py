"""A judge that learns with differential privacy: clipping and noise by hand and against opacus' own gradients,
the influence of one dialogue, the report, and resuming."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import other_bases
import pytest
import torch
from resuming import assert_same_weights, interrupted, logged
from safetensors.torch import load_file
from torch.nn.functional import cross_entropy

from dialint.detector.engines import adapter_files, base_models
from dialint.detector.engines.judge_prompt import JudgePrompt
from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.labelled import SelectionConfig, ask_about, read_labelled
from dialint.finetune.judge import private_sft
from dialint.finetune.judge.private_sft import CLIP, noise_multiplier, sample_owners, set_noisy_gradient
from dialint.finetune.judge.sft import SftJudgeConfig, run
from dialint.finetune.train.adapters import AdapterOptions, load_model
from dialint.finetune.train.options import RunOptions, ScheduleOptions

pytest.importorskip("opacus", reason="needs the extra: private")


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pulling(weight: torch.nn.Parameter, *by: float) -> Callable[[], torch.Tensor]:
    """A loss whose gradient is `by`."""
    return lambda: (weight * torch.tensor(by)).sum()


@pytest.mark.slow
def test_the_guarantee_holds_with_the_least_noise() -> None:
    """By the account of opacus, for the noise that is chosen."""
    from opacus.accountants import create_accountant

    noises = []
    for epsilon in (1.0, 8.0):
        account: Any = create_accountant("prv")
        noises.append(noise_multiplier(epsilon, 1e-5, 0.1, 20))
        account.history = [(noises[-1], 0.1, 20)]
        assert epsilon - 0.05 <= account.get_epsilon(1e-5) <= epsilon
    assert noises[0] > 1.5 * noises[1]


def test_each_owner_is_clipped_alone_and_divided_by_the_expected_number() -> None:
    weight = torch.nn.Parameter(torch.zeros(2))
    losses = [pulling(weight, 3.0, 4.0), pulling(weight, 0.3, 0.4)]
    set_noisy_gradient([weight], losses, 0.0, 4.0, generator(), 1)
    assert weight.grad is not None
    assert weight.grad.tolist() == pytest.approx([(0.6 + 0.3) / 4, (0.8 + 0.4) / 4], abs=1e-5)
    with pytest.raises(ConfigError, match="E_DIVERGED"):
        set_noisy_gradient([weight], [pulling(weight, math.inf, 0.0)], 1.0, 1.0, generator(), 1)


@pytest.mark.parametrize("n_owners", [0, 3])
def test_noise_has_the_stated_deviation_for_any_sample(n_owners: int) -> None:
    weight = torch.nn.Parameter(torch.zeros(40_000))
    set_noisy_gradient([weight], [lambda: weight.sum() * 0] * n_owners, 3.0, 2.0, generator(), 1)
    assert weight.grad is not None
    assert float(weight.grad.std()) == pytest.approx(3.0 * CLIP / 2.0, rel=0.02)
    assert abs(float(weight.grad.mean())) < 0.03


def test_everyone_takes_part_for_himself() -> None:
    assert sample_owners(5, 1.0, generator()) == [0, 1, 2, 3, 4]
    assert sample_owners(5, 0.0, generator()) == []
    counts = [len(sample_owners(100, 0.2, generator(seed))) for seed in range(200)]
    assert sum(counts) / 200 == pytest.approx(20, abs=1)
    assert len(set(counts)) > 5


@pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning")
def test_adapters_get_the_gradient_that_opacus_gives_them(tmp_path: Path) -> None:
    """From its hooks into layers, a row an owner; two of the three are clipped."""
    from opacus.grad_sample import GradSampleModule
    from opacus.optimizers import DPOptimizer

    torch.manual_seed(0)
    base = other_bases.written(tmp_path, "llama")
    model = load_model(base_models.resolve_source(str(base)), AdapterOptions(rank=4))
    learning = [p for p in model.parameters() if p.requires_grad]
    ids, by = torch.randint(5, 390, (3, 20)), torch.tensor([0.01, 1.0, 30.0])

    def losses(model: Any) -> torch.Tensor:
        logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
        each = cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
        return by * each.view(3, -1).mean(1)

    set_noisy_gradient(
        learning, [lambda row=row: losses(model)[row] for row in range(3)], 0.0, 1.0, generator(), 1
    )
    ours = [p.grad.clone() for p in learning]
    norms = [torch.autograd.grad(losses(model)[row], learning) for row in range(3)]
    assert [torch.cat([part.flatten() for part in one]).norm() > CLIP for one in norms] == [False, True, True]
    optimizer = DPOptimizer(
        torch.optim.SGD(learning, lr=1.0), noise_multiplier=0.0, max_grad_norm=CLIP, expected_batch_size=1
    )
    losses(GradSampleModule(model.train())).mean().backward()
    optimizer.pre_step()
    for own, weight in zip(ours, learning, strict=True):
        torch.testing.assert_close(own, weight.grad, atol=1e-5, rtol=1e-4)


@pytest.fixture
def config(tiny: Path, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SftJudgeConfig:
    return SftJudgeConfig(
        dataset=dataset, base=str(tiny), out=tmp_path / "judge", questions=2, learning_rate=1e-2,
        dev_questions=2, dev_answers=1, learning=ScheduleOptions(steps=6, eval_steps=3), adapters=AdapterOptions(rank=4),
        running=RunOptions(threads=1, precision="fp32", device="cpu", checkpoint_steps=2),
        private_epsilon=4.0, private_delta=1e-3,
    )  # fmt: skip


@pytest.mark.slow
def test_it_reports_its_guarantee_and_nothing_of_the_data(config: SftJudgeConfig) -> None:
    config = replace(config, running=replace(config.running, gradient_checkpointing=True))
    figures = run(config)["figures"]
    own = figures["private"]
    assert (own["epsilon"], own["delta"], own["dialogues"], own["clip"]) == (4.0, 1e-3, 32, 1.0)
    assert own["noise"] > 0.5
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
