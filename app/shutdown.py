"""Stops a job that commits chunks on SIGTERM and SIGINT after the current chunk, never in the middle of one.

The chunk is finished if that takes no longer than `GRACE_S`; otherwise, or at a second signal, it is dropped,
and the next run makes it again.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE_S = 20


class Interrupted(BaseException):
    """A signal ended the job. Not an `Exception`: only the owner of the job may catch it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """130 for Ctrl-C; 0 for SIGTERM, by which a scheduler stops what may be resumed."""
        return 130 if self.signum == signal.SIGINT else 0


class GracefulShutdown:
    """Remembers the first signal until the current chunk is committed."""

    def __init__(self) -> None:
        self._requested: int | None = None
        self._busy = False

    @contextmanager
    def chunk(self) -> Iterator[None]:
        """Context of making and committing one chunk. Raises `Interrupted` after it if a signal came."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._requested is not None:
            raise Interrupted(self._requested)

    def handle(self, signum: int, frame: FrameType | None) -> None:
        first = self._requested is None
        if signum != signal.SIGALRM:
            self._requested = self._requested or signum
        if self._busy and first:
            signal.alarm(GRACE_S)
        else:
            raise Interrupted(self._requested or signum)


@contextmanager
def graceful_shutdown() -> Iterator[GracefulShutdown]:
    """Install the handlers for the duration of the job, then restore the earlier ones."""
    shutdown = GracefulShutdown()
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)
    earlier = [signal.signal(number, shutdown.handle) for number in signals]
    try:
        yield shutdown
    finally:
        signal.alarm(0)
        for number, handler in zip(signals, earlier, strict=True):
            signal.signal(number, handler)
