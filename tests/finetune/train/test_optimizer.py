"""AdamW in its kinds, and the rate over a run."""

from __future__ import annotations

import pytest
import torch

from dialint.finetune.train.optimizer import build_optimizer, set_learning_rates, warmup_cosine


def test_the_rate_rises_over_a_twentieth_and_falls_to_a_fiftieth() -> None:
    rates = [warmup_cosine(step, 100) for step in range(101)]
    assert rates[:5] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert rates[5] == 1.0
    assert rates[100] == pytest.approx(0.02)
    assert rates[52] == pytest.approx(0.51, abs=0.01)
    assert warmup_cosine(199, 100_000) == 1.0
    assert warmup_cosine(0, 1) == 1.0


@pytest.mark.parametrize("wanted", ["adamw", "adamw-8bit", "paged-adamw-8bit"])
def test_each_group_moves_at_its_own_rate(wanted: str) -> None:
    first, second = (torch.nn.Parameter(torch.ones(64, 128)) for _ in range(2))
    optimizer = build_optimizer(wanted, [[first], [second]], "cpu", weight_decay=0.0)  # type: ignore[arg-type]
    set_learning_rates(optimizer, (0.1, 0.2), 0.5)
    (first.sum() + second.sum()).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    assert torch.allclose(first, torch.full_like(first, 0.95), atol=1e-3)  # Adam's first step is its rate
    assert torch.allclose(second, torch.full_like(second, 0.9), atol=1e-3)
    assert torch.all(second < first)


def test_states_in_8_bits_take_a_quarter() -> None:
    taken = {}
    for wanted in ("adamw", "adamw-8bit"):
        weight = torch.nn.Parameter(torch.ones(64, 128))
        optimizer = build_optimizer(wanted, [[weight]], "cpu")  # type: ignore[arg-type]
        weight.sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        states = [part for part in optimizer.state[weight].values() if isinstance(part, torch.Tensor)]
        taken[wanted] = sum(part.nbytes for part in states if part.shape == weight.shape)
    assert taken["adamw"] == 4 * taken["adamw-8bit"] == 8 * weight.numel()
