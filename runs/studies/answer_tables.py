"""Simulated tables of answers with known truth, for studies and tests of aggregation and of raters.

No figure from here is a claim about people. `simulate_crowd` has honest workers with uniform errors over the
other labels, spammers who answer at random, and colluders who share an answer. `simulate_anomalous_crowd` is
for the anomaly flags: items differ in difficulty, and honest workers often give the same wrong label to hard
ones, so that agreement on wrong answers alone does not prove collusion; it has spammers of three kinds,
groups that share an answer sheet each, and seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats

SMALL = 4_000_000
Kind = Literal["honest", "spammer", "colluder"]


@dataclass(frozen=True)
class CrowdPlan:
    """Parameters of `simulate_crowd`: skills of honest workers are Beta distributed around `skill`;
    `spammers` and `colluders` are shares of the workers."""

    n_tasks: int = 1000
    n_workers: int = 50
    n_labels: int = 2
    per_task: int = 5
    skill: float = 0.8
    spread: float = 15.0
    spammers: float = 0.0
    colluders: float = 0.0
    first_label: float | None = None
    """Share of tasks whose truth is the first label; None for equal shares of all labels."""
    seed: int = 0


@dataclass(frozen=True)
class SimulatedCrowd:
    """The answers, the truth, shape (tasks,), each worker's skill and kind, shape (workers,)."""

    answers: Answers
    truth: NDArray[np.int64]
    skills: Floats
    kinds: tuple[Kind, ...]


def simulate_crowd(plan: CrowdPlan) -> SimulatedCrowd:
    """Simulates a crowd, the same for the same seed."""
    random = np.random.default_rng(plan.seed)
    truth = _truth(plan, random)
    n_spammers, n_colluders = (round(share * plan.n_workers) for share in (plan.spammers, plan.colluders))
    spam: list[Kind] = ["spammer"] * n_spammers
    collusion: list[Kind] = ["colluder"] * n_colluders
    honest: list[Kind] = ["honest"] * (plan.n_workers - n_spammers - n_colluders)
    kinds = spam + collusion + honest
    skills = random.beta(plan.skill * plan.spread, (1 - plan.skill) * plan.spread, plan.n_workers)
    skills[:n_spammers] = 1.0 / plan.n_labels
    skills[n_spammers : n_spammers + n_colluders] = 1.0 / plan.n_labels
    task, worker = (
        np.repeat(np.arange(plan.n_tasks), plan.per_task),
        _sample_workers(plan, random).reshape(-1),
    )
    right = random.random(len(task)) < skills[worker]
    other = (truth[task] + random.integers(1, max(2, plan.n_labels), len(task))) % plan.n_labels
    label = np.where(right, truth[task], other)
    agreed = random.integers(0, plan.n_labels, plan.n_tasks)
    colluding = np.array([kind == "colluder" for kind in kinds])[worker]
    label = np.where(colluding, agreed[task], label)
    answers = Answers(
        task.astype(np.int32),
        worker.astype(np.int32),
        label.astype(np.int32),
        tuple(f"t{n}" for n in range(plan.n_tasks)),
        tuple(f"w{n}" for n in range(plan.n_workers)),
        tuple(f"l{n}" for n in range(plan.n_labels)),
    )
    return SimulatedCrowd(answers, truth, skills, tuple(kinds))


def _sample_workers(plan: CrowdPlan, random: np.random.Generator) -> NDArray[np.int64]:
    """Samples distinct workers for each task, shape (tasks, per_task); in large crowds by random steps around
    the circle of workers, without a table of tasks and workers."""
    if plan.n_tasks * plan.n_workers <= SMALL:
        order = np.argsort(random.random((plan.n_tasks, plan.n_workers)), axis=1)
        return order[:, : plan.per_task]
    step = plan.n_workers // plan.per_task
    steps = random.integers(1, step + 1, (plan.n_tasks, plan.per_task))
    steps[:, 0] = random.integers(0, plan.n_workers, plan.n_tasks)
    return np.asarray(np.cumsum(steps, axis=1) % plan.n_workers, np.int64)


