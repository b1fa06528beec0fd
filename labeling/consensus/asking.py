"""Dynamic overlap in the store: tasks that are sure stop, the others ask for one answer more if it pays.

A task is as sure as its least sure question, and one answer more answers all that are open. A project's
`most` bounds what is asked; what is not sure even then, or what no answer is expected to decide, is for
experts (`adjudication`). Runs over a project at a time, as often as one likes: between two runs tasks gather
the answers that they asked for before. `following` is the run that does not end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from sqlalchemy import select

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.consensus.belief import Belief, believed
from dialint.labeling.store.database.schema import tasks
from dialint.labeling.store.database.transactions import Store, Transaction, inside, writing
from dialint.labeling.store.projects import existing
from dialint.labeling.store.queue.settling import locked
from dialint.labeling.store.records import Project
from dialint.labeling.store.rights import authorised
from dialint.labeling.store.tasks import want
from dialint.labeling.truth.overlap import GAIN, Decision, OverlapRule


@dataclass(frozen=True)
class AskConfig:
    """When a task has enough answers."""

    project: str
    """Project whose tasks are looked at."""
    sure: float = 0.95
    """Probability of the likelier answer, of every question of a task, at which asking ends."""
    gain: float = GAIN
    """Right decisions that one more answer to a task must be expected to bring, or asking ends there too: .01
    is one in a hundred answers, 0 asks on until all is sure."""
    minimum: int = 2
    """Fewest answers before it may end. No task is sure on the word of one person, unless a model that was
    compared with people on 50 questions of that code agrees."""
    follow: bool = False
    """Go on: decide on each task as soon as it has a new answer, until SIGTERM or Ctrl-C."""
    every_s: float = 2.0
    """With --follow: seconds between two looks for new answers."""

    def __post_init__(self) -> None:
        if self.sure != self.sure or self.gain != self.gain:
            raise ConfigError("E_OPTION", "--sure, --gain: expected a number")
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


class Standing(NamedTuple):
    """The least confidence in any question of a task, and what further answers to all of them would bring.
    `independent` says whether each has two independent opinions: of two people, or of one and of a model that
    is calibrated on this log."""

    confidence: float
    gains: tuple[float, ...]
    independent: bool = True


LEAST_CALIBRATED = 50
"""Questions of a code, answered by two people or known for sure, on which a model must have been compared
with them to count as calibrated."""
UNKNOWN = Standing(0.0, (), False)
"""Of a task for which nobody's answer counts (a ban) nothing is sure, and asking is taken to pay."""


def ask(store: Store, actor: str, config: AskConfig, taxonomy: Taxonomy) -> Counter[Decision]:
    """Make every task with answers want what it needs; how many of each decision.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
        ConfigError: nobody has answered anything, or a rule that cannot be.
    """
    rule = overlap_rule(store, actor, config)
    found = standings(believed(store, actor, config.project, taxonomy), rule)
    return decide(store, actor, rule, store.read(partial(tasks_with_answers, project=config.project)), found)


def overlap_rule(store: Store, actor: str, config: AskConfig) -> OverlapRule:
    """When asking ends in a project.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
        ConfigError: it is not for labels, or a rule that cannot be.
    """
    project = store.read(partial(_project, actor=actor, name=config.project))
    return OverlapRule(config.minimum, max(project.most, config.minimum), config.sure, config.gain)


def decide(
    store: Store,
    actor: str,
    rule: OverlapRule,
    found: Iterable[Asked],
    standing: Mapping[tuple[str, int | None], Standing],
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
        known = standing.get((task.dialogue, task.turn), UNKNOWN)
        decision = rule.decide(known.confidence, task.answered, known.gains)
        if decision is Decision.STOP and not known.independent:
            decision = Decision.ASK if task.answered < rule.maximum else Decision.GIVE_UP
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


def standings(
    found: Iterable[Belief], rule: OverlapRule, calibrated: frozenset[str] | None = None
) -> dict[tuple[str, int | None], Standing]:
    """Where each turn of a dialogue stands and, under turn none, all of it: what is gained by further answers
    is the sum over the questions that are not sure. `calibrated` are the codes of which the model's
    probabilities are; those that `found` shows to be, if none are given."""
    found = tuple(found)
    calibrated = calibrated_codes(found) if calibrated is None else calibrated
    told: dict[tuple[str, int | None], Standing] = {}
    for one in found:
        by_model = one.model is not None and one.code in calibrated
        independent = one.gold or one.n_labelers + by_model >= 2
        gains = one.gains if one.confidence < rule.sure else (0.0,) * len(one.gains)
        for turn in (one.turn, None):
            before = told.get((one.dialogue, turn), Standing(1.0, ()))
            confidence = min(before.confidence, one.confidence)
            both = tuple(a + b for a, b in zip_longest(before.gains, gains, fillvalue=0.0))
            told[one.dialogue, turn] = Standing(confidence, both, before.independent and independent)
    return told


def calibrated_codes(found: Iterable[Belief]) -> frozenset[str]:
    """The codes of which a model has been compared with people on enough questions of this log."""
    n = Counter(one.code for one in found if one.model is not None and (one.gold or one.n_labelers >= 2))
    return frozenset(code for code, count in n.items() if count >= LEAST_CALIBRATED)


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
