"""What happens when somebody wants the job to stop: SIGTERM and SIGINT end it between two chunks.

The chunk at work is finished and committed if that takes no longer than `GRACE_S`; otherwise, or at a
second signal, it is dropped, which costs nothing but its time: the next run makes it again.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE_S = 20


class Interrupted(BaseException):
    """A signal ended the job. Not an `Exception`: nobody but the job's owner may catch it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """130 for Ctrl-C; 0 for SIGTERM, by which a scheduler stops what may go on later."""
        return 130 if self.signum == signal.SIGINT else 0


class Drain:
    """Remembers the first signal until the chunk at work is committed."""

    def __init__(self) -> None:
        self._asked: int | None = None
        self._busy = False

    @contextmanager
    def chunk(self) -> Iterator[None]:
        """Around the making and committing of one chunk. Raises `Interrupted` after it if asked to stop."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._asked is not None:
            raise Interrupted(self._asked)

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """The signal handler."""
        first = self._asked is None
        if signum != signal.SIGALRM:
            self._asked = self._asked or signum
        if self._busy and first:
            signal.alarm(GRACE_S)
        else:
            raise Interrupted(self._asked or signum)


@contextmanager
def draining() -> Iterator[Drain]:
    """Install the handlers for as long as the job runs; the earlier ones come back afterwards."""
    drain = Drain()
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)
    earlier = [signal.signal(number, drain.handle) for number in signals]
    try:
        yield drain
    finally:
        signal.alarm(0)
        for number, handler in zip(signals, earlier, strict=True):
            signal.signal(number, handler)
