"""How far a command is: a bar on a terminal, elsewhere a line now and then, nothing where it is to be quiet.

Shows numbers only. Goes to standard error, so that standard output stays clean.
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
"""Between two pictures of the bar."""


class Progress(Protocol):
    """Something that shows how far we are."""

    def __call__(self, done: int, share: float | None = None, note: str = "", **counts: int) -> None:
        """`done` are done, those of earlier runs included; `share` of all the work is done, 0 to 1, if it is
        known; `counts` are further totals of this run, by their names; `note` is shown after them."""
        ...


@contextmanager
def progress(what: str, unit: str = "dialogues", *, quiet: bool = False) -> Iterator[Progress]:
    """A bar on a terminal, lines elsewhere, nothing if `quiet`. `what` is being done to `unit`."""
    if quiet:
        yield lambda done, share=None, note="", **counts: None
    elif sys.stderr.isatty():
        with _bar(what, unit) as bar:
            yield bar
    else:
        yield _Lines(what, unit)


def track(
    items: Iterable[T], total: int | None, what: str, unit: str = "dialogues", *, quiet: bool = False
) -> Iterator[T]:
    """`items` as they are, their number shown while they are taken; `total` of them, if that is known."""
    with progress(what, unit, quiet=quiet) as tell:
        tell(0, 0.0 if total else None)
        for n, item in enumerate(items, 1):
            yield item
            tell(n, n / total if total else None)


class _Pace:
    """What was done since the first call, and what that says of the rest."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._began: tuple[float, int, float] | None = None

    def text(self, now: float, done: int, share: float | None, counts: dict[str, int], note: str) -> str:
        """Totals and speed."""
        self._began = self._began or (now, done, share or 0.0)
        began, before, _ = self._began
        rate = (done - before) / max(now - began, 1e-9)
        speed = f"{rate:,.0f} a second" if rate >= 10 or not rate else f"{rate:.2g} a second"
        totals = (f"{n:,} {name}" for name, n in counts.items())
        return ", ".join((f"{done:,} {self._unit}", speed, *totals, *([note] if note else [])))

    def left_s(self, now: float, share: float | None) -> float | None:
        """Seconds left at the speed so far; none if nobody can know."""
        if self._began is None or share is None or share <= self._began[2]:
            return None
        return (1.0 - share) * max(now - self._began[0], 1e-9) / (share - self._began[2])


class _Lines:
    """One line every `LINE_EVERY_S` seconds. The first call is where this run began."""

    def __init__(self, what: str, unit: str) -> None:
        self._what = what
        self._said = time.monotonic()
        self._pace = _Pace(unit)

    def __call__(self, done: int, share: float | None = None, note: str = "", **counts: int) -> None:
        now = time.monotonic()
        line = self._pace.text(now, done, share, counts, note)
        if now - self._said < LINE_EVERY_S:
            return
        self._said = now
        left_s = self._pace.left_s(now, share)
        if left_s is not None:
            line += f", {share:.0%}, {left_s:,.0f} s left"
        sys.stderr.write(f"dialint: {self._what}: {line}\n")


@contextmanager
def _bar(what: str, unit: str) -> Iterator[Progress]:
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
    pace, shown_at = _Pace(unit), 0.0
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, text="")

        def show(done: int, share: float | None = None, note: str = "", **counts: int) -> None:
            nonlocal shown_at
            now = time.monotonic()
            text = pace.text(now, done, share, counts, note)
            if now - shown_at < SHOW_EVERY_S:
                return
            shown_at = now
            left_s = pace.left_s(now, share)
            text += f", {left_s:,.0f} s left" if left_s is not None else ""
            known = share is not None
            bar.update(task, total=1.0 if known else None, completed=min(share or 0.0, 1.0), text=text)

        yield show
