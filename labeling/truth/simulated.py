"""Crowds made up with a known truth: honest people, spammers who do not look, colluders who agree first.

For tests and for `study`; no figure from here is a claim about people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Answers, Floats

SMALL = 4_000_000
Kind = Literal["honest", "spammer", "colluder"]


@dataclass(frozen=True)
class CrowdPlan:
    """What crowd is made: skills of the honest are Beta distributed around `skill`; `spammers` and
    `colluders` are shares of the workers; errors fall on all other labels alike."""

    n_tasks: int = 1000
    n_workers: int = 50
    n_labels: int = 2
    per_task: int = 5
    skill: float = 0.8
    spread: float = 15.0
    spammers: float = 0.0
    colluders: float = 0.0
    first_label: float | None = None
    """Share of tasks whose truth is the first label; even shares if none is given."""
    seed: int = 0


@dataclass(frozen=True)
class Simulated:
    """The answers, the truth, shape (tasks,), each worker's skill and kind, shape (workers,)."""

    answers: Answers
    truth: NDArray[np.int64]
    skills: Floats
    kinds: tuple[Kind, ...]


def simulated(plan: CrowdPlan) -> Simulated:
    """A crowd after `plan`, the same for the same seed."""
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
    task, worker = np.repeat(np.arange(plan.n_tasks), plan.per_task), _people(plan, random).reshape(-1)
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
    return Simulated(answers, truth, skills, tuple(kinds))


def _people(plan: CrowdPlan, random: np.random.Generator) -> NDArray[np.int64]:
    """Workers of each task, none twice, shape (tasks, per_task); in large crowds by random steps around
    the circle of workers, which costs no table of tasks and workers."""
    if plan.n_tasks * plan.n_workers <= SMALL:
        order = np.argsort(random.random((plan.n_tasks, plan.n_workers)), axis=1)
        return order[:, : plan.per_task]
    step = plan.n_workers // plan.per_task
    steps = random.integers(1, step + 1, (plan.n_tasks, plan.per_task))
    steps[:, 0] = random.integers(0, plan.n_workers, plan.n_tasks)
    return np.asarray(np.cumsum(steps, axis=1) % plan.n_workers, np.int64)


def _truth(plan: CrowdPlan, random: np.random.Generator) -> NDArray[np.int64]:
    if plan.first_label is None:
        return random.integers(0, plan.n_labels, plan.n_tasks)
    rest = (1.0 - plan.first_label) / max(1, plan.n_labels - 1)
    return random.choice(plan.n_labels, plan.n_tasks, p=[plan.first_label] + [rest] * (plan.n_labels - 1))
