"""Dynamic overlap in the store: tasks that are sure enough stop, the others ask for one answer more.

A task is as sure as its least sure question. A project's `most` bounds what is asked; what is not sure
even then is for experts (`adjudication`). Runs over a project at a time, as often as one likes: between
two runs tasks gather the answers that they asked for before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sqlalchemy import select

from detector.errors import ConfigError
from detector.taxonomy import Taxonomy
from labeling.consensus.belief import Belief, believed
from labeling.store.database.schema import tasks
from labeling.store.database.transactions import Store, Transaction
from labeling.store.projects import existing
from labeling.store.records import Project
from labeling.store.rights import authorised
from labeling.store.tasks import want
from labeling.truth.overlap import Decision, OverlapRule


@dataclass(frozen=True)
class AskConfig:
    """When a task has enough answers."""

    project: str
    """Project whose tasks are looked at."""
    sure: float = 0.95
    """Probability of the likelier answer, of every question of a task, at which asking ends."""
    minimum: int = 2
    """Fewest answers before it may end."""


class Asked(NamedTuple):
    """A task: what it wants, and how many have answered or are at it."""

    id: int
    dialogue: str
    turn: int | None
    wanted: int
    answered: int
    leased: int


def ask(store: Store, actor: str, config: AskConfig, taxonomy: Taxonomy) -> Counter[Decision]:
    """Make every task with answers want what it needs; how many of each decision.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
        ConfigError: nobody has answered anything, or a rule that cannot be.
    """
    project = store.read(partial(_project, actor=actor, name=config.project))
    rule = OverlapRule(config.minimum, max(project.most, config.minimum), config.sure)
    sureness = confidences(believed(store, actor, config.project, taxonomy))
    told: Counter[Decision] = Counter()
    for task in store.read(partial(_answered, project=config.project)):
        decision = rule.decide(_confidence(task, sureness), task.answered)
        told[decision] += 1
        wanted = task.answered + (decision is Decision.ASK)
        if wanted != task.wanted and not (decision is Decision.ASK and task.leased):
            want(store, actor, task.id, wanted)
    return told


def _project(transaction: Transaction, actor: str, name: str) -> Project:
    authorised(transaction, actor, "plan")
    project = existing(transaction, name)
    if project.purpose != "label":
        raise ConfigError("E_OPTION", f"{name}: only tasks of a project for labels ask by how sure they are")
    return project


def confidences(found: Iterable[Belief]) -> dict[tuple[str, int | None], float]:
    """The least confidence in each turn of a dialogue and, under turn none, in all of it."""
    least: dict[tuple[str, int | None], float] = {}
    for one in found:
        for turn in (one.turn, None):
            key = (one.dialogue, turn)
            least[key] = min(least.get(key, 1.0), one.confidence)
    return least


def _confidence(task: Asked, sureness: Mapping[tuple[str, int | None], float]) -> float:
    """Of a task nobody's answer counts for (a ban), nothing is sure."""
    return sureness.get((task.dialogue, task.turn), 0.0)


def _answered(transaction: Transaction, project: str) -> list[Asked]:
    columns = [getattr(tasks.c, name) for name in Asked._fields]
    rows = select(*columns).where(tasks.c.project == project, tasks.c.pool == "main", tasks.c.answered > 0)
    return [
        Asked(*tuple(row)) for row in transaction.run(rows.where(tasks.c.wanted > 0).order_by(tasks.c.id))
    ]
