"""Shows the progress of a command on standard error: a bar on a terminal, else a line now and then.

`track` follows an iterator; `progress` takes totals and computes speed and time left. Shows numbers only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")

LINE_EVERY_S = 30.0
SHOW_EVERY_S = 0.1
"""Between two updates of the bar."""


class Progress(Protocol):
    """Receives the totals of a command."""

    def __call__(self, done: int, share: float | None = None, note: str = "", **counts: int) -> None:
        """`done` items are done, those of earlier runs included; `share` of all the work is done, 0 to 1, if
        it is known; `counts` are further totals of this run, by their names; `note` is shown after them."""
        ...


class _Display(Protocol):
    """Shows a text, and the share of the work that is done, 0 to 1, with the seconds left, if known."""

    def __call__(self, text: str, share: float | None = None, left_s: float | None = None) -> None: ...


@contextmanager
def progress(what: str, unit: str = "dialogues", *, quiet: bool = False) -> Iterator[Progress]:
    """Totals, speed and time left of a command that does `what` to `unit`. The first call is where this run
    began."""
    started: tuple[float, int, float] | None = None

    with _display(what, quiet) as show:

        def update(done: int, share: float | None = None, note: str = "", **counts: int) -> None:
            nonlocal started
            if quiet:
                return
            now = time.monotonic()
            started = started or (now, done, share or 0.0)
            began, done_before, share_before = started
            elapsed = max(now - began, 1e-9)
            rate = (done - done_before) / elapsed
            speed = f"{rate:,.0f} a second" if rate >= 10 or not rate else f"{rate:.2g} a second"
            totals = (f"{n:,} {name}" for name, n in counts.items())
            text = ", ".join((f"{done:,} {unit}", speed, *totals, *([note] if note else [])))
            has_progress = share is not None and share > share_before
            show(
                text,
                share,
                (1.0 - share) * elapsed / (share - share_before) if share and has_progress else None,
            )

        yield update


def track(
    items: Iterable[T], total: int | None, what: str, unit: str = "dialogues", *, quiet: bool = False
) -> Iterator[T]:
    """Yields `items` and shows how many have been consumed, of `total` if that is known."""
    with progress(what, unit, quiet=quiet) as update:
        update(0, 0.0 if total else None)
        for n, item in enumerate(items, 1):
            yield item
            update(n, n / total if total else None)


@contextmanager
def _display(what: str, quiet: bool) -> Iterator[_Display]:
    """A bar on a terminal, elsewhere a line every `LINE_EVERY_S` seconds, nothing if `quiet`."""
    if quiet:
        yield lambda text, share=None, left_s=None: None
    elif sys.stderr.isatty():
        with _bar(what) as bar:
            yield bar
    else:
        yield _lines(what)


def _lines(what: str) -> _Display:
    last = time.monotonic()

    def show(text: str, share: float | None = None, left_s: float | None = None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < LINE_EVERY_S:
            return
        last = now
        if left_s is not None:
            text += f", {share:.0%}, {left_s:,.0f} s left"
        sys.stderr.write(f"dialint: {what}: {text}\n")

    return show


@contextmanager
def _bar(what: str) -> Iterator[_Display]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn(what),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        TimeElapsedColumn(),
    )
    last = 0.0
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, text="")

        def show(text: str, share: float | None = None, left_s: float | None = None) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last < SHOW_EVERY_S:
                return
            last = now
            text += f", {left_s:,.0f} s left" if left_s is not None else ""
            total = None if share is None else 1.0
            bar.update(task, total=total, completed=min(share or 0.0, 1.0), text=text)

        yield show
