"""What spammers cost, and who is found: made-up crowds of known truth, several draws with their spread.

Run: ``python runs/studies/anomaly_study.py`` (all, 20 draws) or with ``--draws 3 --tasks 500``. Prints,
and with ``--out`` writes as JSON, the mean and the least and greatest over the draws. Two comparisons for
the cost of spam: the same honest answers without the spammers' (what a detector can take away), and a crowd
in which honest people sat in the spammers' places (what it cannot: the answers are missing).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
from aggregation_study import auroc
from answer_tables import (
    AnomalousCrowd,
    AnomalousCrowdPlan,
    Spam,
    simulate_anomalous_crowd,
)
from cyclopts import App, Parameter
from numpy.typing import NDArray

from dialint.detector.artifacts import package_versions, write_json
from dialint.detector.errors import ConfigError
from dialint.labeling.aggregation.joint import joint_posterior
from dialint.labeling.aggregation.methods import majority
from dialint.labeling.aggregation.posterior import Posterior
from dialint.labeling.raters.anomalies import CrowdAnomalies, find_anomalies

Draw = dict[str, float]


@Parameter(name="*")
@dataclass(frozen=True)
class StudyConfig:
    """How large, how often, and what."""

    tasks: int = 2000
    """Tasks of a crowd."""
    workers: int = 50
    """People of a crowd; the colluders are looked for among as many."""
    draws: int = 20
    """Crowds of each plan."""
    first_seed: int = 100
    """Seed of the first draw; 0 to 9 were looked at while the methods were made."""
    parts: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ("spam", "collusion")
    """What is measured."""
    answers: int = 0
    """With a number such as 1000000: the time that many answers by 2,000 people take, and nothing else."""
    out: Path | None = None
    """File for the figures as JSON; standard output has them in any case."""

    def __post_init__(self) -> None:
        if self.draws < 1 or not set(self.parts) <= {"spam", "collusion"}:
            raise ConfigError("E_OPTION", "--draws at least 1; --parts: spam, collusion")


def study(config: StudyConfig | None = None) -> None:
    """Measure the watch on made-up crowds."""
    config = config or StudyConfig()
    report: dict[str, Any] = {"config": {"tasks": config.tasks, "workers": config.workers}}
    report["seeds"] = [config.first_seed, config.first_seed + config.draws - 1]
    report["versions"] = package_versions("numpy", "scipy")
    if config.answers:
        report["speed"] = speed(config.answers)
    else:
        report["figures"] = {name: _over(config, draw) for name, draw in _plans(config)}
    sys.stdout.write("\n".join(_lines(report)) + "\n")
    if config.out:
        write_json(config.out, report)


def _lines(report: dict[str, Any]) -> Iterator[str]:
    """The report for people: mean, and least to greatest over the draws."""
    if "speed" in report:
        yield from (f"{name}: {value:.10g}" for name, value in report["speed"].items())
        return
    yield f"{report['config']['tasks']} tasks, {report['config']['workers']} people, seeds {report['seeds']}"
    for plan, figures in report["figures"].items():
        yield plan
        for name, (mean, least, most) in figures.items():
            yield f"    {name:55} {mean:8.3f}  ({least:.3f} to {most:.3f})"


def _plans(config: StudyConfig) -> Iterator[tuple[str, Callable[[int], Draw]]]:
    """Every plan by name, with what one draw of it gives."""
    plan = AnomalousCrowdPlan(n_tasks=config.tasks, n_workers=config.workers)
    two, rare = replace(plan, n_labels=2), replace(plan, n_labels=2, first_label=0.9, skill=0.9)
    if "spam" in config.parts:
        for name, base in (("three labels", plan), ("two labels", two), ("rare", rare)):
            for kind in get_args(Spam):
                yield f"20 % spam ({kind}), {name}", _of(replace(base, spammers=0.2, spam=kind), spam_draw)
    if "collusion" in config.parts:
        for name, base in (("three labels", plan), ("two labels", two), ("rare", rare)):
            guess, good = replace(base, colluders=0.1), replace(base, colluders=0.1, sheet_skill=0.8)
            yield f"10 % collude (guessed sheet), {name}", _of(guess, collusion_draw)
            yield f"10 % collude (good sheet), {name}", _of(good, collusion_draw)
        both = replace(plan, colluders=0.1, spammers=0.2)
        yield "10 % collude, 20 % spam", _of(both, collusion_draw)
        yield "two groups of 5 %", _of(replace(plan, colluders=0.1, groups=2), collusion_draw)
        yield (
            "10 % collude beside a school of 40 %",
            _of(replace(plan, colluders=0.1, second_school=0.4), collusion_draw),
        )
        yield "nobody colludes, hard items", _of(replace(two, difficulty=2.5), collusion_draw)


def _of(plan: AnomalousCrowdPlan, draw: Callable[[AnomalousCrowdPlan], Draw]) -> Callable[[int], Draw]:
    return lambda seed: draw(replace(plan, seed=seed))


def _over(config: StudyConfig, draw: Callable[[int], Draw]) -> dict[str, list[float]]:
    """Mean, least and greatest of each figure over the draws."""
    rows = [draw(config.first_seed + number) for number in range(config.draws)]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return {
        name: [round(float(value), 4) for value in (values.mean(), values.min(), values.max())]
        for name, values in columns.items()
    }


def spam_draw(plan: AnomalousCrowdPlan) -> Draw:
    """Points of accuracy that spammers cost, by both comparisons, and how well they are found. A task
    that only spammers answered counts in neither."""
    crowd = simulate_anomalous_crowd(plan)
    answers = crowd.answers
    honest = answers.where(~crowd.spammer[answers.worker])
    asked = honest.n_labelers > 0
    clean = simulate_anomalous_crowd(replace(plan, spammers=0.0))
    found = find_anomalies({"": answers}, sizes=crowd.sizes)
    flagged = _flagged(found, ("no knowledge", "one answer"))
    by = {"joint": joint_posterior, "majority": majority}
    right = {name: accuracy(method(answers), crowd, asked) for name, method in by.items()}
    most = {
        name: accuracy(method(honest.compact()), crowd, asked, by_task=False) for name, method in by.items()
    }
    put_right = accuracy(joint_posterior(clean.answers), clean, asked)
    return {
        "joint": right["joint"],
        "cost to the same honest answers, points": 100 * (most["joint"] - right["joint"]),
        "cost to honest people in their place, points": 100 * (put_right - right["joint"]),
        "majority's cost to the same honest answers, points": 100 * (most["majority"] - right["majority"]),
        "AUROC of spammers": auroc(found.competence.log_odds, crowd.spammer),
        "spammers flagged": float(flagged[crowd.spammer].mean()),
        "honest flagged": float(flagged[crowd.honest].mean()),
        "spammers too fast": float(_flagged(found, ("too fast",))[crowd.spammer].mean()),
        "honest too fast": float(_flagged(found, ("too fast",))[crowd.honest].mean()),
    }


def collusion_draw(plan: AnomalousCrowdPlan) -> Draw:
    """Who is flagged for copying: colluders, spammers and honest people."""
    crowd = simulate_anomalous_crowd(plan)
    found = find_anomalies({"": crowd.answers}, sizes=crowd.sizes)
    flagged = _flagged(found, ("copying",))
    kinds = {"colluders": crowd.group >= 0, "spammers": crowd.spammer, "honest": crowd.honest}
    draw = {f"{name} flagged": float(flagged[who].mean()) for name, who in kinds.items() if who.any()}
    if crowd.school.any():
        draw["second school called one"] = float(_flagged(found, ("second school",))[crowd.school].mean())
    return draw


def accuracy(
    posterior: Posterior, crowd: AnomalousCrowd, asked: NDArray[np.bool_], by_task: bool = True
) -> float:
    """The share of the tasks `asked`, shape (tasks,), whose winner is the truth; the posterior has a row
    for each task, or without `by_task` for these alone."""
    winners = posterior.winners[asked] if by_task else posterior.winners
    return float((winners == crowd.truth[asked]).mean())


def _flagged(found: CrowdAnomalies, kinds: tuple[str, ...]) -> NDArray[np.bool_]:
    names = {name for flag in found.flags if flag.kind in kinds for name in flag.workers}
    return np.array([worker in names for worker in found.workers])


def speed(n_answers: int) -> Draw:
    """Seconds of the whole watch, and the greatest memory of this process in MB."""
    import resource

    plan = AnomalousCrowdPlan(n_answers // 5, 2000, spammers=0.1, colluders=0.05, groups=5)
    crowd = simulate_anomalous_crowd(plan)
    started, worked = time.perf_counter(), time.process_time()
    found = find_anomalies({"": crowd.answers}, sizes=crowd.sizes)
    seconds, of_one_core = time.perf_counter() - started, time.process_time() - worked
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    flagged = _flagged(found, ("copying",))
    return {
        "answers": float(len(crowd.answers)),
        "seconds": round(seconds, 1),
        "seconds of one core": round(of_one_core, 1),
        "peak memory, MB": round(most),
        "colluders flagged": float(flagged[crowd.group >= 0].mean()),
        "honest flagged": float(flagged[crowd.honest].mean()),
    }


if __name__ == "__main__":
    app = App(help="Measure the watch on made-up crowds.")
    app.default(study)
    app()
