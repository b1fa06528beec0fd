"""The cost of a training, by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dialint.finetune.train.cost import (
    Cost,
    estimate_cost,
    peak_memory,
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


def test_power_as_given_or_guessed_by_threads() -> None:
    assert estimate_cost(RunOptions(watts=65.0), "cpu") == Cost(0.0, 65.0, "given")
    assert estimate_cost(RunOptions(watts=20.0), "cpu").summary(3600) == "20.0 Wh"
    guessed = Cost(2.0, 30.0, "guessed, 10 W a thread")
    assert estimate_cost(RunOptions(threads=3, price_per_hour=2.0), "cpu") == guessed


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
