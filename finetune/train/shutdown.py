"""Graceful shutdown: SIGTERM and SIGINT are noted, and a training loop stops after the current step."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signal() -> Iterator[Callable[[], int | None]]:
    """Yield a function that returns the signal that asked to stop, or None.

    Within the context the first SIGTERM or SIGINT interrupts nothing; a second one has the effect it had
    before.
    """
    received: list[int] = []
    previous = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        restore()

    for number in previous:
        signal.signal(number, handle)
    try:
        yield lambda: received[0] if received else None
    finally:
        restore()
