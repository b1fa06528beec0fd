"""Simulates the coverage of the intervals of `dialint eval rates`, on made-up logs.

Run: ``python runs/studies/rates_coverage.py --full`` (without it a tenth of the logs). Dialogues have one or
more turns and, if bad, errors in several of them. dialint's verdict is a finding, a suggestion or neither;
people read some dialogues. Prints, for each plan, coverage and width of each 95 % interval: `post`, that of
dialint; `readings`, by readings alone; `bootstrap`, the bootstrap-t of the same estimate; `by turn`, of the
share of turns, as if those of one dialogue were independent. Then false discoveries among agents, by `audit`,
that of dialint, and by `findings`, whose error rate differs between agents. Writes nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from cyclopts import App

from dialint.detector.statistics import Rate, compare_rates, wilson_interval
from dialint.eval.audits import Units

ROUNDS = 300


@dataclass(frozen=True)
class LogPlan:
    """Numbers of dialogues and readings of a log; the shares of findings, suggestions and neither, and the
    error rate of each."""

    name: str
    sizes: tuple[float, float, float]
    errors: tuple[float, float, float]
    n: int = 2000
    n_read: int = 150

    @property
    def rate(self) -> float:
        return float(np.dot(self.sizes, self.errors))


PLANS = (
    LogPlan("frequent", (0.17, 0.10, 0.73), (0.8, 0.25, 0.06)),
    LogPlan("few read", (0.17, 0.10, 0.73), (0.8, 0.25, 0.06), n_read=60),
    LogPlan("useless verdicts", (0.2, 0.1, 0.7), (0.15, 0.15, 0.15)),
    LogPlan("rare", (0.03, 0.05, 0.92), (0.7, 0.1, 0.01)),
    LogPlan("small log", (0.3, 0.2, 0.5), (0.7, 0.3, 0.1), n=150, n_read=60),
)
AGENTS = ((0.03, 0.1, 0), (0.03, 0.3, 0), (0.1, 0.1, 0), (0.1, 0.3, 0), (0.3, 0.3, 0), (0.1, 0.3, 3))
"""(rate, share of dialogues that are read, number of bad agents)."""
TURNS_WRONG = 0.4
"""Share of a bad dialogue's turns with an error."""


