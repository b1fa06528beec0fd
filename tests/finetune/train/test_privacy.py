"""Clipping and noise by hand and against opacus' own gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import other_bases
import pytest
import torch
from torch.nn.functional import cross_entropy

from dialint.detector.engines import base_models
from dialint.detector.errors import ConfigError
from dialint.finetune.judge.private_sft import (
    CLIP,
    noise_multiplier,
    sample_owners,
    set_noisy_gradient,
)
from dialint.finetune.train.adapters import AdapterOptions, load_model

pytest.importorskip("opacus", reason="needs the extra: private")


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pulling(weight: torch.nn.Parameter, *by: float) -> Callable[[], torch.Tensor]:
    """A loss whose gradient is `by`."""
    return lambda: (weight * torch.tensor(by)).sum()


@pytest.mark.slow
def test_the_promise_is_kept_with_no_more_noise_than_it_needs() -> None:
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
    set_noisy_gradient([weight], losses, 0.0, 4.0, chance(), 1)
    assert weight.grad is not None
    assert weight.grad.tolist() == pytest.approx([(0.6 + 0.3) / 4, (0.8 + 0.4) / 4], abs=1e-5)


@pytest.mark.parametrize("n_owners", [0, 3])
def test_noise_is_as_wide_as_it_says_whoever_comes(n_owners: int) -> None:
    weight = torch.nn.Parameter(torch.zeros(40_000))
    set_noisy_gradient([weight], [lambda: weight.sum() * 0] * n_owners, 3.0, 2.0, chance(), 1)
    assert weight.grad is not None
    assert float(weight.grad.std()) == pytest.approx(3.0 * CLIP / 2.0, rel=0.02)
    assert abs(float(weight.grad.mean())) < 0.03


def test_a_gradient_that_is_no_number_is_refused() -> None:
    weight = torch.nn.Parameter(torch.zeros(2))
    with pytest.raises(ConfigError, match="E_DIVERGED"):
        set_noisy_gradient([weight], [pulling(weight, math.inf, 0.0)], 1.0, 1.0, chance(), 1)


def test_everyone_takes_part_for_himself() -> None:
    assert sample_owners(5, 1.0, chance()) == [0, 1, 2, 3, 4]
    assert sample_owners(5, 0.0, chance()) == []
    counts = [len(sample_owners(100, 0.2, chance(seed))) for seed in range(200)]
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
        learning, [lambda row=row: losses(model)[row] for row in range(3)], 0.0, 1.0, chance(), 1
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
