"""What a training would take, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dialint.detector.engines.quantization import quantize_linear_layers
from dialint.finetune.train import estimate
from dialint.finetune.train.estimate import (
    MAX_PARTIAL_STEPS,
    MAX_TIMED_STEPS,
    SAMPLE,
    Cost,
    Memory,
    ModelSizes,
    StepTime,
    Workload,
    estimate_limit,
    estimate_memory,
    measure_partial_step_time,
    measure_step_time,
    model_sizes,
    print_memory,
    print_time,
    subsample_for_estimate,
)
from dialint.finetune.train.options import RunOptions

WORK = Workload(tokens=1000, window=100, hidden=64, layers=2, heads=4, value_bytes=2)


def test_activations_by_hand() -> None:
    layer = 1000 * (34 * 64 + 5 * 4 * 100)
    assert WORK.activations == 2 * layer == 8_352_000
    assert replace(WORK, value_bytes=4).activations == 2 * 8_352_000
    assert replace(WORK, checkpointing=True).activations == layer + 2 * (2 * 1000 * 64)
    assert replace(WORK, vocabulary=10).activations == 8_352_000 + 8 * 1000 * 10


def test_memory_counts_states_of_what_is_trained() -> None:
    sizes = ModelSizes(n_trained=10, n_frozen=90, weight_bytes=400)
    assert estimate_memory(sizes, "adamw", WORK) == Memory(400, 40, 80, 8_352_000)
    assert estimate_memory(sizes, "adamw-8bit", WORK).optimizer == 20
    assert estimate_memory(sizes, "adamw", WORK).total == 400 + 40 + 80 + 8_352_000


def test_sizes_of_a_model_partly_frozen_and_in_4_bits() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 64, bias=False), torch.nn.Linear(64, 3))
    model[0].requires_grad_(False)
    assert model_sizes(model) == ModelSizes(n_trained=195, n_frozen=4096, weight_bytes=4 * (4096 + 195))
    small = torch.nn.Sequential(quantize_linear_layers(torch.nn.Sequential(model[0]), "cpu"), model[1])
    assert model_sizes(small) == ModelSizes(n_trained=195, n_frozen=4096, weight_bytes=2048 + 4 * 195)


class Clock:
    """A clock that stands still but for what is spent."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("first", "later", "steps", "pace"),
    [
        (9.0, 2.0, [0, 1, 2, 3], None),
        (3.0, 2.0, [0, 1, 2, 3], StepTime(2.0, (200 + 300 + 400) / 6, "3 steps")),
        (3.0, 6.0, [0, 1], StepTime(6.0, 200 / 6, "1 step")),
        (5.0, 1.0, [0], StepTime(5.0, 100 / 5, "the first step")),
    ],
    ids=["all", "warmed up", "no time for a second", "no time for another"],
)
def test_steps_are_timed_while_there_is_time(
    first: float, later: float, steps: list[int], pace: StepTime | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, ran = Clock(), []
    if pace is None:
        monkeypatch.setattr(estimate, "BUDGET_S", 1000.0)
        pace = StepTime(2.0, (200 + 300 + 400) / 6, "3 steps")

    def step(number: int) -> int:
        ran.append(number)
        clock.now += later if number else first
        return 100 * (number + 1)

    assert measure_step_time(step, clock) == pace
    assert ran == steps


@pytest.mark.parametrize(
    ("fixed", "each", "parts", "seconds"),
    [(0.0, 0.1, [1, 4, 16], 1.6), (0.0, 5.0, [1], 80.0), (1.0, 0.25, [1, 4], (1.0 + 4 * 0.25) * 4)],
    ids=["whole", "one alone", "a quarter"],
)
def test_long_steps_are_timed_in_part(fixed: float, each: float, parts: list[int], seconds: float) -> None:
    clock, ran = Clock(), []

    def part(n: int) -> None:
        ran.append(n)
        clock.now += fixed + each * n

    pace = measure_partial_step_time(part, 16, 1000, clock)
    assert ran == parts
    assert pace.seconds == pytest.approx(seconds)
    assert pace.tokens_s == pytest.approx(1000 / seconds)
    assert pace.timed == f"{parts[-1]} of 16 questions of a step"


@pytest.mark.parametrize("parts", [1, 16, 1000, 1_000_000])
def test_a_plan_runs_a_fixed_number_of_steps_at_most(parts: int) -> None:
    """On a machine so quick that the budget never ends it."""
    clock, ran = Clock(), []
    measure_partial_step_time(ran.append, parts, 1000, lambda: clock.now + 1e-9 * len(ran))
    assert len(ran) <= MAX_PARTIAL_STEPS
    steps: list[int] = []
    measure_step_time(lambda number: steps.append(number) or 1, lambda: clock.now + 1e-9 * len(steps))  # type: ignore[func-returns-value]
    assert len(steps) == 1 + MAX_TIMED_STEPS


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000, 100_000])
def test_a_plan_is_made_of_few_questions(n: int) -> None:
    assert (estimate_limit(RunOptions()), estimate_limit(RunOptions(dry_run=True))) == (None, SAMPLE)
    assert subsample_for_estimate(range(n), RunOptions()) == range(n)
    few = subsample_for_estimate(range(n), RunOptions(dry_run=True))
    assert min(n, 128) <= len(few) <= 256


def test_the_whole_is_told_in_four_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_memory(ModelSizes(1_000, 2_000, 4), Memory(10**9, 0, 0, 5 * 10**8))
    before = capsys.readouterr().out.splitlines()
    print_time(90, StepTime(2.0, 500.0, "3 steps"), Cost(4.0, 60.0, "given"))
    assert before == [
        "parameters: 1,000 trained, 2,000 frozen",
        "memory: about 1.50 GB (weights 1.00, gradients 0.00, optimizer 0.00, activations 0.50) "
        "beside the program itself",
    ]
    assert capsys.readouterr().out.splitlines() == [
        "time: 90 steps of 2.00 s, about 3 min at 500 tokens/s (measured on 3 steps), evaluations not counted",
        "cost: 3.0 Wh, cost 0.20 at 60 W (given)",
    ]
