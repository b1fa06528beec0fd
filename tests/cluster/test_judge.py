"""``dialint score --judge --cluster ray`` has the questions and verdicts of one machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_log import find_actors, write_log
from fake_llm import FakeLLM, serving

from dialint.detector.verdict_files import manifest_path

KEY = "sk-planted-0123456789"
BUDGET = ("--judge-budget", "500 questions", "--judge-precision", "0.9")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    write_log(path, 64)
    return path


@pytest.fixture
def server() -> Iterator[tuple[FakeLLM, str]]:
    llm = FakeLLM(key=KEY, false_positives={"": 0.03})
    with serving(llm) as url:
        yield llm, url


def score(
    log: Path, out: Path, judge: str, *arguments: str, kill: Callable[[int], None] | None = None
) -> str:
    """What the command printed. `kill` is called with its process id when a chunk is committed."""
    command = [
        sys.executable, "-m", "dialint", "score", str(log), "--out", str(out), "--chunk-size", "2", "--threads", "1",
        "--judge", judge, *arguments,
    ]  # fmt: skip
    journal = out.with_name(f".{out.stem}.job") / "journal.jsonl"
    environment = {**os.environ, "DIALINT_JUDGE_KEY": KEY}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        while kill is not None and process.poll() is None:
            time.sleep(0.05)
            if journal.exists() and journal.read_bytes().count(b"\n"):
                kill(process.pid)
                kill = None
        output, _ = process.communicate(timeout=400)
    assert process.returncode == 0, output
    assert kill is None, "it ended before anything could be killed"
    return output


def manifest_of(out: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(manifest_path(out).read_text())
    return manifest


def kill_actor(pid: int) -> None:
    os.kill(find_actors(pid)[0], signal.SIGKILL)


def test_a_judge_is_asked_about_what_actors_scan(
    log: Path, tmp_path: Path, server: tuple[FakeLLM, str]
) -> None:
    llm, url = server
    one, two, three = (tmp_path / f"{name}.jsonl" for name in ("one", "two", "three"))
    score(log, one, url, *BUDGET)
    asked = len(llm.log)
    printed = score(log, two, url, *BUDGET, "--cluster", "ray", "--actors", "2")
    assert two.read_bytes() == one.read_bytes()
    assert len(llm.log[asked:]) == asked
    manifests = [manifest_of(out)["judge"] for out in (one, two)]
    for name in ("name", "fingerprint", "questions", "tokens", "budget", "unasked"):
        assert manifests[0][name] == manifests[1][name], name
    assert manifests[0]["budget"]["spent"] == pytest.approx(32, abs=1)
    assert manifest_of(one)["work"] == manifest_of(two)["work"]
    assert "judge fake-4b: " in printed
    printed = score(log, three, url, *BUDGET, "--cluster", "ray", "--actors", "2", kill=kill_actor)
    assert "an actor died" in printed
    assert three.read_bytes() == one.read_bytes()
    ids = [json.loads(line)["dialogue_id"] for line in three.read_text().splitlines()]
    assert len(ids) == len(set(ids)) == 64
    written = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert written == []
