"""The time of a training by a few steps, and its cost: by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dialint.finetune.train.cost import (
    MAX_TIMED_STEPS,
    Cost,
    StepTime,
    estimate_cost,
    measure_step_time,
    peak_memory,
    print_time,
)
from dialint.finetune.train.metrics_log import Progress
from dialint.finetune.train.options import RunOptions


def test_half_an_hour_costs_half_of_the_hour() -> None:
    cost = Cost(price_per_hour=3.0, watts=100.0, source="given")
    assert cost.price(1800) == 1.5
    assert cost.watt_hours(1800) == 50.0
    assert cost.summary(1800) == "50.0 Wh, cost 1.50"
    figures = cost.to_dict(1800)
    assert figures.pop("peak_memory_mb") >= 1
    assert figures == {"price": 1.5, "watt_hours": 50.0, "watts": 100.0, "watts_from": "given"}


def test_peak_memory_is_in_bytes() -> None:
    taken = bytearray(os.urandom(1)) * (300 * 10**6)
    assert len(taken) < peak_memory() < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_without_a_price_only_energy_is_told() -> None:
    assert Cost(0.0, 20.0, "given").summary(3600) == "20.0 Wh"


def test_power_as_given_or_guessed_by_threads() -> None:
    assert estimate_cost(RunOptions(watts=65.0), "cpu") == Cost(0.0, 65.0, "given")
    assert estimate_cost(RunOptions(threads=3, price_per_hour=2.0), "cpu") == Cost(
        2.0, 30.0, "guessed, 10 W a thread"
    )


@pytest.mark.parametrize(
    ("script", "watts"),
    [('[ "$1" = --id=1 ] && echo 700.00', 700.0), ("echo '[N/A]'", 20.0), ("exit 9", 20.0)],
    ids=["says", "does not know", "fails"],
)
def test_a_gpus_power_is_its_limit_where_nvidia_smi_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, watts: float
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert estimate_cost(RunOptions(threads=2), "cuda:1").watts == watts
    assert estimate_cost(RunOptions(threads=2), "cpu").watts == 20.0


def test_progress_shows_what_was_spent_before_too(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialint.detector.progress.LINE_EVERY_S", 0.0)
    with Progress(10, 0, Cost(1.0, 3600.0, "given"), earlier_s=7200) as progress:
        progress.advance(5, "loss 1.000")
    told = " ".join(capfd.readouterr().err.split())
    assert "cost 2.00" in told
    assert "7,200." in told
    assert progress.seconds >= 7200


class Clock:
    """A clock that stands still but for what is spent."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("first", "later", "n_runs", "expected"),
    [
        (3.0, 2.0, 4, StepTime(2.0, 300 / 6, "3 steps")),
        (3.0, 6.0, 2, StepTime(6.0, 100 / 6, "1 step")),
        (5.0, 1.0, 1, StepTime(5.0, 100 / 5, "the first step")),
    ],
    ids=["warmed up", "no time for a second", "no time for another"],
)
def test_steps_are_timed_while_there_is_time(
    first: float, later: float, n_runs: int, expected: StepTime
) -> None:
    clock, runs = Clock(), []

    def step(n_parts: int) -> int:
        clock.now += later if runs else first
        runs.append(n_parts)
        return 100

    assert measure_step_time(step, clock=clock) == expected
    assert len(runs) == n_runs


@pytest.mark.parametrize(
    ("each", "runs", "timed"),
    [(0.1, [1, 16], "16 of 16"), (1.5, [1, 4], "4 of 16"), (5.0, [1], "1 of 16")],
)
def test_long_steps_are_timed_in_part(each: float, runs: list[int], timed: str) -> None:
    clock, seen = Clock(), []

    def part(n: int) -> int:
        seen.append(n)
        clock.now += each * n
        return 10 * n

    time = measure_step_time(part, 16, clock)
    assert (seen, time.timed) == (runs, f"{timed} questions of a step")
    assert time.seconds == pytest.approx(16 * each)
    assert time.tokens_s == pytest.approx(10 / each)


def test_a_quick_machine_runs_a_fixed_number_of_steps() -> None:
    steps: list[int] = []
    measure_step_time(lambda n: steps.append(n) or 1, clock=lambda: 1e-9 * len(steps))  # type: ignore[func-returns-value]
    assert len(steps) == 1 + MAX_TIMED_STEPS


def test_time_and_cost_are_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_time(90, StepTime(2.0, 500.0, "3 steps"), Cost(4.0, 60.0, "given"))
    assert capsys.readouterr().out.splitlines() == [
        "time: 90 steps of 2.00 s, about 3 min at 500 tokens/s (measured on 3 steps), evaluations not counted",
        "cost: 3.0 Wh, cost 0.20 at 60 W (given)",
    ]
