"""Progress of a training run: steps, tokens a second and cost, shown by `dialint.detector.progress`."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from dialint.detector.progress import progress

if TYPE_CHECKING:
    from dialint.finetune.train.estimate import Cost


class Progress:
    """Counts steps and tokens of this process. `total` steps end the run, of which `done` are done, which
    took `earlier_s` seconds. A `cost` is shown."""

    def __init__(self, total: int, done: int = 0, cost: Cost | None = None, earlier_s: float = 0.0) -> None:
        self.total, self.done, self._first = total, done, done
        self.tokens = 0
        self._cost, self._earlier_s = cost, earlier_s
        self._started = time.monotonic()
        self._stack = ExitStack()

    @property
    def seconds(self) -> float:
        """Seconds of the run so far, those of earlier processes among them."""
        return self._earlier_s + time.monotonic() - self._started

    @property
    def tokens_s(self) -> float:
        """Tokens a second since this process began."""
        return self.tokens / max(1e-9, time.monotonic() - self._started)

    @property
    def left_s(self) -> float:
        """Seconds left at the speed so far."""
        elapsed = time.monotonic() - self._started
        return elapsed / max(1, self.done - self._first) * (self.total - self.done)

    def advance(self, tokens: int, message: str) -> None:
        """One step of `tokens` tokens is done; `message` is shown beside the speed."""
        self.done += 1
        self.tokens += tokens
        note = f"{message}, {self.tokens_s:,.0f} tokens/s"
        if self._cost is not None:
            note += f", {self._cost.summary(self.seconds)}"
        self._show(self.done, self.done / max(1, self.total), note)

    def __enter__(self) -> Progress:
        self._show = self._stack.enter_context(progress("training", f"of {self.total:,} steps"))
        self._show(self.done, self.done / max(1, self.total))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
