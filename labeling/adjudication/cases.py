"""Questions that are not settled become tasks for experts, one a turn, the dearest doubt first.

A question is open if its posterior is not sure enough or, if asked for, people disagree at all. An expert
who works on a case sees everything: verdict, every answer, every label. Decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.question_posteriors import QuestionPosterior
from dialint.labeling.aggregation.store_reader import load_posteriors
from dialint.labeling.queue.policy import SeverityWeights
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import MAX_PER_CALL
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.projects import get_project, list_names
from dialint.labeling.store.records import NewTask
from dialint.labeling.store.tasks import add

NAMED = 3
"""Questions that a task's reason names, at most."""


@dataclass(frozen=True)
class AdjudicateConfig:
    """What experts have to decide."""

    into: str
    """Adjudication project that gets the tasks."""
    project: str | None = None
    """Project whose answers are looked at; without one all answers in the store."""
    sure: float = 0.9
    """Probability of the likelier answer below which a question is open."""
    disagreements: bool = False
    """Also take every question on which people disagree, however sure the rest makes it."""
    dry_run: bool = False
    """Say how many there are, and make no task."""

    def __post_init__(self) -> None:
        if not 0.5 <= self.sure <= 1.0:
            raise ConfigError("E_OPTION", "--sure: expected 0.5 to 1")


@dataclass(frozen=True)
class CaseCounts:
    """How many questions are `unsure`, on how many people `disagree`, how many `cases` (turns) these
    make for experts, and how many of them are new (`added`)."""

    questions: int
    unsure: int
    disagree: int
    cases: int
    added: int


def adjudicate(store: Store, actor: str, config: AdjudicateConfig, taxonomy: Taxonomy) -> CaseCounts:
    """Make a task of every turn with an open question; the same again adds nothing.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: an unknown project.
        ConfigError: `into` is not for adjudication, or nobody has answered anything.
    """
    codes = store.read(lambda transaction: _asked(transaction, actor, config.into))
    if strangers := set(codes) - taxonomy.codes.keys():
        raise ConfigError(
            "E_CODE", f"{min(strangers)} is not in taxonomy {taxonomy.version}; --taxonomy names yours"
        )
    undecided = [one for one in load_posteriors(store, actor, config.project, taxonomy) if not one.gold]
    chosen = [one for one in undecided if one.code in codes and is_open(one, config)]
    new = make_cases(chosen, taxonomy, SeverityWeights())
    added = 0
    if not config.dry_run:
        for start in range(0, len(new), MAX_PER_CALL):
            added += add(store, actor, config.into, new[start : start + MAX_PER_CALL])
    unsure = sum(one.confidence < config.sure for one in undecided)
    return CaseCounts(len(undecided), unsure, sum(not one.unanimous for one in undecided), len(new), added)


def _asked(transaction: Transaction, actor: str, project: str) -> tuple[str, ...]:
    require_permission(transaction, actor, "plan")
    wanted = list_names(transaction, "adjudication")
    if project not in wanted:
        there = f"there are {', '.join(wanted)}" if wanted else "there is none yet"
        free = "NAME" if project in list_names(transaction) else project
        raise ConfigError(
            "E_PROJECT",
            f"--into {project}: no project for adjudication; {there}; `dialint label project create "
            f"{free} --purpose adjudication --codes CODES` makes one",
        )
    return get_project(transaction, project).codes


def is_open(one: QuestionPosterior, config: AdjudicateConfig) -> bool:
    """Whether an expert has to decide this."""
    return one.confidence < config.sure or (config.disagreements and not one.unanimous)


def make_cases(
    chosen: Iterable[QuestionPosterior], taxonomy: Taxonomy, weights: SeverityWeights
) -> list[NewTask]:
    """A task for every turn with something chosen; its priority is the expected cost of leaving it as it
    is: the sum of the probability of being wrong x the weight of the code's usual severity."""
    turns: dict[tuple[str, int], list[QuestionPosterior]] = {}
    for one in chosen:
        turns.setdefault((one.dialogue, one.turn), []).append(one)
    return [
        NewTask(
            dialogue=dialogue,
            turn=turn,
            priority=sum(
                (1.0 - one.confidence) * weights.of(taxonomy.codes[one.code].severity) for one in some
            ),
            why=f"open: {_told(some)}",
        )
        for (dialogue, turn), some in turns.items()
    ]


def _told(some: Collection[QuestionPosterior]) -> str:
    least_sure = sorted(some, key=lambda one: (one.confidence, one.code))
    parts = [f"{one.code} {one.probability:.2f}, {one.n_yes} of {one.n_labelers}" for one in least_sure]
    more = f" and {len(parts) - NAMED} more" if len(parts) > NAMED else ""
    return "; ".join(parts[:NAMED]) + more
