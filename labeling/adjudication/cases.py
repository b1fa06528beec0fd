"""Tasks for experts, where answers do not agree or the posterior is not sure.

Experts get a task for each turn with an open question, the highest expected cost of an error first.

A question is open if its posterior is not sure enough or, with `disagreements`, if people disagree at all. An
expert who works on a case sees verdict, labels and the answers of the project that the questions are from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from dialint.detector.errors import ConfigError, Message
from dialint.detector.option_ranges import check_ranges
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.question_posteriors import QuestionPosterior, load_posteriors
from dialint.labeling.queue.routing import SeverityWeights
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.projects import get_project, list_names
from dialint.labeling.store.records import NewTask
from dialint.labeling.store.tasks import add_all

MAX_LISTED = 3
"""Questions that a task's reason lists, at most."""


@dataclass(frozen=True, kw_only=True)
class AdjudicateConfig:
    """The selection of questions that experts decide."""

    into: str
    """Adjudication project that gets the tasks."""
    project: str | None = None
    """Project of the answers; without one all answers in the store."""
    sure: Annotated[float, Field(ge=0.5, le=1)] = 0.9
    """Probability of the likelier answer below which a question is open."""
    disagreements: bool = False
    """Also every question on which people disagree, however sure its posterior is."""
    dry_run: bool = False
    """Only count them."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class CaseCounts:
    """Number of undecided `questions`, of those that are `unsure` and on which people `disagree`, of `cases`
    (turns) for experts, and of cases that are new (`added`)."""

    questions: int
    unsure: int
    disagree: int
    cases: int
    added: int


def adjudicate(store: Store, actor: str, config: AdjudicateConfig, taxonomy: Taxonomy) -> CaseCounts:
    """Add a task for every turn with an open question; the same again adds nothing.

    Raises:
        StoreRefused: an unknown project.
        ConfigError: `into` is not for adjudication, or nobody has answered anything.
    """
    codes = store.read(lambda transaction: _project_codes(transaction, actor, config.into))
    if unknown := set(codes) - taxonomy.codes.keys():
        raise ConfigError(
            "E_CODE",
            "{code} is not in taxonomy {version}; --taxonomy names yours",
            code=min(unknown),
            version=taxonomy.version,
        )
    posteriors = load_posteriors(store, actor, config.project, taxonomy)
    undecided = [question for question in posteriors if not question.gold]
    chosen = [
        question
        for question in undecided
        if question.code in codes
        and (question.confidence < config.sure or (config.disagreements and not question.unanimous))
    ]
    new = make_cases(chosen, taxonomy, SeverityWeights(), config.project)
    added = 0 if config.dry_run else add_all(store, actor, config.into, new)
    unsure = sum(question.confidence < config.sure for question in undecided)
    disagree = sum(not question.unanimous for question in undecided)
    return CaseCounts(len(undecided), unsure, disagree, len(new), added)


def _project_codes(transaction: Transaction, actor: str, project: str) -> tuple[str, ...]:
    require_permission(transaction, actor, "plan")
    names = list_names(transaction, "adjudication")
    if project not in names:
        existing = Message("there is none yet")
        if names:
            existing = Message("there are {names}", names=", ".join(names))
        free = "NAME" if project in list_names(transaction) else project
        raise ConfigError(
            "E_PROJECT",
            "--into {project}: no project for adjudication; {existing}; `dialint label project create "
            "{free} --purpose adjudication --codes CODES` makes one",
            project=project,
            existing=existing,
            free=free,
        )
    return get_project(transaction, project).codes


def make_cases(
    chosen: Iterable[QuestionPosterior], taxonomy: Taxonomy, weights: SeverityWeights, source: str | None
) -> list[NewTask]:
    """A task for every turn of the chosen questions, which were asked in the project `source` or, if that is
    None, in any; its priority is the expected cost of leaving them open: the sum of the probability of being
    wrong x the weight of the code's usual severity."""
    turns: dict[tuple[str, int], list[QuestionPosterior]] = {}
    for question in chosen:
        turns.setdefault((question.dialogue, question.turn), []).append(question)
    tasks = []
    for (dialogue, turn), questions in turns.items():
        least_sure = sorted(questions, key=lambda question: (question.confidence, question.code))
        why = "open: " + "; ".join(
            f"{question.code} {question.probability:.2f}, {question.n_yes} of {question.n_labelers}"
            for question in least_sure[:MAX_LISTED]
        )
        if len(questions) > MAX_LISTED:
            why += f" and {len(questions) - MAX_LISTED} more"
        priority = sum(
            (1.0 - question.confidence) * weights.of(taxonomy.codes[question.code].severity)
            for question in questions
        )
        tasks.append(NewTask(dialogue=dialogue, turn=turn, priority=priority, why=why, source=source))
    return tasks
