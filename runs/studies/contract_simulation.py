"""Simulates how often the thresholds of `dialint eval contract` hold.

Run: ``python runs/studies/contract_simulation.py --resamples 1000``. Made-up logs of labelled dialogues with
four codes; units of a dialogue are correlated. A log is broken if the true share at any of its thresholds is
below the target. Baseline: units as independent, without correction for codes and thresholds. Prints only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from cyclopts import App, Parameter

from dialint.detector.statistics import clopper_pearson_upper
from dialint.eval.contract import RECALL_GRID, Trial, Unit, certify, try_precision, try_recall

LEVELS = np.array((0.97, 0.92, 0.85, 0.75, 0.65, 0.55, 0.3))
"""Stated probabilities of findings."""
RIGHT = ((0.97,) * 7, (0.97, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6), (0.94, 0.9, *(0.86,) * 5), (0.88,) * 7)
"""Precision of findings by code and stated probability."""
RECALL = (
    (1.0, 1.0, 1.0, 1.0, 0.99, 0.98, 0.97),
    (0.99, 0.97, 0.95, 0.93, 0.89, 0.8, 0.7),
    (0.95, 0.93, 0.91, 0.89, 0.86, 0.8, 0.6),
    (0.88, 0.88, 0.87, 0.86, 0.8, 0.7, 0.5),
)
"""Recall by code at each threshold of `RECALL_GRID`."""
Kind = Literal["precision", "recall"]


@Parameter(name="*")
@dataclass(frozen=True)
class SimulationConfig:
    """Options of the simulation."""

    resamples: int = 1000
    dialogues: int = 150
    """Labelled dialogues of a log that have units of a code."""
    shared: float = 0.8
    """Share of the units whose outcome is common to their dialogue."""
    tied: float = 0.0
    """Mean number of additional units in the worst fifth of the dialogues."""
    target: float = 0.9
    confidence: float = 0.95
    population: int = 20_000
    """Dialogues by which the true shares are computed."""
    seed: int = 0


def draw(kind: Kind, config: SimulationConfig, code: int, n: int, rng: np.random.Generator) -> list[Unit]:
    """Samples units of `n` dialogues: findings with a stated probability, or errors with that of the scan."""
    luck = rng.random(n)
    of = np.repeat(np.arange(n), 1 + rng.poisson(3.0 + config.tied * (luck > 0.8)))
    own = np.where(rng.random(len(of)) < config.shared, luck[of], rng.random(len(of)))
    if kind == "precision":
        level = rng.integers(0, len(LEVELS), len(of))
        is_hit = own < np.array(RIGHT[code])[level]
        stated = LEVELS[level]
    else:
        n_passed = (own[:, None] < np.array(RECALL[code])).sum(axis=1)
        stated, is_hit = np.array((0.0, *RECALL_GRID[:-1]))[n_passed], np.ones(len(of), bool)
    columns = zip(of.tolist(), stated.tolist(), is_hit.tolist(), strict=True)
    return [Unit(str(dialogue), turn, p, hit) for turn, (dialogue, p, hit) in enumerate(columns)]


def simulate(kind: Kind, config: SimulationConfig) -> dict[str, float]:
    """Returns the shares of broken logs and the thresholds a log, of the contract and of the baseline;
    `_by_unit` with the true share of all units, not the mean over dialogues."""
    rng = np.random.default_rng(config.seed)

    def trials(units: Sequence[Unit]) -> list[Trial]:
        if kind == "recall":
            return try_recall(units, RECALL_GRID[:-1])
        return try_precision(units, [unit.probability for unit in units])

    def naive(units: Sequence[Unit], tried: Sequence[Trial]) -> float | None:
        last = None
        for trial in tried:
            above = [unit for unit in units if unit.probability >= trial.threshold]
            n = len(units if kind == "recall" else above)
            hits = len(above) if kind == "recall" else sum(unit.is_hit for unit in above)
            if n and 1 - clopper_pearson_upper(n - hits, n, config.confidence) >= config.target:
                last = trial.threshold
        return last

    truth = {
        (code, trial.threshold): (_mean_of_dialogues(units, trial.threshold, kind), trial.share)
        for code in range(len(RIGHT))
        for units in [draw(kind, config, code, config.population, rng)]
        for trial in trials(units)
    }
    suffixes = ("", "_by_unit", "_thresholds")
    totals = {f"{method}{suffix}": 0 for method in ("contract", "naive") for suffix in suffixes}
    for _ in range(config.resamples):
        logs = [draw(kind, config, code, config.dialogues, rng) for code in range(len(RIGHT))]
        families = dict(enumerate(map(trials, logs)))
        passed, _ = certify(families, config.target, config.confidence)
        chosen = {
            "contract": [(code, trial.threshold) for code, trial in passed.items()],
            "naive": [
                (code, start)
                for code, units in enumerate(logs)
                if (start := naive(units, families[code])) is not None
            ],
        }
        for method, thresholds in chosen.items():
            totals[method] += any(truth[each][0] < config.target for each in thresholds)
            totals[f"{method}_by_unit"] += any(truth[each][1] < config.target for each in thresholds)
            totals[f"{method}_thresholds"] += len(thresholds)
    return {name: n / config.resamples for name, n in totals.items()}


def _mean_of_dialogues(units: Sequence[Unit], threshold: float, kind: Kind) -> float:
    hits: dict[str, list[bool]] = {}
    for unit in units:
        is_above = unit.probability >= threshold
        if is_above or kind == "recall":
            hits.setdefault(unit.dialogue, []).append(is_above if kind == "recall" else unit.is_hit)
    return float(np.mean([np.mean(each) for each in hits.values()]))


def main(config: SimulationConfig | None = None) -> None:
    """Print the figures for precision and recall."""
    for kind in get_args(Kind):
        print(kind, simulate(kind, config or SimulationConfig()))


if __name__ == "__main__":
    App(default_command=main)()
