"""Promotes a judge in forked processes, the n-th of which is killed at its n-th step that changes the disk.

Usage: ``promote_driver.py FOLDER HOME HOMES SHARE``; the n-th works on ``home-N``, a copy of HOME in HOMES. Prints one
line a process: the number of the step, or ``done`` once one was not killed.
"""

import os
import shutil
import sys
from pathlib import Path

from kill_driver import count_steps

import dialint.detector.engines.adapter_files
import dialint.detector.engines.base_models
import dialint.detector.engines.judge_folder  # noqa: F401
from dialint.detector.registry import Registry, verify_folder


def main(folder: Path, home: Path, homes: Path, share: Path) -> None:
    for number in range(1, 1000):
        shutil.copytree(home, homes / f"home-{number}")
        child = os.fork()
        if child == 0:
            count_steps(number)
            Registry("judge", homes / f"home-{number}").promote(verify_folder(folder), share=int(share.name))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        print(number if killed else "done", flush=True)
        if not killed:
            sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
