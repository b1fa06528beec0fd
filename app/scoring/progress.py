"""How far the job is: a bar with dialogues a second and time left, or a line now and then in a log file.

Shows numbers only. Goes to standard error, so that standard output stays clean.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

LINE_EVERY_S = 30.0


class Progress(Protocol):
    """Something that shows how far we are."""

    def __call__(self, dialogues: int, share: float) -> None:
        """`dialogues` are done, resumed ones included; `share` of the input's bytes is read, 0 to 1."""
        ...


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress]:
    """A bar on a terminal, lines elsewhere, nothing if `quiet`."""
    if quiet:
        yield lambda dialogues, share: None
    elif sys.stderr.isatty():
        with _bar() as bar:
            yield bar
    else:
        yield _Lines()


class _Lines:
    """One line every `LINE_EVERY_S` seconds. The first call is where this run began."""

    def __init__(self) -> None:
        self._said = time.monotonic()
        self._began: tuple[float, int, float] | None = None

    def __call__(self, dialogues: int, share: float) -> None:
        now = time.monotonic()
        self._began = self._began or (now, dialogues, share)
        if now - self._said < LINE_EVERY_S:
            return
        self._said = now
        began, dialogues_before, share_before = self._began
        seconds = max(now - began, 1e-9)
        rate = (dialogues - dialogues_before) / seconds
        line = f"dialint: {dialogues:,} dialogues, {rate:,.0f} a second"
        if share > share_before:
            left = (1.0 - share) * seconds / (share - share_before)
            line += f", {share:.0%}, {left:,.0f} s left"
        sys.stderr.write(line + "\n")


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("scoring"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[done]:,} dialogues, {task.fields[rate]:,.0f} a second"),
        TimeRemainingColumn(),
    )
    started = time.monotonic()
    first: int | None = None
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scoring", total=1.0, done=0, rate=0.0)

        def show(dialogues: int, share: float) -> None:
            nonlocal first
            first = dialogues if first is None else first
            rate = (dialogues - first) / max(time.monotonic() - started, 1e-9)
            bar.update(task, completed=min(share, 1.0), done=dialogues, rate=rate)

        yield show
