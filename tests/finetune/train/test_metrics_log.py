"""The log of figures: every entry a line, a resumed run drops what it writes again, trackers see numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dialint.detector.errors import ConfigError
from dialint.finetune.train import metrics_log
from dialint.finetune.train.metrics_log import METRICS, MetricsLog, Progress, UsageMeter, flatten
from dialint.finetune.train.options import RunOptions


def lines(folder: Path) -> list[object]:
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


def test_entries_are_lines_and_stay(tmp_path: Path) -> None:
    with MetricsLog(tmp_path) as log:
        log.write({"step": 1, "loss": 2.5})
        size = log.size
        log.write({"step": 2})
    with MetricsLog(tmp_path, size) as log:  # as a run that resumes from the checkpoint after step 1
        log.write({"step": 2, "dev": {"macro": 0.5}})
    with MetricsLog(tmp_path) as log:
        log.write({"step": 3})
    assert lines(tmp_path) == [{"step": 1, "loss": 2.5}, {"step": 2, "dev": {"macro": 0.5}}, {"step": 3}]


def test_numbers_of_nested_entries_have_a_path() -> None:
    entry = {"step": 3, "name": "x", "whole": True, "heldout": {"star": {"loss": 2}, "all": {"loss": 1.5}}}
    assert dict(flatten(entry)) == {"step": 3.0, "heldout/star/loss": 2.0, "heldout/all/loss": 1.5}


class Tracker:
    """A tracker of accelerate that fails at a step."""

    name = "tensorboard"

    def __init__(self, fails_at: int) -> None:
        self.fails_at, self.logged = fails_at, list[Any]()

    def log(self, values: dict[str, float], step: int) -> None:
        if step == self.fails_at:
            raise RuntimeError("no such server")
        self.logged.append((step, values))

    def finish(self) -> None:
        self.logged.append("finished")


@pytest.mark.parametrize(("fails_at", "logged"), [(9, [1, 2, "finished"]), (2, [1])])
def test_a_tracker_sees_every_entry_and_may_not_stop_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, fails_at: int, logged: list[Any]
) -> None:
    tracker = Tracker(fails_at)
    monkeypatch.setattr(metrics_log, "open_tracker", lambda name, folder: tracker)
    with MetricsLog(tmp_path, report_to=("tensorboard",)) as log:
        log.write({"step": 1, "dev": {"loss": 1.0}})
        log.write({"step": 2})
    assert [each if each == "finished" else each[0] for each in tracker.logged] == logged
    assert tracker.logged[0] == (1, {"dev/loss": 1.0})
    silenced = "tensorboard no longer shows this run: no such server" in capsys.readouterr().err
    assert silenced == (fails_at == 2)
    assert len(lines(tmp_path)) == 2


def test_a_tracker_that_is_not_installed_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialint.finetune.train.options.is_installed", lambda name: False)
    with pytest.raises(ConfigError, match="E_EXTRA: --report-to wandb: pip install wandb"):
        RunOptions(report_to=("wandb",)).validate()


def test_progress_is_quiet_beside_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialint.detector.progress.LINE_EVERY_S", 0.0)
    with Progress(3, done=1) as progress:
        progress.advance(100, "loss 2.000")
    output = capsys.readouterr()
    assert output.out == ""
    line = output.err.splitlines()[-1]
    assert line.startswith("dialint: training: 2 of 3 steps, ")
    assert "loss 2.000, " in line
    assert line.endswith(" s left")


def test_usage_has_what_is_measured_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = {"cpu_seconds": 1000.0, "gpu_energy_joules": 50.0}
    on_cpu = UsageMeter(torch.device("cpu"), earlier).figures()
    assert on_cpu.keys() == {"cpu_seconds"}
    assert 1000 <= on_cpu["cpu_seconds"] < 1010
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda _: SimpleNamespace(uuid="1-2"))
    monkeypatch.setitem(sys.modules, "pynvml", None)  # is not installed
    assert UsageMeter(torch.device("cuda:1")).figures().keys() == {"cpu_seconds"}
    counter = iter((7_000, 9_500, 10_000, 12_000, 13_000, 14_000))
    nvml = SimpleNamespace(
        NVMLError=OSError,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID={"GPU-1-2": 1}.__getitem__,
        nvmlDeviceGetTotalEnergyConsumption=lambda _: next(counter),
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert UsageMeter(torch.device("cuda:1")).figures()["gpu_energy_joules"] == 2.5
    assert UsageMeter(torch.device("cuda:1"), earlier).figures()["gpu_energy_joules"] == 52.0
    assert "gpu_energy_joules" not in UsageMeter(torch.device("cuda:1"), {"cpu_seconds": 1.0}).figures()
