"""SIGTERM as a wish: a training ends its step, saves, and exits 0."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any


class Stopping:
    """While entered, `wanted` turns true at SIGTERM, which no longer ends the process."""

    def __init__(self) -> None:
        self.wanted = False
        self._before: Any = None

    def _want(self, signum: int, frame: FrameType | None) -> None:
        self.wanted = True

    def __enter__(self) -> Stopping:
        self._before = signal.signal(signal.SIGTERM, self._want)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGTERM, self._before)
