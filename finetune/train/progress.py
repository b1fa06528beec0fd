"""How far a run is, on standard error: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dialint.finetune.train.estimate import Cost

LINE_SECONDS = 60.0


class Progress:
    """Counts steps and tokens of this process; `total` steps end the run, which took `earlier_s` seconds
    before. A `cost` is shown."""

    def __init__(self, total: int, done: int = 0, cost: Cost | None = None, earlier_s: float = 0.0) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self.total, self.done, self._first = total, done, done
        self.tokens = 0
        self._cost, self._earlier_s = cost, earlier_s
        self._started = self._told = time.monotonic()
        self._console = Console(stderr=True, markup=False, emoji=False)
        self._bar = Bar(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=self._console, disable=not self._console.is_terminal, transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=total, completed=done)

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
        spent = time.monotonic() - self._started
        return spent / max(1, self.done - self._first) * (self.total - self.done)

    def advance(self, tokens: int, told: str) -> None:
        """One step of `tokens` tokens is done; `told` is what to show beside the speed."""
        self.done += 1
        self.tokens += tokens
        line = f"{told}, {self.tokens_s:,.0f} tokens/s"
        if self._cost is not None:
            line += f", {self._cost.told(self.seconds)}"
        self._bar.update(self._task, advance=1, description=line)
        if self._bar.disable and time.monotonic() - self._told > LINE_SECONDS:
            self._told = time.monotonic()
            minutes = self.left_s / 60
            self._console.print(f"step {self.done} of {self.total}: {line}, {minutes:.0f} min left")

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
