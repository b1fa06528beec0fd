"""What a training would take, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from finetune.base_models.bits import quantised
from finetune.training import estimate
from finetune.training.cost import Cost
from finetune.training.estimate import Memory, Sizes, Work, measured, memory, sizes_of, told

WORK = Work(tokens=1000, window=100, hidden=64, layers=2, heads=4, value_bytes=2)


def test_activations_by_hand() -> None:
    layer = 1000 * (34 * 64 + 5 * 4 * 100)
    assert WORK.activations == 2 * layer == 8_352_000
    assert replace(WORK, value_bytes=4).activations == 2 * 8_352_000
    assert replace(WORK, checkpointing=True).activations == layer + 2 * (2 * 1000 * 64)
    assert replace(WORK, vocabulary=10).activations == 8_352_000 + 8 * 1000 * 10


def test_memory_counts_states_of_what_is_trained() -> None:
    sizes = Sizes(n_trained=10, n_frozen=90, weight_bytes=400)
    assert memory(sizes, "adamw", WORK) == Memory(400, 40, 80, 8_352_000)
    assert memory(sizes, "adamw-8bit", WORK).optimizer == 20
    assert memory(sizes, "adamw", WORK).total == 400 + 40 + 80 + 8_352_000


def test_sizes_of_a_model_partly_frozen_and_in_4_bits() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 64, bias=False), torch.nn.Linear(64, 3))
    model[0].requires_grad_(False)
    assert sizes_of(model) == Sizes(n_trained=195, n_frozen=4096, weight_bytes=4 * (4096 + 195))
    small = torch.nn.Sequential(quantised(torch.nn.Sequential(model[0]), "cpu"), model[1])
    assert sizes_of(small) == Sizes(n_trained=195, n_frozen=4096, weight_bytes=2048 + 4 * 195)


def test_the_first_step_warms_up_and_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 16.0])
    monkeypatch.setattr(estimate, "perf_counter", lambda: next(clock))
    steps = []
    seconds, tokens_s = measured(lambda step: steps.append(step) or 100 * (step + 1))
    assert steps == [0, 1, 2, 3]
    assert seconds == 2.0
    assert tokens_s == (200 + 300 + 400) / 6


def test_the_whole_is_told_in_four_lines() -> None:
    sizes = Sizes(1_000, 2_000, 4)
    lines = told(sizes, Memory(10**9, 0, 0, 5 * 10**8), 90, 2.0, 500.0, Cost(4.0, 60.0, "given")).splitlines()
    assert lines == [
        "parameters: 1,000 trained, 2,000 frozen",
        "memory: about 1.50 GB (weights 1.00, gradients 0.00, optimizer 0.00, activations 0.50) "
        "beside the program itself",
        "time: 90 steps of 2.00 s, about 3 min at 500 tokens/s (measured on 3 steps), looks not counted",
        "cost: 3.0 Wh, cost 0.20 at 60 W (given)",
    ]
