"""How a command that runs until it is told to stop is told: by SIGTERM or Ctrl-C, heard between two steps."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

EAR_S = 0.1
"""How often somebody who waits listens."""


class Stopped(Exception):
    """Somebody wants the command to end."""


@contextmanager
def until_stopped() -> Iterator[Callable[[float], None]]:
    """Work until a signal came; what is handed out waits for so many seconds, and ends the work then.

    The signal itself interrupts nothing: no statement, no half a transaction. A second one does what it
    would do without us.
    """
    told: list[int] = []
    earlier = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def handle(signum: int, frame: FrameType | None) -> None:
        told.append(signum)
        for number, handler in earlier.items():
            signal.signal(number, handler)

    def rest(seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while not told and (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(left_s, EAR_S))
        if told:
            raise Stopped

    for number in earlier:
        signal.signal(number, handle)
    try:
        yield rest
    except Stopped:
        pass
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
