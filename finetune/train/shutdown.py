"""How a training is told to end: SIGTERM is heard between two steps and interrupts nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signal() -> Iterator[Callable[[], bool]]:
    """Work on when SIGTERM comes; what is handed out says whether it came. A second one does what it would
    do without us."""
    told: list[int] = []
    earlier = signal.getsignal(signal.SIGTERM)

    def handle(signum: int, frame: FrameType | None) -> None:
        told.append(signum)
        signal.signal(signal.SIGTERM, earlier)

    signal.signal(signal.SIGTERM, handle)
    try:
        yield lambda: bool(told)
    finally:
        signal.signal(signal.SIGTERM, earlier)
