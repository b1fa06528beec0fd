"""Runs a command of dialint in forked processes, the n-th of which is killed at its n-th step that changes the
disk, and then once more without a kill.

Usage: ``kill_driver.py STRIDE WORD...``; ``{}`` in a word becomes n. Prints for each n the exit code of the second
run and, last, ``done`` once a first run was not killed.
"""

import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))


def count_steps(kill_at: int) -> None:
    """Make every call that changes the disk a step, before and after which the process may be killed."""
    steps = 0

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            nonlocal steps
            result = None
            for moment in ("before", "after"):
                steps += 1
                if steps == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                if moment == "before":
                    result = call(*args, **options)
            return result

        return step

    for name in ("fsync", "rename", "replace", "write", "mkdir", "ftruncate", "unlink", "open"):
        setattr(os, name, counted(getattr(os, name)))


def run(words: list[str], kill_at: int) -> int:
    """The status of a child that runs the command."""
    child = os.fork()
    if child == 0:
        if kill_at:
            count_steps(kill_at)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = ["dialint", *words]
        from dialint.app.cli import main

        try:
            main()
        except SystemExit as end:
            os._exit(end.code if isinstance(end.code, int) else int(end.code is not None))
        except BaseException:  # noqa: BLE001  a child that goes on would be a second parent
            os._exit(70)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def main(stride: int, words: list[str]) -> None:
    for module in (
        "app.cli",
        "detector.ingest.read",
        "labeling.exchange.export_labels",
        "labeling.store.database.backup",
    ):
        import_module(f"dialint.{module}")  # each child would import it again

    for number in range(1, 10_000, stride):
        command = [word.replace("{}", str(number)) for word in words]
        if not os.WIFSIGNALED(run(command, number)):
            print("done")
            return
        print(os.waitstatus_to_exitcode(run(command, 0)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
