"""Shared by the tests of `dialint score`: small logs and the driver with the fake detector."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import argon2
import pytest

from dialint import app
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.watchdog import WatchConfig

DRIVER = Path(__file__).with_name("fault_driver.py")
SAMPLE = Path(app.__file__).with_name("sample")


def dialogue_line(number: int, text: str = "Where is my parcel?") -> str:
    """A canonical dialogue as one line of a log."""
    turns = [
        {"role": "customer", "text": f"{text} It is number {number}."},
        {"role": "agent", "text": f"Let me look into {number} for you."},
    ]
    return json.dumps({"id": f"d{number}", "turns": turns})


@pytest.fixture(scope="session", autouse=True)
def cheap_hashes() -> Iterator[None]:
    """A hash of a password costs almost nothing, here and, as it holds its own cost, at a server."""
    cheap = partial(argon2.PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argon2, "PasswordHasher", cheap)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_low_priority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Jobs run as everything does: at their low priority they starve while other tests use all cores."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "nice").write_text('#!/bin/sh\nshift 2\nexec "$@"\n')  # nice -n 10 COMMAND
    (folder / "nice").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        yield


@pytest.fixture
def write_log(tmp_path: Path) -> Callable[..., Path]:
    """Writes a log of `n` dialogues; `lines` replaces or adds lines by number, `failing` cannot be judged."""

    def write(n: int, name: str = "log.jsonl", failing: int = 0, extra: tuple[str, ...] = ()) -> Path:
        texts = ["unanswerable"] * failing + ["Where is my parcel?"] * (n - failing)
        lines = [dialogue_line(number, text) for number, text in enumerate(texts)]
        path = tmp_path / name
        path.write_text("\n".join([*lines, *extra]) + "\n")
        return path

    return write


@pytest.fixture(scope="session")
def scanned_sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The dialogues of the sample with five kinds of errors, as a log, and the embedded release's verdicts."""
    folder = tmp_path_factory.mktemp("scanned")
    labels = map(json.loads, (SAMPLE / "labels.jsonl").read_text().splitlines())
    chosen = {label["dialogue_id"] for label in labels if label["code"] in ("L1", "M2", "V2", "E4", "T2")}
    lines = (SAMPLE / "dialogues.jsonl").read_text().splitlines()
    log, out = folder / "log.jsonl", folder / "v.jsonl"
    log.write_text("\n".join(line for line in lines if json.loads(line)["dialogue_id"] in chosen))
    watch = WatchConfig(dialogue_seconds=0)
    config = ScoreConfig(out=out, quiet=True, all_probabilities=True, watch=watch)
    assert run([str(log)], config) == 0
    return log, out


@pytest.fixture(scope="session")
def driver() -> ModuleType:
    """The module of the driver, for its fake detector."""
    spec = importlib.util.spec_from_file_location("fault_driver", DRIVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def encode_options(log: Path, out: Path, about: dict[str, Any], options: dict[str, Any]) -> str:
    """The driver's options as JSON."""
    return json.dumps({"logs": [str(log)], "options": {"chunk_size": 4, "out": str(out), **options}, **about})


@pytest.fixture(scope="session")
def forked() -> Iterator[Callable[..., dict[str, Any]]]:
    """Runs `dialint score` in a forked process, which may be struck by a fault, and says how it ended."""
    with subprocess.Popen(
        [sys.executable, str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        to_server, from_server = server.stdin, server.stdout

        def ended(
            log: Path, out: Path, about: dict[str, Any] | None = None, **options: Any
        ) -> dict[str, Any]:
            to_server.write(encode_options(log, out, about or {}, options) + "\n")
            to_server.flush()
            outcome: dict[str, Any] = json.loads(from_server.readline())
            return outcome

        yield ended
        to_server.close()


@pytest.fixture(scope="session")
def start() -> Callable[..., subprocess.Popen[str]]:
    """Starts `dialint score` in a process of its own, to run beside the test."""

    def begin(
        log: Path, out: Path, about: dict[str, Any] | None = None, stdin: Any = None, **options: Any
    ) -> Any:
        command = [sys.executable, str(DRIVER), encode_options(log, out, about or {}, options)]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": stdin}
        return subprocess.Popen(command, text=True, **pipes)

    return begin


@pytest.fixture(scope="session")
def peak_kib(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., int]:
    """Runs `dialint score` in a process of its own, and says how much memory it took."""

    def measured(log: Path, out: Path, **options: Any) -> int:
        with start(log, out, {"memory": True}, **options) as process:
            printed, errors = process.communicate()
        assert process.returncode == 0, errors
        return int(printed)

    return measured
