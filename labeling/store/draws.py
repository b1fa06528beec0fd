"""Drawing tasks for a project from the dialogues in the store, by a stated design.

The frame is every dialogue that the design speaks of and that has no task in the project yet. Each task
keeps its inclusion probability in that frame and the reason, so that estimates can weight it later. The
draw is made once, in one place, from a seed; putting the tasks in can be repeated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sqlalchemy import Row, exists, false, func, select

from dialint.detector.errors import ConfigError
from dialint.labeling.sampling import Drawn, entropy, stratified, uniform, weighted
from dialint.labeling.store.database.refusals import StoreRefused
from dialint.labeling.store.database.schema import dialogues, tasks, verdicts
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import MOST_PER_CALL
from dialint.labeling.store.projects import existing
from dialint.labeling.store.records import NewTask, Pool
from dialint.labeling.store.rights import authorised
from dialint.labeling.store.tasks import add

Design = Literal["random", "risk", "uncertain", "stratified", "audit"]
Stratum = Literal["agent", "team", "channel"]


@dataclass(frozen=True)
class DrawConfig:
    """How tasks are drawn."""

    project: str
    """The project that gets the tasks."""
    design: Design = "random"
    """`random`: each dialogue alike. `risk`: by the highest probability the model gives to an error.
    `uncertain`: by the entropy of that probability, averaged over releases, so that a committee that
    disagrees counts. `stratified`: spread over --by. `audit`: alike among dialogues no release flags."""
    n: int = 100
    """How many dialogues to draw."""
    by: tuple[Stratum, ...] = ("agent",)
    """What makes a stratum."""
    seed: int = 0
    """The same seed and the same store give the same tasks."""
    pool: Pool = "main"
    """The pool the tasks go to."""
    priority: float = 0.0
    """Their place in the queue: higher comes first."""

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ConfigError("E_OPTION", "--n: expected at least 1")
        if not math.isfinite(self.priority):
            raise ConfigError("E_OPTION", "--priority: expected a number")
        if not self.by:
            raise ConfigError("E_OPTION", "--by: expected agent, team or channel")


def draw(store: Store, actor: str, config: DrawConfig) -> int:
    """Draw dialogues as `config` says and make them tasks; how many.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: an unknown project.
        ConfigError: more are wanted than the frame holds.
    """
    frame = store.read(lambda transaction: _frame(transaction, actor, config))
    if not frame:
        raise StoreRefused("E_SAMPLE", f"no dialogue is left for {config.design} in {config.project}")
    drawn = _drawn(frame, config)
    why = f"{config.design}: {len(drawn.places)} of {len(frame)}, seed {config.seed}"
    new = [
        NewTask(
            dialogue=frame[place].id,
            pool=config.pool,
            priority=config.priority,
            inclusion_probability=min(1.0, float(probability)),
            why=why,
        )
        for place, probability in zip(drawn.places, drawn.probabilities, strict=True)
    ]
    pieces = (new[start : start + MOST_PER_CALL] for start in range(0, len(new), MOST_PER_CALL))
    return sum(add(store, actor, config.project, piece) for piece in pieces)


def _frame(transaction: Transaction, actor: str, config: DrawConfig) -> list[Row[Any]]:
    """Rows of id, stratum columns and mean risk over releases, in order of id."""
    authorised(transaction, actor, "plan")
    existing(transaction, config.project)
    taken = exists().where(tasks.c.project == config.project, tasks.c.dialogue == dialogues.c.id)
    question = select(dialogues.c.id, dialogues.c.agent, dialogues.c.team, dialogues.c.channel).where(~taken)
    if config.design in ("risk", "uncertain"):
        risk = select(verdicts.c.dialogue, func.avg(verdicts.c.risk).label("risk"))
        mean = risk.group_by(verdicts.c.dialogue).subquery()
        question = question.add_columns(mean.c.risk).join(mean, mean.c.dialogue == dialogues.c.id)
    if config.design == "audit":
        said = exists().where(verdicts.c.dialogue == dialogues.c.id)
        flagged = said.where(verdicts.c.flagged != false())
        question = question.where(said, ~flagged)
    return list(transaction.run(question.order_by(dialogues.c.id)))


def _drawn(frame: list[Row[Any]], config: DrawConfig) -> Drawn:
    generator = np.random.default_rng(config.seed)
    if config.design in ("random", "audit"):
        return uniform(len(frame), config.n, generator)
    if config.design == "stratified":
        strata = [tuple(getattr(row, column) for column in config.by) for row in frame]
        return stratified(strata, config.n, generator)
    risk = np.fromiter((row.risk for row in frame), np.float64, len(frame))
    return weighted(risk if config.design == "risk" else entropy(risk), config.n, generator)
