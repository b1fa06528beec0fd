"""Promotes a judge in forked processes, the n-th of which is killed at its n-th step that changes the disk.

Usage: ``promote_driver.py FOLDER HOMES``; HOMES is a folder in which ``home-N`` is prepared for each N from 1
on. Prints one line a process: the number of the step, or ``done`` once one was not killed.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import dialint.detector.engines.adapter_files
import dialint.detector.engines.base_models
import dialint.detector.engines.judge_folder  # noqa: F401
from dialint.detector.registry import Registry, verify_folder


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

    for name in ("fsync", "rename", "replace", "write", "mkdir", "ftruncate", "unlink"):
        setattr(os, name, counted(getattr(os, name)))


def main(folder: Path, homes: Path) -> None:
    for number in range(1, 1000):
        child = os.fork()
        if child == 0:
            count_steps(number)
            Registry("judge", homes / f"home-{number}").promote(verify_folder(folder))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        print(number if killed else "done", flush=True)
        if not killed:
            sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
