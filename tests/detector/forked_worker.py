"""Starts the process that judges as a fork of this one, in place of a new interpreter, which would import torch
and transformers again: eight seconds of a processor each time."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any

_posix_spawn = os.posix_spawn


def spawn(executable: str, command: list[str], environment: Mapping[str, str], **options: Any) -> int:
    """As `os.posix_spawn`; the process that judges, ``python -c CODE``, is a fork that runs the code, which ends
    it."""
    if "dialint.detector.watchdog" not in command[-1]:
        return _posix_spawn(executable, command, environment, **options)
    from dialint.detector.engines import local  # noqa: F401  imported before the fork

    pid = os.fork()
    if pid == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, options["setsigmask"])
        exec(command[-1], {})
    return pid
