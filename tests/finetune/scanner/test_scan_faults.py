"""Teaching a scanner through kills: what comes of it is bit for bit what would have come without them."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dialint.detector.artifacts import sha256_file
from dialint.finetune.train.checkpoint import SEAL

DRIVER = Path(__file__).parents[1] / "scan_driver.py"
KILLED = -signal.SIGKILL
PLAIN: dict[str, Any] = {"epochs": 6}
ALL_THAT_IS_RANDOM: dict[str, Any] = {
    "epochs": 18, "accumulate": 3, "eval_steps": 4, "patience": 6, "prefix_share": 0.25,
    "adapters": {"rank": 2, "adapter_dropout": 0.2},
}  # fmt: skip
SMALL_STATES: dict[str, Any] = {
    "epochs": 6, "running": {"optimizer": "adamw-8bit", "gradient_checkpointing": True},
    "adapters": {"rank": 32, "quantise": "nf4"},
}  # fmt: skip
Forked = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def driver() -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """Runs one training in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(DRIVER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(about: dict[str, Any]) -> dict[str, Any]:
        process.stdin.write(json.dumps(about) + "\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        return answer

    yield ask
    process.stdin.close()
    process.stdout.close()
    process.wait()


@pytest.fixture
def taught(
    driver: Callable[[dict[str, Any]], dict[str, Any]], folders: tuple[Path, Path], few: Path
) -> Forked:
    """Teaches into a folder, struck or not."""
    usual = {"row_tokens": 200, "context_tokens": 100, "learning_rate": 4e-3, "prefix_share": 0.0}

    def teach(out: Path, options: dict[str, Any], checkpoint_steps: int = 3, **strike: int) -> dict[str, Any]:
        running = {**options.get("running", {}), "checkpoint_steps": checkpoint_steps}
        places = {"examples": str(few), "base": str(folders[1]), "out": str(out)}
        return driver({"options": {**usual, **options, **places, "running": running}, **strike})

    return teach


def come_of_it(folder: Path) -> tuple[list[dict[str, Any]], str]:
    """All that was logged but times, and the hash of the weights."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        line.pop("tokens_s", None)
        line.pop("left_s", None)
    return lines, sha256_file(folder / "model.safetensors")


@pytest.mark.parametrize(
    ("options", "kills"),
    [(PLAIN, 10), (ALL_THAT_IS_RANDOM, 10), (SMALL_STATES, 5)],
    ids=["all weights", "all that is random", "4 bits"],
)
@pytest.mark.slow
def test_f11_killed_at_random_steps(
    taught: Forked, tmp_path: Path, options: dict[str, Any], kills: int
) -> None:
    assert taught(tmp_path / "unkilled", options, 1000)["status"] == 0
    expected = come_of_it(tmp_path / "unkilled")
    chance = random.Random(1)
    rows = 9 * options.get("accumulate", 1)
    killed = 0
    for number in range(kills):
        folder = tmp_path / f"killed{number // 5}"  # each goes on where it was killed, five times
        killed += taught(folder, options, kill_row=chance.randint(1, rows))["status"] == KILLED
        if number % 5 == 4:
            assert taught(folder, options)["status"] == 0
            assert come_of_it(folder) == expected
    assert killed > kills * 0.8
    assert [line["step"] for line in expected[0]][:3] == [1, 2, 3]


@pytest.mark.slow
def test_f12_killed_within_a_write_of_a_checkpoint(taught: Forked, tmp_path: Path) -> None:
    options = {"epochs": 1}
    counted = taught(tmp_path / "unkilled", options, 3, checkpoint=2, kill_at=0)
    expected, n_steps = come_of_it(tmp_path / "unkilled"), int(counted["out"].split()[-1])
    assert len(expected[0]) >= 7
    struck = {*range(1, n_steps, n_steps // 16), *range(n_steps - 16, n_steps)}  # the last ones seal it
    assert len(struck) >= 30
    for step in sorted(struck):
        folder = tmp_path / str(step)
        assert taught(folder, options, 3, checkpoint=2, kill_at=step)["status"] == KILLED
        sealed = {path.name for path in folder.glob("checkpoint-*") if (path / SEAL).exists()}
        assert sealed
        assert sealed <= {"checkpoint-3", "checkpoint-6"}
        assert taught(folder, options, 1000)["status"] == 0
        assert come_of_it(folder) == expected, f"write step {step}"


@pytest.mark.slow
def test_a_checkpoint_with_a_changed_byte_is_refused(taught: Forked, tmp_path: Path) -> None:
    assert taught(tmp_path, PLAIN, kill_row=5)["status"] == KILLED
    state = tmp_path / "checkpoint-3/state.pt"
    content = bytearray(state.read_bytes())
    content[len(content) // 2] ^= 1
    state.write_bytes(content)
    outcome = taught(tmp_path, PLAIN)
    assert outcome["status"] == 2
    assert "E_CHECKSUM" in outcome["err"]


@pytest.mark.slow
def test_another_job_does_not_go_on_from_a_checkpoint(taught: Forked, tmp_path: Path) -> None:
    assert taught(tmp_path, PLAIN, kill_row=5)["status"] == KILLED
    outcome = taught(tmp_path, {**PLAIN, "pair_weight": 1.0})
    assert outcome["status"] == 2
    assert "E_OTHER_JOB" in outcome["err"]


@pytest.mark.slow
def test_sigterm_ends_the_step_saves_and_says_how_to_go_on(taught: Forked, tmp_path: Path) -> None:
    assert taught(tmp_path / "unkilled", PLAIN)["status"] == 0
    told = taught(tmp_path / "told", PLAIN, 1000, stop_row=5)
    assert told["status"] == 0
    assert told["err"].splitlines()[-1].startswith("stopped after step 5 of ")
    assert told["err"].endswith("the same command resumes\n")
    assert [path.name for path in (tmp_path / "told").glob("checkpoint-*")] == ["checkpoint-5"]
    assert not (tmp_path / "told/training.json").exists()
    assert taught(tmp_path / "told", PLAIN)["status"] == 0
    assert come_of_it(tmp_path / "told") == come_of_it(tmp_path / "unkilled")
    assert not list((tmp_path / "told").glob("checkpoint-*"))
