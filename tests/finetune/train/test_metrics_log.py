"""The log of figures: every entry a line, a resumed run drops what it writes again, mirrors see numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from dialint.finetune.train import metrics_log
from dialint.finetune.train.metrics_log import METRICS, MetricsLog, flatten
from dialint.finetune.train.progress import Progress


def lines(folder: Path) -> list[object]:
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


def test_entries_are_lines_and_stay(tmp_path: Path) -> None:
    with MetricsLog(tmp_path) as log:
        log.write({"step": 1, "loss": 2.5})
    with MetricsLog(tmp_path) as log:
        log.write({"step": 2, "dev": {"macro": 0.5}})
    assert lines(tmp_path) == [{"step": 1, "loss": 2.5}, {"step": 2, "dev": {"macro": 0.5}}]


def test_what_came_after_the_checkpoint_is_dropped(tmp_path: Path) -> None:
    with MetricsLog(tmp_path) as log:
        log.write({"step": 1})
        kept = log.size
        log.write({"step": 2})
    with MetricsLog(tmp_path, kept) as log:
        log.write({"step": 2, "again": True})
    assert lines(tmp_path) == [{"step": 1}, {"step": 2, "again": True}]


def test_numbers_of_nested_entries_have_a_path() -> None:
    entry = {"step": 3, "name": "x", "whole": True, "heldout": {"star": {"loss": 2}, "all": {"loss": 1.5}}}
    assert dict(flatten(entry)) == {"step": 3.0, "heldout/star/loss": 2.0, "heldout/all/loss": 1.5}


def test_mirrors_see_every_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    class Kept:
        def show(self, step: int, figures: Mapping[str, float]) -> None:
            seen.append((step, dict(figures)))

        def close(self) -> None:
            seen.append("closed")

    monkeypatch.setattr(metrics_log, "open_mirrors", lambda _: [Kept()])
    with MetricsLog(tmp_path) as log:
        log.write({"step": 7, "loss": 1.0})
    assert seen == [(7, {"loss": 1.0}), "closed"]


def test_a_mirror_that_fails_is_named_and_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def __init__(self, folder: Path) -> None:
            if folder.name == "never":
                raise ImportError("half installed")

        def show(self, step: int, figures: Mapping[str, float]) -> None:
            raise RuntimeError("no such server")

        def close(self) -> None:
            raise AssertionError("was let go")

    monkeypatch.setattr(metrics_log, "find_spec", lambda name: name == "mlflow" or None)
    monkeypatch.setattr(metrics_log, "MLflow", Broken)
    assert list(metrics_log.open_mirrors(tmp_path / "never")) == []
    with MetricsLog(tmp_path) as log:
        log.write({"step": 0, "loss": 1.0})
        log.write({"step": 1, "loss": 0.5})
    told = capsys.readouterr().err
    assert told.count("half installed") == told.count("no such server") == 1
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2


def test_no_mirror_when_none_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALINT_MIRRORS", "0")
    monkeypatch.setattr(metrics_log, "find_spec", lambda _: object())
    assert list(metrics_log.open_mirrors(tmp_path)) == []


def test_progress_is_quiet_beside_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialint.detector.progress.LINE_EVERY_S", 0.0)
    with Progress(3, done=1) as progress:
        progress.advance(100, "loss 2.000")
    assert progress.left_s > 0
    shown = capsys.readouterr()
    assert shown.out == ""
    line = shown.err.splitlines()[-1]
    assert line.startswith("dialint: training: 2 of 3 steps, ")
    assert "loss 2.000, " in line
    assert line.endswith(" s left")
