"""A model beside people on few tasks: does it help, and what does a bad one cost?

Run: ``python runs/studies/few_tasks_study.py``. People and models are made up: 20 people who find an
error with .8 and see one where there is none with .05 (each differs a little), and a model whose score of a
task is normal, a distance apart where there is an error. The model tells the calibrated probability of its
score; or is twice as sure of it in log odds; or finds errors where it should find few; or tells the
probability of another task. Writes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from cyclopts import App, Parameter
from numpy.typing import NDArray

from dialint.detector.artifacts import to_json_bytes
from dialint.labeling.aggregation.answers import Answers, Floats, from_rows
from dialint.labeling.aggregation.joint import joint_posterior

N_PEOPLE, SKILLS, VARIES = 20, (0.8, 0.95), (0.08, 0.03)
"""People; how often they are right where there is an error and where there is none; standard deviations."""
APART, RATE = 2.5, 0.1
"""Distance of the model's scores in standard deviations, and share of the tasks with an error."""
MODELS: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "calibrated": lambda odds, _: odds,
    "twice as sure": lambda odds, _: 2.0 * odds,
    "finds too much": lambda odds, _: odds + 2.0,
    "says nothing": lambda odds, random: random.permutation(odds),
}


@Parameter(name="*")
@dataclass(frozen=True)
class FewStudyConfig:
    """What is made up, and how often."""

    tasks: tuple[int, ...] = (15, 30, 60, 200, 1000)
    """Tasks of a crowd."""
    answers: int = 3
    """Answers to each task."""
    draws: int = 20
    """Crowds of each size."""
    first_seed: int = 1000
    """Seed of the first; 0 to 19 were looked at while the method was made."""


def study(config: FewStudyConfig = FewStudyConfig()) -> None:
    """Show the share of tasks that come out right, and the log loss, with each model and without."""
    figures = {}
    for n in config.tasks:
        seeds = range(config.first_seed, config.first_seed + config.draws)
        drawn = [one_draw(n, config.answers, seed) for seed in seeds]
        figures[str(n)] = {name: _summary([one[name] for one in drawn]) for name in drawn[0]}
    sys.stdout.write(
        to_json_bytes({"answers": config.answers, "draws": config.draws, "tasks": figures}).decode()
    )


def one_draw(n: int, per_task: int, seed: int) -> dict[str, tuple[float, float]]:
    """Each way's share of tasks that come out right, and its log loss in nats."""
    random = np.random.default_rng(seed)
    truth = random.random(n) < RATE
    odds = np.log(RATE / (1 - RATE)) + APART * (random.normal(0, 1, n) + APART * truth) - APART**2 / 2
    answers = _answers(truth, per_task, random)
    votes = answers.votes()
    ways = {"majority": votes[:, 1] / per_task, "people": joint_posterior(answers).probabilities[:, 1]}
    for name, told in MODELS.items():
        said = 1 / (1 + np.exp(-told(odds, random)))
        ways[name] = joint_posterior(answers, np.column_stack([1 - said, said])).probabilities[:, 1]
    return {name: _judged(found, truth) for name, found in ways.items()}


def _answers(truth: NDArray[np.bool_], per_task: int, random: np.random.Generator) -> Answers:
    """Of people drawn for each task, none twice."""
    own = [np.clip(random.normal(*each, N_PEOPLE), 0.5, 0.99) for each in zip(SKILLS, VARIES, strict=True)]
    rows = []
    for task, present in enumerate(truth):
        for who in random.choice(N_PEOPLE, per_task, replace=False):
            right = random.random() < own[0 if present else 1][who]
            rows.append((f"t{task}", f"w{who}", "yes" if present == right else "no"))
    return from_rows(rows, labels=("no", "yes"))


def _judged(found: Floats, truth: NDArray[np.bool_]) -> tuple[float, float]:
    told = np.clip(np.where(truth, found, 1 - found), 1e-3, None)
    return float(((found > 0.5) == truth).mean()), float(-np.log(told).mean())


def _summary(values: list[tuple[float, float]]) -> dict[str, float]:
    right, loss = np.array(values).T
    spread = right.std(ddof=1) / len(right) ** 0.5 if len(right) > 1 else 0.0
    named = {"right": right.mean(), "standard_error": spread, "log_loss": loss.mean()}
    return {name: round(float(value), 4) for name, value in named.items()}


if __name__ == "__main__":
    app = App(help="See what a model does beside people where tasks are few.")
    app.default(study)
    app()
