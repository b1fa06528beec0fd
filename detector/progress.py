"""Shows the progress of a command on standard error: a bar on a terminal, else a line now and then.

`track` follows an iterator; `progress` takes totals and computes speed and time left. Shows numbers only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

T = TypeVar("T")

LINE_EVERY_S = 30.0
SHOW_EVERY_S = 0.1
"""Between two updates of the bar."""


class Progress(Protocol):
    """Receives the totals of a command."""

    def __call__(self, done: int, share: float | None = None, note: str = "", **counts: int) -> None:
        """`done` items are done, those of earlier runs included; `share` of all the work is done, 0 to 1, if
        available; `counts` are further totals, by their names; `note` is displayed after them."""


@contextmanager
def progress(what: str, unit: str = "dialogues", *, quiet: bool = False) -> Iterator[Progress]:
    """Totals, speed and time left of a command that does `what` to `unit`. The first call is where this run
    began."""
    started: tuple[float, int, float] | None = None
    is_bar = sys.stderr.isatty()
    updated_s = 0.0 if is_bar else time.monotonic()

    with _bar(what) if is_bar and not quiet else nullcontext() as bar:

        def update(done: int, share: float | None = None, note: str = "", **counts: int) -> None:
            nonlocal started, updated_s
            if quiet:
                return
            now = time.monotonic()
            started = started or (now, done, share or 0.0)
            if now - updated_s < (SHOW_EVERY_S if is_bar else LINE_EVERY_S):
                return
            updated_s = now
            began, done_before, share_before = started
            elapsed = max(now - began, 1e-9)
            rate = (done - done_before) / elapsed
            speed = f"{rate:,.0f} a second" if rate >= 10 or not rate else f"{rate:.2g} a second"
            totals = (f"{n:,} {name}" for name, n in counts.items())
            text = ", ".join((f"{done:,} {unit}", speed, *totals, *([note] if note else [])))
            if share and share > share_before:
                left_s = (1.0 - share) * elapsed / (share - share_before)
                text += f"{'' if is_bar else f', {100 * share:.0f} %'}, {left_s:,.0f} s left"
            if bar is None:
                sys.stderr.write(f"dialint: {what}: {text}\n")
            else:
                total = None if share is None else 1.0
                bar.update(bar.task_ids[0], total=total, completed=min(share or 0.0, 1.0), text=text)

        yield update


def track(
    items: Iterable[T], total: int | None, what: str, unit: str = "dialogues", *, quiet: bool = False
) -> Iterator[T]:
    """Yields `items` and shows how many have been consumed, of `total` if given."""
    with progress(what, unit, quiet=quiet) as update:
        update(0, 0.0 if total else None)
        for n, item in enumerate(items, 1):
            yield item
            update(n, n / total if total else None)


def _bar(what: str) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(what),
        BarColumn(bar_width=20),
        TaskProgressColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[text]}", markup=False),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(what, total=None, text="")
    return bar
