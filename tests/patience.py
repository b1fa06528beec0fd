"""Timeouts of tests, long enough for a busy machine: they measure nothing."""

import time
from collections.abc import Callable
from pathlib import Path

WAIT_S = 180.0
WAIT_MS = 1000 * WAIT_S


def wait_for(condition: Callable[[], object], message: str = "waited in vain") -> None:
    give_up_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < give_up_s, message
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # dead, and not yet collected by whoever inherited it
