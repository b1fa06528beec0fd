"""Trains a scanner in a process that is killed or told to stop at a row, or killed within a write.

Reads lines of JSON, forks a process for each, and answers with a line ``{"status", "out", "err"}``. JSON has
`options` of `ScanConfig`, with `adapters` and `running` as objects, and any of `kill_row` (n: SIGKILL before
the n-th row of this process is learnt), `stop_row` (n: SIGTERM to ourselves there), `checkpoint` and `kill_at`
(SIGKILL within the n-th write step of so many-th checkpoint of this process; 0 prints how many steps it has).
Every step's loss is logged.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "app"))
sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads would not survive the fork

import fault_driver
import torch
from fault_driver import Faults, die, forked, install, no_fsync

from dialint.detector.errors import DialintError
from dialint.finetune.scanner import train, trainer
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.train import checkpoint
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions


def before_row(number: int | None, what: Callable[[], Any]) -> None:
    """Do `what` before row `number` of this process is learnt."""
    loss, rows = trainer.scan_loss, iter(range(1, sys.maxsize))

    def struck(*args: Any) -> torch.Tensor:
        if next(rows) == number:
            what()
        return loss(*args)

    trainer.scan_loss = struck


def within_checkpoint(number: int, kill_at: int) -> None:
    """Die in write step `kill_at` of checkpoint `number`."""
    save, saves = checkpoint.save_state, iter(range(1, sys.maxsize))

    def struck(*args: Any) -> None:
        faults = Faults({"kill_at": kill_at})
        if next(saves) == number:
            install(faults)
        save(*args)
        if faults.steps:
            print(faults.steps)

    checkpoint.save_state = struck


def main(about: dict[str, Any]) -> int:
    """One training; its exit code."""
    options = dict(about["options"])
    for name in ("examples", "base", "out"):
        options[name] = Path(options[name])
    options["adapters"] = AdapterOptions(**options.get("adapters", {"adapter": "none"}))
    options["running"] = RunOptions(threads=1, precision="fp32", **options.get("running", {}))
    trainer.LOG_STEPS = 1
    if "kill_row" in about:
        before_row(about["kill_row"], die)
    if "stop_row" in about:
        before_row(about["stop_row"], lambda: os.kill(os.getpid(), signal.SIGTERM))
    if "kill_at" in about:
        within_checkpoint(about["checkpoint"], about["kill_at"])
    try:
        train.scan(ScanConfig(**options))
    except DialintError as error:
        sys.stderr.write(f"dialint: {error}\n")
        return error.exit_code
    return 0


def warm_up(about: dict[str, Any]) -> None:
    """Import in the parent what every child needs, by a training of one step, so that a child starts quickly."""
    with tempfile.TemporaryDirectory() as folder:
        options = {**about["options"], "out": folder, "tokens": 200, "adapters": {"quantise": "nf4"}}
        running = {"optimizer": "adamw-8bit", "checkpoint_steps": 1, "dry_run": True}
        with contextlib.redirect_stdout(io.StringIO()):
            assert main({"options": {**options, "running": running}}) == 0
    gc.freeze()


if __name__ == "__main__":
    os.fsync = no_fsync  # type: ignore[assignment]
    fault_driver.main = main
    for place, line in enumerate(sys.stdin):
        if not place:
            warm_up(json.loads(line))
        sys.stdout.write(json.dumps(forked(json.loads(line))) + "\n")
        sys.stdout.flush()
