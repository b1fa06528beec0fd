"""Stage ``dialint label watch``: who in a crowd table answers without looking, too fast, or from a sheet.

Reads a table of task, worker, label (optionally code and seconds). Prints the flags and, with ``--out``,
writes them with the figures of every worker as JSON. A flag is a reason to look, not a verdict; nobody's
answers are left out of anything by it.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from detector.artifacts import described, disk_errors, versions, write_manifest
from detector.errors import OutputRefused
from labeling.watch.rule import Rule

if TYPE_CHECKING:
    from labeling.watch.watched import Watched


@Parameter(name="*")
@dataclass(frozen=True)
class WatchConfig:
    """Whom to watch, and how strictly."""

    annotations: Path
    """Crowd table with columns task, worker, label and, if it has them, code and seconds."""
    out: Path | None = None
    """File for all figures as JSON; must not exist. Standard output has the flags in any case."""
    sure: float = 0.95
    """Probability of knowing nothing from which a worker is flagged."""
    rate: float = 0.01
    """Share of false flags among those for speed and copying, on average at most."""
    last_wins: Annotated[bool, Parameter(negative=())] = False
    """Of a worker's several answers to a task take the last; without, they are refused."""

    def __post_init__(self) -> None:
        Rule(self.sure, self.rate)


def watch(config: WatchConfig) -> None:
    """Find workers who answer blindly, too fast, or from one another's sheet."""
    from rich.console import Console
    from rich.table import Table

    from labeling.watch.evidence import certainty

    report = run(config)
    table = Table(box=None, pad_edge=False)
    for heading in ("flag", "workers", "n", "certainty", "why"):
        table.add_column(heading)
    for flag in report["flags"]:
        table.add_row(flag["kind"], ", ".join(flag["workers"]), str(flag["n"]), certainty(flag), flag["why"])
    screen = Console(highlight=False, markup=False)
    if report["flags"]:
        screen.print(table)
    screen.print(f"{len(report['flags'])} flags on {len(report['workers'])} workers")


def run(config: WatchConfig) -> dict[str, Any]:
    """All flags and figures; written to `out` if there is one.

    Raises:
        InputRefused: the table is bad; the message names file and line.
        OutputRefused: `out` is there already.
    """
    from labeling.truth.files.tables import read_answers
    from labeling.watch.watched import watched

    if config.out is not None and config.out.exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: is there already; name another file")
    started = time.monotonic()
    tables = read_answers(config.annotations, config.last_wins)
    found = watched(tables, rule=Rule(config.sure, config.rate))
    report = {
        "kind": "watch",
        "config": {**asdict(config), "annotations": config.annotations.name, "out": None},
        "versions": versions("dialint", "numpy", "scipy"),
        "inputs": [described(config.annotations)],
        "flags": [asdict(flag) for flag in found.flags],
        "workers": dict(zip(found.workers, _figures(found), strict=True)),
        "seconds": round(time.monotonic() - started, 1),
    }
    if config.out is not None:
        with disk_errors(config.out):
            config.out.parent.mkdir(parents=True, exist_ok=True)
        write_manifest(config.out, report)
    return report


def _figures(found: Watched) -> list[dict[str, float | None]]:
    """What is known of each worker, none where nothing can be said."""
    knows, speed = found.knowledge, found.pace
    columns = {
        "answers": knows.n,
        "slope": knows.slope,
        "slope_spread": knows.spread,
        "knows_nothing": knows.blind,
        "commonest_answer": knows.commonest,
        "timed": speed.n,
        "fast": speed.fast,
        "median_seconds": speed.median,
    }
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return [
        {name: None if math.isnan(value) else value for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]
