"""When a request may be sent: how many at a time, and how long to wait after a failure.

The number at a time finds itself. It doubles, later grows by an eighth, while more at a time means more
tokens a second; where it does not, it falls back to the number before. Each refusal for load or time-out
halves it (additive increase, multiplicative decrease; Chiu and Jain, 1989).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST = 4
WINDOW = 8
"""Answers, at least, by which a number is judged."""
GAIN = 0.25
"""The number goes on growing if tokens a second grew by this part of what it had grown by."""
STEP = 8
"""After doubling has ended, it grows by an eighth."""
FADE = 0.98
"""What remains of the best measure at each window that did not reach it: servers change."""
PROMPT_WEIGHT = 1 / 16
"""A token read counts as this part of a token written."""


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Bounds of all retries. Waits grow exponentially from `first_wait_s` to `longest_wait_s`, with full
    jitter; a server's ``Retry-After`` comes before them, up to `longest_retry_after_s`."""

    attempts: int = 3
    overload_attempts: int = 8
    alone_attempts: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 20.0
    longest_retry_after_s: float = 60.0
    opening_s: float = 5.0
    outage_s: float = 120.0

    def wait_s(self, failures: int, retry_after: float | None, draw: Callable[[], float]) -> float:
        """Seconds to wait after this many failures; `draw` gives a number in [0, 1)."""
        if retry_after is not None:
            return min(retry_after, self.longest_retry_after_s)
        return draw() * min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(failures, 30))


def retry_after_s(headers: Mapping[str, str], now: Callable[[], datetime] | None = None) -> float | None:
    """Seconds that ``Retry-After`` asks for, as a number or as a date; None without a readable one."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.replace(".", "", 1).isdigit() and len(text) < 10:
        return float(text)
    try:
        date = parsedate_to_datetime(text)
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0.0, (date - (now or (lambda: datetime.now(UTC)))()).total_seconds())
    except (ValueError, OverflowError, TypeError, IndexError):  # an absurd year, zone or word
        return None


class Concurrency:
    """The number of requests at a time, `limit`, between 1 and `most`."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self.limit = min(FIRST, most)
        self.highest = self.limit
        self.epoch = 0
        self._clock = clock
        self._in_flight = 0
        self._paused_until = 0.0
        self._doubles = True
        self._settled, self._best = self.limit, 0.0
        self._changed = asyncio.Condition()
        self._start_window()

    async def acquire(self) -> int:
        """Waits for a free place, first come, first served. The epoch: what `overloaded` wants to know."""
        async with self._changed:
            while self._in_flight >= self.limit:
                self._waited = True
                await self._changed.wait()
            self._in_flight += 1
        try:
            while (pause_s := self._paused_until - self._clock()) > 0:
                await asyncio.sleep(pause_s)
        except asyncio.CancelledError:
            await self.release()
            raise
        return self.epoch

    async def release(self) -> None:
        """Frees a place."""
        async with self._changed:
            self._in_flight -= 1
            self._changed.notify(max(1, self.limit - self._in_flight))

    def record_success(self, seconds: float, prompt_tokens: int, output_tokens: int) -> None:
        """Counts an answer; decides after a window of them."""
        self._answers += 1
        self._seconds += max(seconds, 1e-6)
        self._tokens += max(1.0, output_tokens + PROMPT_WEIGHT * prompt_tokens)
        if self._answers < max(WINDOW, self.limit):
            return
        if self._waited:  # else nobody would have used more places
            measure = self.limit * self._tokens / self._seconds
            if measure >= self._best * (1 + GAIN * (self.limit / self._settled - 1)):
                self._best, self._settled = measure, self.limit
                more = self.limit if self._doubles else -(-self.limit // STEP)
                self.limit = min(self.most, self.limit + more)
                self.highest = max(self.highest, self.limit)
            else:
                self._doubles = False
                self.limit = self._settled
                self._best *= FADE
        self._start_window()

    def back_off(self, epoch: int, pause_s: float | None = None) -> None:
        """Halves the number, once for all requests of one epoch; with `pause_s` nothing is sent so long."""
        if pause_s is not None:
            self._paused_until = max(self._paused_until, self._clock() + pause_s)
        if epoch != self.epoch:
            return
        self.epoch += 1
        self.limit = self._settled = max(1, self.limit // 2)
        self._best, self._doubles = 0.0, False
        self._start_window()

    def _start_window(self) -> None:
        self._answers, self._seconds, self._tokens, self._waited = 0, 0.0, 0.0, False