def from_rows(rows: Sequence[tuple[str, str, str]], labels: Sequence[str] | None = None) -> Answers:
    """Builds answers of (task, worker, label) rows: tasks and workers in order of appearance, labels sorted
    unless they are passed."""
    task_names, worker_names = (tuple(dict.fromkeys(row[place] for row in rows)) for place in (0, 1))
    label_names = tuple(sorted({row[2] for row in rows}) if labels is None else labels)
    columns = [
        np.array([index[row[place]] for row in rows], np.int32)
        for place, names in enumerate((task_names, worker_names, label_names))
        for index in [{name: number for number, name in enumerate(names)}]
    ]
    return Answers(*columns, task_names, worker_names, label_names)


def _truth(plan: CrowdPlan | AnomalousCrowdPlan, random: np.random.Generator) -> NDArray[np.int64]:
    if plan.first_label is None:
        return random.integers(0, plan.n_labels, plan.n_tasks)
    rest = (1.0 - plan.first_label) / max(1, plan.n_labels - 1)
    return random.choice(plan.n_labels, plan.n_tasks, p=[plan.first_label] + [rest] * (plan.n_labels - 1))


Spam = Literal["random", "one answer", "like the crowd"]
DECOY = 0.8
"""Share of an item's wrong answers with its decoy label."""


@dataclass(frozen=True)
class AnomalousCrowdPlan:
    """Parameters of `simulate_anomalous_crowd`. `spammers` and `colluders` are shares of the workers;
    colluders form `groups` groups with a sheet each, whose answers are right with probability `sheet_skill`
    (None: at random) and used in the share `follows` of theirs. `difficulty` is the spread of items'
    log-odds."""

    n_tasks: int = 2000
    n_workers: int = 50
    n_labels: int = 3
    per_task: int = 5
    skill: float = 0.8
    spread: float = 15.0
    difficulty: float = 1.0
    spammers: float = 0.0
    spam: Spam = "random"
    colluders: float = 0.0
    groups: int = 1
    sheet_skill: float | None = None
    follows: float = 0.95
    first_label: float | None = None
    """Share of tasks whose truth is the first label; None for equal shares of all labels."""
    second_school: float = 0.0
    """Share of the workers who answer the `disputed` share of the tasks with the label after theirs."""
    disputed: float = 0.3
    seed: int = 0


@dataclass(frozen=True)
class AnomalousCrowd:
    """The answers with seconds; the truth and `sizes` (characters), shape (tasks,); and the kinds of workers,
    shape (workers,): `group` is -1 except for colluders; workers of the second `school` are honest."""

    answers: Answers
    truth: NDArray[np.int64]
    sizes: Floats
    spammer: NDArray[np.bool_]
    group: NDArray[np.int64]
    school: NDArray[np.bool_]

    @property
    def honest(self) -> NDArray[np.bool_]:
        """Workers who are neither spammers nor colluders, shape (workers,)."""
        return ~self.spammer & (self.group < 0)


def simulate_anomalous_crowd(plan: AnomalousCrowdPlan) -> AnomalousCrowd:
    """Simulates a crowd, the same for the same seed."""
    random = np.random.default_rng(plan.seed)
    truth = _truth(plan, random)
    sizes = np.exp(random.normal(6.0, 0.7, plan.n_tasks))
    place = np.arange(plan.n_workers)
    n_spammers, n_colluders = (round(share * plan.n_workers) for share in (plan.spammers, plan.colluders))
    spammer = place < n_spammers
    colluder = ~spammer & (place < n_spammers + n_colluders)
    group = np.where(colluder, place % max(1, plan.groups), -1)
    task, worker = np.repeat(np.arange(plan.n_tasks), plan.per_task), _sample_workers_by_run(plan, random)
    label = _honest(plan, random, truth, task, worker)
    school = ~spammer & ~colluder & (place >= plan.n_workers - round(plan.second_school * plan.n_workers))
    if plan.second_school:
        otherwise = school[worker] & (random.random(plan.n_tasks) < plan.disputed)[task]
        label = np.where(otherwise, (label + 1) % plan.n_labels, label)
    label = np.where(spammer[worker], _spam(plan, random, truth, worker), label)
    sheets = _sheets(plan, random, truth)
    follows = colluder[worker] & (random.random(len(task)) < plan.follows)
    label = np.where(follows, sheets[group[worker], task], label)
    answers = Answers(
        task.astype(np.int32),
        worker.astype(np.int32),
        label.astype(np.int32),
        tuple(f"t{n}" for n in range(plan.n_tasks)),
        tuple(f"w{n}" for n in range(plan.n_workers)),
        tuple(f"l{n}" for n in range(plan.n_labels)),
        seconds=_seconds(plan, random, sizes[task], worker, spammer),
    )
    return AnomalousCrowd(answers, truth, sizes, spammer, group, school)


