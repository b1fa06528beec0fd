"""Adaptive overlap in the store: tasks that are certain stop, others request one more answer if it is
worthwhile.

The value of one more answer is the expected gain in right decisions: where people are divided, no number of
answers up to the maximum makes the decision certain, and no more are requested; where answers are merely few,
they are. The confidence in a task is that in its least certain question, and one more answer answers all open
ones. A project's `most` is the maximum of answers; tasks that are not certain even then, or that no answer is
expected to decide, are for experts (`adjudication`).

`update_overlap` runs once over a project and may be repeated: between two runs tasks collect the requested
answers. It never overwrites a decision from newer answers, so that several runs may be concurrent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import zip_longest
from typing import Annotated, NamedTuple

from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import check_ranges
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.answers import Floats
from dialint.labeling.aggregation.question_posteriors import QuestionPosterior, load_posteriors
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.tasks import TaskProgress, list_answered_tasks, set_wanted_if_unchanged

GAIN = 0.01
"""Expected gain in right decisions from which an answer is requested: one in a hundred answers."""


class NextStep(StrEnum):
    """The next step of a task: it is certain, it needs one more answer, or an expert decides."""

    STOP = "stop"
    ASK = "ask"
    GIVE_UP = "give up"


@dataclass(frozen=True)
class OverlapConfig:
    """The stopping rule for answers of a task."""

    project: str
    """Project whose tasks are updated."""
    sure: Annotated[float, Field(ge=0.5, le=1)] = 0.95
    """Probability of the likelier answer, of every question of a task, from which no more answers are
    requested."""
    gain: Annotated[float, Field(ge=0, le=1)] = GAIN
    """Expected gain in right decisions from which one more answer to a task is requested: .01 is one in a
    hundred answers, 0 requests answers until all is certain."""
    minimum: Annotated[int, Field(ge=0)] = 2
    """Minimum number of answers. One person's answer is never enough, unless a model that was compared with
    people on 50 questions of that code agrees."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def decide(
        self, confidence: float, n_labelers: int, most: int, gains: Sequence[float] | Floats = ()
    ) -> NextStep:
        """Returns the next step of a task whose winner has this probability after so many answers of `most`;
        `gains` is a row of `expected_gains`; if it is empty, one more answer is requested."""
        if n_labelers >= self.minimum and confidence >= self.sure:
            return NextStep.STOP
        if n_labelers >= most:
            return NextStep.GIVE_UP
        left = min(most - n_labelers, len(gains))
        is_worthwhile = n_labelers < self.minimum or left == 0 or gains[left - 1] >= self.gain
        return NextStep.ASK if is_worthwhile else NextStep.GIVE_UP


class TaskStatus(NamedTuple):
    """The least confidence in any question of a task, and the expected gains of further answers to all of
    them. `independent` says whether each question has two independent answers: of two people who do not
    always give the same one, or of one and of a model that is calibrated on this log."""

    confidence: float
    gains: tuple[float, ...]
    independent: bool = True


MIN_CALIBRATION_QUESTIONS = 50
"""Questions of a code, answered by two people or gold, on which a model must have been compared with them to
count as calibrated."""
NO_ANSWERS = TaskStatus(0.0, (), False)
"""The status of a task without any valid answer (after a ban): one more is requested."""


def update_overlap(store: Store, actor: str, config: OverlapConfig, taxonomy: Taxonomy) -> Counter[NextStep]:
    """Set the number of wanted answers of every answered task; returns the number of each decision.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
        ConfigError: the project is not for labels, or there are no answers.
    """
    store.read(partial(require_permission, actor=actor, right="plan"))
    project = store.read(partial(get_project, name=config.project))
    if project.purpose != "label":
        message = f"{config.project}: only a project for labels has adaptive overlap"
        raise ConfigError("E_OPTION", message)
    statuses = task_statuses(load_posteriors(store, actor, config.project, taxonomy), config.sure)
    tasks = store.read(partial(list_answered_tasks, project=config.project))
    return decide(store, actor, config, max(project.most, config.minimum), tasks, statuses)


def decide(
    store: Store,
    actor: str,
    config: OverlapConfig,
    most: int,
    tasks: Iterable[TaskProgress],
    statuses: Mapping[tuple[str, int | None], TaskStatus],
) -> Counter[NextStep]:
    """Set the number of wanted answers of each task, at most `most`; returns the number of each decision.

    A task that was answered, or whose wanted answers were changed, since `tasks` were read is left as it is:
    that change was made from newer answers.
    """
    decisions: Counter[NextStep] = Counter()
    for task in tasks:
        status = statuses.get((task.dialogue, task.turn), NO_ANSWERS)
        decision = config.decide(status.confidence, task.answered, most, status.gains)
        if decision is NextStep.STOP and not status.independent:
            decision = NextStep.ASK if task.answered < most else NextStep.GIVE_UP
        decisions[decision] += 1
        wanted = task.answered + (decision is NextStep.ASK)
        if wanted != task.wanted and not (decision is NextStep.ASK and task.leased):
            set_wanted_if_unchanged(store, actor, task, wanted)
    return decisions


def task_statuses(
    posteriors: Collection[QuestionPosterior], sure: float
) -> dict[tuple[str, int | None], TaskStatus]:
    """The status of each turn of a dialogue and, under turn none, of the whole dialogue; its gains are the
    sum over the questions that are not sure. The model counts as a second answer to the codes on which it has
    been compared with people on enough questions of this log."""
    n_compared = Counter(
        one.code for one in posteriors if one.model is not None and (one.gold or one.n_independent >= 2)
    )
    calibrated = {code for code, count in n_compared.items() if count >= MIN_CALIBRATION_QUESTIONS}
    statuses: dict[tuple[str, int | None], TaskStatus] = {}
    for one in posteriors:
        by_model = one.model is not None and one.code in calibrated
        independent = one.gold or one.n_independent + by_model >= 2
        gains = one.gains if one.confidence < sure else (0.0,) * len(one.gains)
        for turn in (one.turn, None):
            before = statuses.get((one.dialogue, turn), TaskStatus(1.0, ()))
            confidence = min(before.confidence, one.confidence)
            both = tuple(a + b for a, b in zip_longest(before.gains, gains, fillvalue=0.0))
            statuses[one.dialogue, turn] = TaskStatus(confidence, both, before.independent and independent)
    return statuses
