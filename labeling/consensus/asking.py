"""Dynamic overlap in the store: tasks that are sure enough stop, the others ask for one answer more.

A task is as sure as its least sure question. A project's `most` bounds what is asked; what is not sure
even then is for experts (`adjudication`). Runs over a project at a time, as often as one likes: between
two runs tasks gather the answers that they asked for before. `following` is the run that does not end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sqlalchemy import select

from detector.errors import ConfigError
from detector.taxonomy import Taxonomy
from labeling.consensus.belief import Belief, believed
from labeling.store.database.schema import tasks
from labeling.store.database.transactions import Store, Transaction, inside, writing
from labeling.store.projects import existing
from labeling.store.queue.settling import locked
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
    follow: bool = False
    """Go on: decide on each task as soon as it has a new answer, until SIGTERM or Ctrl-C."""
    every_s: float = 2.0
    """With --follow: seconds between two looks for new answers."""

    def __post_init__(self) -> None:
        if self.sure != self.sure:
            raise ConfigError("E_OPTION", "--sure: expected a number")
        if not 0.0 < self.every_s <= 3600.0:
            raise ConfigError("E_OPTION", "--every-s: expected more than 0 and at most 3600 seconds")


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
    rule = overlap_rule(store, actor, config)
    sureness = confidences(believed(store, actor, config.project, taxonomy))
    return decide(
        store, actor, rule, store.read(partial(tasks_with_answers, project=config.project)), sureness
    )


def overlap_rule(store: Store, actor: str, config: AskConfig) -> OverlapRule:
    """When asking ends in a project.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
        ConfigError: it is not for labels, or a rule that cannot be.
    """
    project = store.read(partial(_project, actor=actor, name=config.project))
    return OverlapRule(config.minimum, max(project.most, config.minimum), config.sure)


def decide(
    store: Store,
    actor: str,
    rule: OverlapRule,
    found: Iterable[Asked],
    sureness: Mapping[tuple[str, int | None], float],
    step: Callable[[], None] = lambda: None,
) -> Counter[Decision]:
    """Make tasks want what they need; how many of each decision. `step` is called before each task and may
    raise to end it.

    A task that was answered, or of which something else was wanted, since it was `found` is left as it is:
    who did that knew more.
    """
    told: Counter[Decision] = Counter()
    for task in found:
        step()
        decision = rule.decide(_confidence(task, sureness), task.answered)
        told[decision] += 1
        wanted = task.answered + (decision is Decision.ASK)
        if wanted != task.wanted and not (decision is Decision.ASK and task.leased):
            _want(store, actor, task, wanted)
    return told


@writing(repeatable=True)
def _want(transaction: Transaction, actor: str, task: Asked, n: int) -> None:
    authorised(transaction, actor, "plan")
    now = locked(transaction, task.id)
    if (now.wanted, now.answered) == (task.wanted, task.answered):
        inside(want)(transaction, actor, task.id, n)


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


def tasks_with_answers(
    transaction: Transaction, project: str, dialogues: Collection[str] | None = None
) -> list[Asked]:
    """The tasks of a project, on all or some dialogues, that have answers and were not withdrawn; rights
    are the caller's care."""
    columns = [getattr(tasks.c, name) for name in Asked._fields]
    rows = select(*columns).where(tasks.c.project == project, tasks.c.pool == "main", tasks.c.answered > 0)
    if dialogues is not None:
        rows = rows.where(tasks.c.dialogue.in_(dialogues))
    return [
        Asked(*tuple(row)) for row in transaction.run(rows.where(tasks.c.wanted > 0).order_by(tasks.c.id))
    ]