def _sample_workers_by_run(plan: AnomalousCrowdPlan, random: np.random.Generator) -> NDArray[np.int64]:
    """Samples distinct workers for each task, flattened, by random steps around the circle of workers,
    shuffled for each of 50 runs of tasks so that all pairs of workers occur."""
    steps = random.integers(1, plan.n_workers // plan.per_task + 1, (plan.n_tasks, plan.per_task))
    steps[:, 0] = random.integers(0, plan.n_workers, plan.n_tasks)
    seats = np.cumsum(steps, axis=1) % plan.n_workers
    for run in np.array_split(np.arange(plan.n_tasks), 50):
        seats[run] = random.permutation(plan.n_workers)[seats[run]]
    return np.asarray(seats.reshape(-1), np.int64)


def _honest(
    plan: AnomalousCrowdPlan,
    random: np.random.Generator,
    truth: NDArray[np.int64],
    task: NDArray[np.int64],
    worker: NDArray[np.int64],
) -> NDArray[np.int64]:
    skills = random.beta(plan.skill * plan.spread, (1 - plan.skill) * plan.spread, plan.n_workers)
    hard = random.normal(0.0, plan.difficulty, plan.n_tasks)
    right = random.random(len(task)) < 1 / (1 + np.exp(hard[task]) * (1 / skills - 1)[worker])
    others = max(2, plan.n_labels)
    decoy = (truth + random.integers(1, others, plan.n_tasks)) % plan.n_labels
    stray = (truth[task] + random.integers(1, others, len(task))) % plan.n_labels
    wrong = np.where(random.random(len(task)) < DECOY, decoy[task], stray)
    return np.where(right, truth[task], wrong)


def _spam(
    plan: AnomalousCrowdPlan,
    random: np.random.Generator,
    truth: NDArray[np.int64],
    worker: NDArray[np.int64],
) -> NDArray[np.int64]:
    if plan.spam == "one answer":
        return random.integers(0, plan.n_labels, plan.n_workers)[worker]
    if plan.spam == "like the crowd":
        return random.choice(truth, len(worker))
    return random.integers(0, plan.n_labels, len(worker))


def _sheets(
    plan: AnomalousCrowdPlan, random: np.random.Generator, truth: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Samples the answers of each group's sheet, shape (groups, tasks)."""
    shape = (max(1, plan.groups), plan.n_tasks)
    skill = 1.0 / plan.n_labels if plan.sheet_skill is None else plan.sheet_skill
    other = (truth + random.integers(1, max(2, plan.n_labels), shape)) % plan.n_labels
    return np.where(random.random(shape) < skill, truth, other)


def _seconds(
    plan: AnomalousCrowdPlan,
    random: np.random.Generator,
    sizes: Floats,
    worker: NDArray[np.int64],
    spammer: NDArray[np.bool_],
) -> Floats:
    """Samples seconds: those of honest workers grow with the text, those of spammers do not."""
    log_speed = random.normal(0.0, 0.35, plan.n_workers)[worker]
    honest = 0.6 * np.log(sizes) + log_speed + random.normal(0.0, 0.5, len(worker))
    clicks = random.normal(0.3, 0.5, len(worker))
    return np.exp(np.where(spammer[worker], clicks, honest))


def auroc(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """Returns the probability that a positive has a higher score than a negative, ties counting half."""
    from scipy.stats import rankdata

    n = int(positive.sum())
    if n in (0, len(positive)):
        return float("nan")
    ranks = rankdata(scores)[positive].sum() - n * (n + 1) / 2
    return float(ranks / (n * (len(positive) - n)))
