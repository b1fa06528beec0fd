"""How long does a day's routing take? ``python runs/studies/routing_speed.py --dialogues 20000``.

Fills a store of its own with dialogues and their verdicts, routes them, and routes them again; then plans
as many verdicts in memory. Prints seconds and peak memory as JSON, and throws the store away.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.labeling.queue.dispatch import RouteConfig, dispatch
from dialint.labeling.queue.policy import Policy
from dialint.labeling.queue.routing import AskedCodes, plan_day
from dialint.labeling.store import accounts, dialogues, projects
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.dialogues import MAX_PER_CALL
from dialint.labeling.store.records import Project

R = TypeVar("R")
FLAGGED = 0.15
TURNS, CODES = 10, 8
"""Agent turns and codes whose probabilities a verdict tells."""


def verdict_of(number: int, random: np.random.Generator) -> Verdict:
    """A verdict with the probabilities of all turns and codes, on 15 % of the dialogues with a finding."""
    chances = np.round(random.beta(0.5, 12.0, (TURNS, CODES)), 4)
    found: tuple[Finding, ...] = ()
    if random.random() < FLAGGED:
        chances[0, 0] = round(float(random.uniform(0.3, 1.0)), 4)
        finding = Finding(
            code="C1", turn=1, severity="S2", probability=chances[0, 0], quote="a", start=0, end=1, reason=""
        )
        found = (finding,)
    told = {2 * i + 1: {f"C{j + 1}": float(p) for j, p in enumerate(row)} for i, row in enumerate(chances)}
    return Verdict(
        dialogue_id=f"d{number:07}",
        release="r",
        taxonomy="1",
        status="scored",
        quality=90.0,
        findings=found,
        probabilities=told,
    )


def run(n: int) -> dict[str, Any]:
    """All figures for `n` dialogues."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "store.sqlite")
        upgrade(place)
        with Store.open(place) as store:
            accounts.create_first(store, "ada", "correct horse battery")
            projects.create(store, "ada", Project(id="r", codes=("C1",), purpose="review", prelabelled=True))
            projects.create(store, "ada", Project(id="l", codes=("C1",)))
            _, fill_s = timed(lambda: fill(store, n, random))
            first, first_s = timed(lambda: dispatch(store, "ada", RouteConfig("r", "l")))
            again, again_s = timed(lambda: dispatch(store, "ada", RouteConfig("r", "l")))
    route_peak_mb = peak_mb()
    verdicts = [verdict_of(number, random) for number in range(n)]
    _, plan_s = timed(lambda: plan_day(verdicts, Policy(), 0, AskedCodes({"C1": "S2"}, {"C1": "S2"})))
    return {
        "dialogues": n,
        "import_s": round(fill_s, 2),
        "route_s": round(first_s, 2),
        "route_again_s": round(again_s, 2),
        "plan_s": round(plan_s, 2),
        "fates": dict(first.fates),
        "tasks": [first.added, again.added],
        "route_peak_mb": route_peak_mb,
        "peak_mb": peak_mb(),
    }


def peak_mb() -> int:
    """The most memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def fill(store: Store, n: int, random: np.random.Generator) -> None:
    """Put `n` dialogues with their verdicts in."""
    turns = (Turn(index=0, role="customer", text="Where is it?"), Turn(index=1, role="agent", text="a"))
    for start in range(0, n, MAX_PER_CALL):
        numbers = range(start, min(n, start + MAX_PER_CALL))
        dialogues.add(store, "ada", [Dialogue(id=f"d{one:07}", turns=turns) for one in numbers])
        dialogues.add_verdicts(store, "ada", [verdict_of(one, random) for one in numbers])


def timed(work: Callable[[], R]) -> tuple[R, float]:
    """What `work` gives, and the seconds it took."""
    started_s = time.perf_counter()
    return work(), time.perf_counter() - started_s


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--dialogues", type=int, default=20_000)
    sys.stdout.write(json.dumps(run(parser.parse_args().dialogues), indent=2) + "\n")
