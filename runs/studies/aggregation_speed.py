"""How fast aggregation is at a size.

Run: ``python runs/studies/aggregation_speed.py --answers 1000000``. A made-up crowd of five answers a task
and 500 answers a worker; each method once, in one process: its processor time, which other work on the
machine changes least, and wall time beside it. Writes only what ``--out`` names.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from answer_tables import CrowdPlan, simulate_crowd
from cyclopts import App, Parameter

from dialint.detector.artifacts import package_versions, to_json_bytes, write_json
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.crowd_tables import read_answers
from dialint.labeling.aggregation.joint import Assumptions, choose_assumptions, fit_joint
from dialint.labeling.aggregation.methods import dawid_skene, majority, one_coin


@Parameter(name="*")
@dataclass(frozen=True)
class SpeedConfig:
    """How many answers, and of what."""

    answers: int = 1_000_000
    """Answers in the table."""
    labels: int = 3
    """Labels that a task may have."""
    out: Path | None = None
    """File for the figures as JSON; standard output has them in any case."""


def speed(config: SpeedConfig | None = None) -> None:
    """Time aggregation."""
    config = config or SpeedConfig()
    plan = CrowdPlan(
        n_tasks=config.answers // 5,
        n_workers=max(20, config.answers // 500),
        n_labels=config.labels,
        skill=0.7,
        spread=8,
    )
    crowd = simulate_crowd(plan)
    figures = {"answers": len(crowd.answers), "workers": plan.n_workers, "labels": config.labels}
    report = {**figures, **measured(crowd.answers), "versions": package_versions("numpy")}
    sys.stdout.write(to_json_bytes(report).decode())
    if config.out:
        write_json(config.out, report)


def measured(answers: Answers) -> dict[str, dict[str, float]]:
    """Seconds of each method, of the processor and of the clock."""
    majority(answers)  # the first call pays for imports
    found = {
        "read CSV": _reading(answers),
        "majority": _timed(lambda: majority(answers)),
        "dawid-skene": _timed(lambda: dawid_skene(answers)),
        "one-coin": _timed(lambda: one_coin(answers)),
        "joint, given assumptions": _timed(lambda: fit_joint(answers, None, Assumptions(300.0))),
        "joint, choosing them": _timed(lambda: choose_assumptions(answers)),
    }
    return {
        clock: {name: float(f"{values[place]:.4g}") for name, values in found.items()}
        for place, clock in enumerate(("processor seconds", "seconds"))
    }


def _timed(call: Callable[[], object]) -> Floats:
    """Seconds of the processor and of the clock, shape (2,)."""
    started = np.array([time.process_time(), time.perf_counter()])
    call()
    return np.array([time.process_time(), time.perf_counter()]) - started


def _reading(answers: Answers) -> Floats:
    import pyarrow as pa
    from pyarrow import csv

    columns = {
        name: np.array(getattr(answers, f"{name}s"))[getattr(answers, name)]
        for name in ("task", "worker", "label")
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crowd.csv"
        csv.write_csv(pa.table(columns), path)
        return _timed(lambda: read_answers(path))


if __name__ == "__main__":
    app = App(help="Time aggregation.")
    app.default(speed)
    app()
