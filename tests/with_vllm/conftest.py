"""Two adapters of the small decoder and a server with one of them. `make test-vllm` runs these tests; the figures
that they print are in `docs/experiments/vllm.md`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rude_dialogues import written
from served import Server


@pytest.fixture(scope="session")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two judges, trained for a few steps on the same data at different rates: enough for short answers."""
    folder = tmp_path_factory.mktemp("adapters")
    dataset = folder / "dataset"
    dataset.mkdir()
    written(dataset, lambda place: 1.0 if place % 3 else 0.6)
    made = []
    for name, rate in (("first", "1e-2"), ("second", "4e-3")):
        subprocess.run(
            [
                sys.executable, "-m", "dialint", "train", "sft", "judge", "--dataset", dataset, "--base", "small_decoder",
                "--out", folder / name, "--steps", "8", "--learning-rate", rate, "--questions", "4", "--threads", "1",
                "--dev-questions", "4", "--dev-answers", "0", "--prompt-tokens", "1500", "--device", "cpu",
                "--precision", "fp32", "--adapter", "lora",
            ],
            check=True, capture_output=True, text=True, env={**os.environ, "LD_PRELOAD": ""},
        )  # fmt: skip
        made.append(folder / name)
    return made[0], made[1]


@pytest.fixture(scope="session")
def server(adapters: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(adapters[0], tmp_path_factory.mktemp("server") / "log")
    try:
        server.start()
        yield server
    finally:
        server.kill()