def coverage(plan: LogPlan, n_logs: int, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Returns the coverage and the mean width of the interval of each method."""
    intervals: dict[str, list[tuple[float, float]]] = {}
    turn_rate = plan.rate * TURNS_WRONG
    for _ in range(n_logs):
        strata = rng.choice(3, plan.n, p=plan.sizes)
        bad = rng.random(plan.n) < np.array(plan.errors)[strata]
        read = np.zeros(plan.n, bool)
        read[rng.choice(plan.n, plan.n_read, replace=False)] = True
        turns = 1 + rng.poisson(8, plan.n_read)
        wrong = rng.binomial(turns, TURNS_WRONG) * bad[read]
        ends = {
            "post": make_units(strata, bad, read).rate().interval,
            "readings": wilson_interval(int(bad[read].sum()), plan.n_read),
            "bootstrap": bootstrap_t(strata, bad, read, rng),
            "by turn": wilson_interval(int(wrong.sum()), int(turns.sum())),
        }
        for name, interval in ends.items():
            intervals.setdefault(name, []).append(interval)
    truth = dict.fromkeys(intervals, plan.rate) | {"by turn": turn_rate}
    return {
        name: (
            float(np.mean([low <= truth[name] <= high for low, high in of])),
            float(np.mean([high - low for low, high in of])),
        )
        for name, of in intervals.items()
    }


def make_units(strata: np.ndarray, bad: np.ndarray, read: np.ndarray) -> Units:
    """Returns the units of dialogues by verdict (0 to 2), and whether each is bad, and read."""
    sizes = np.eye(3)[strata]
    return Units(sizes, sizes * read[:, None], sizes * (read & bad)[:, None], np.ones(len(sizes)))


def bootstrap_t(
    strata: np.ndarray, bad: np.ndarray, read: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """Returns the bootstrap-t interval of the post-stratified rate, by resampling the counts of its cells."""
    n_all = np.bincount(strata, minlength=3)
    n = np.bincount(strata[read], minlength=3)
    k = np.bincount(strata[read & bad], minlength=3)
    draws = rng.multinomial(n.sum(), n / n.sum(), ROUNDS)
    sizes = rng.multinomial(n_all.sum(), n_all / n_all.sum(), ROUNDS)
    values, errors = _estimate(sizes, draws, rng.binomial(draws, k / np.maximum(n, 1)))
    (value,), (error,) = _estimate(n_all[None], n[None], k[None])
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (values - value) / errors
    t = t[np.isfinite(t)]
    low, high = np.percentile(t, (2.5, 97.5)) if len(t) else (0.0, 0.0)
    return value - high * error, value - low * error


def _estimate(sizes: np.ndarray, n: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    weights, shares = sizes / sizes.sum(axis=1, keepdims=True), k / np.maximum(n, 1)
    value = (weights * shares).sum(axis=1)
    within = (weights**2 * shares * (1 - shares) / np.maximum(n, 1)).sum(axis=1)
    between = ((weights * shares**2).sum(axis=1) - value**2) / sizes.sum(axis=1)
    return value, np.sqrt(within + np.maximum(between, 0.0))


def false_discoveries(
    rate: float, share_read: float, n_logs: int, rng: np.random.Generator, n_bad: int = 0, n_agents: int = 20
) -> dict[str, float]:
    """Returns the false discovery rates among agents of equal `rate`, except `n_bad` with three times the
    rate, by the audit and by findings alone, which are wrong in 0 to 20 % of an agent's clean dialogues; and,
    as `power`, the share of bad agents that the audit detects."""
    results: dict[str, list[float]] = {"audit": [], "findings": [], "power": []}
    rates = np.where(np.arange(n_agents) < n_bad, 3 * rate, rate)
    for _ in range(n_logs):
        n = rng.integers(100, 300, n_agents)
        agent = np.repeat(np.arange(n_agents), n)
        bad = rng.random(len(agent)) < rates[agent]
        flagged = rng.random(len(agent)) < np.where(bad, 0.7, rng.uniform(0.0, 0.2, n_agents)[agent])
        units = make_units(np.where(flagged, 0, 2), bad, rng.random(len(agent)) < share_read)
        audit = [(units.rate(agent == each), units.rate(agent != each)) for each in range(n_agents)]
        k = np.bincount(agent, flagged)
        findings = [
            (Rate.of(k[each], n[each]), Rate.of(k.sum() - k[each], n.sum() - n[each]))
            for each in range(n_agents)
        ]
        others = ((rates * n).sum() - rates * n) / (n.sum() - n)
        side = np.sign(np.round(rates - others, 9))
        for name, pairs in (("audit", audit), ("findings", findings)):
            sides = np.array([{"more": 1, "fewer": -1}.get(word, 0) for word in compare_rates(pairs)])
            results[name].append(float(((sides != 0) & (sides != side)).sum() / max(1, (sides != 0).sum())))
            if name == "audit" and n_bad:
                results["power"].append(float((sides[:n_bad] == 1).mean()))
    return {name: float(np.mean(values)) for name, values in results.items() if values}


def main(*, full: bool = False, seed: int = 0) -> None:
    """Print coverage and false discoveries; `full` simulates ten times as many logs."""
    rng, many = np.random.default_rng(seed), 10 if full else 1
    for plan in PLANS:
        figures = coverage(plan, 200 * many, rng)
        cells = ", ".join(
            f"{name} {cover:.3f} (width {width:.3f})" for name, (cover, width) in figures.items()
        )
        print(f"{plan.name}, {plan.rate:.3f}, {plan.n_read} of {plan.n}: {cells}", flush=True)
    for rate, share_read, n_bad in AGENTS:
        figures_of = false_discoveries(rate, share_read, 40 * many, rng, n_bad)
        cells = ", ".join(f"{name} {value:.3f}" for name, value in figures_of.items())
        print(f"20 agents, {rate}, {share_read} read, {n_bad} bad: {cells}", flush=True)


if __name__ == "__main__":
    app = App(default_command=main)
    sys.exit(app())
