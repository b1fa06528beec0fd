"""Calibration sessions: a group answers the same dialogues blind; the report has agreement and rater biases.

A session is a project of its own, with as many answers a task as the group has people. Its report can be
compared with an earlier session. Who may see it, and under which names, is decided by the store
(`store.calibration_sessions`).

On each question that others answered too, a person's difference is their own answer (1 or 0) minus the share
of yes among the others; strict is above 0. Intervals are bootstrapped by dialogue, as turns of a dialogue are
correlated, and hold for one person and code at a time: of a hundred unbiased people about five will seem
biased. A bias does not tell who is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Finding
from dialint.detector.statistics import Estimate, bootstrap_estimate, ratio
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.dialogue_answers import (
    WHOLE_DIALOGUE,
    CodeAnswers,
    CollectedAnswers,
    DialogueContext,
    collect_answers,
    dialogue_codes,
)
from dialint.labeling.queue.sampling import SamplingConfig, sample_tasks
from dialint.labeling.raters.agreement import krippendorff_alpha
from dialint.labeling.store import accounts, projects
from dialint.labeling.store.calibration_sessions import SessionAnswers, load_answers
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import NewTask, Project
from dialint.labeling.store.tasks import Design, add, count_tasks

MIN_DIALOGUES = 8
"""Minimum number of dialogues for an interval."""
ALL = "all"
"""Stands for all codes together."""
Leans = Literal["strict", "lenient", "even", "too few"]


@dataclass(frozen=True)
class RaterBias:
    """One person on one code: `yes` of `n` questions, where the others' mean share is `others`;
    `difference` of the two with its interval, its `n` counting dialogues."""

    worker: str
    code: str
    n: int
    yes: float
    others: float
    difference: Estimate

    @property
    def leans(self) -> Leans:
        """The direction of the bias, if its interval excludes 0."""
        if self.difference.n < MIN_DIALOGUES:
            return "too few"
        if self.difference.low > 0:
            return "strict"
        return "lenient" if self.difference.high < 0 else "even"


def rater_biases(answers: CollectedAnswers, rounds: int = 1000, seed: int = 0) -> list[RaterBias]:
    """Everybody's bias, on all codes together first and then code by code, people by name."""
    answers_by_key: dict[tuple[str, str], list[tuple[str, float, float]]] = {}
    for code in sorted(answers.codes):
        for worker, dialogue, own, others in _compare_to_others(answers.codes[code]):
            for key in ((worker, ALL), (worker, code)):
                answers_by_key.setdefault(key, []).append((dialogue, own, others))
    biases = []
    for worker, code in sorted(answers_by_key, key=lambda key: (key[0], key[1] != ALL, key[1])):
        rows = answers_by_key[worker, code]
        _, index = np.unique([dialogue for dialogue, _, _ in rows], return_inverse=True)
        own, others = np.array([row[1:] for row in rows]).T
        sums = np.column_stack([np.bincount(index, own - others), np.bincount(index)]).astype(np.float64)
        difference = bootstrap_estimate(
            sums, lambda resampled: ratio(resampled[:, 0], resampled[:, 1]), rounds, seed, limits=(-1.0, 1.0)
        )
        mean_own, mean_others = float(own.mean()), float(others.mean())
        biases.append(RaterBias(worker, code, len(rows), mean_own, mean_others, difference))
    return biases


def _compare_to_others(answers: CodeAnswers) -> Iterator[tuple[str, str, float, float]]:
    for item, votes in answers.votes.items():
        if len(votes) > 1:
            yes = sum(map(bool, votes.values()))
            for worker, spans in votes.items():
                own = bool(spans)
                yield worker, item.dialogue, float(own), (yes - own) / (len(votes) - 1)


@dataclass(frozen=True, kw_only=True)
class CalibrationConfig:
    """The members and dialogues of a calibration session."""

    name: str
    """Name of the session; becomes a project."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Codes or categories to ask."""
    members: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """The group: the names of its accounts."""
    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Ids of the dialogues, instead of a sample."""
    n: Annotated[int, Field(ge=1)] = 20
    """Number of dialogues; all get the same."""
    design: Design = "random"
    """How they are sampled, as in dialint label plan."""
    seed: Annotated[int, Field(ge=0)] = 0
    """The same seed and the same store give the same dialogues."""
    instructions: str = ""
    """Instructions for the group."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class StartedSession:
    """A session that was started: the `people` of the group and the number of `tasks` of each."""

    people: tuple[str, ...]
    tasks: int


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha of a code in this session and, if there was one, in the session before."""

    code: str
    now: Estimate
    before: Estimate | None


def start_session(store: Store, actor: str, config: CalibrationConfig, taxonomy: Taxonomy) -> StartedSession:
    """Create the project and its tasks; the same session again changes nothing.

    Raises:
        StoreRefused: the name is taken, or there are no dialogues left.
        ConfigError: an unknown code, a group of fewer than two, or too few dialogues.
    """
    codes = taxonomy.select_codes(config.codes)
    people = tuple(
        account.id
        for account in accounts.list_accounts(store, actor)
        if account.id in config.members and has_permission(account, "label")
    )
    if missing := set(config.members) - set(people):
        raise ConfigError("E_OPTION", "--members {name}: no account that may work", name=min(missing))
    if len(people) < 2:
        raise ConfigError("E_OPTION", "--members: a group needs at least two people")
    project = Project(
        id=config.name,
        codes=codes,
        purpose="calibration",
        members=config.members,
        overlap=len(people),
        most=len(people),
        instructions=config.instructions,
    )
    projects.create(store, actor, project)
    n_tasks = sum(count_tasks(store, actor, project.id)["main"].values())
    if not n_tasks and config.dialogues:
        chosen = [NewTask(dialogue=name) for name in dict.fromkeys(config.dialogues)]
        n_tasks = add(store, actor, project.id, chosen)
    elif not n_tasks:
        sampling = SamplingConfig(project.id, config.design, config.n, seed=config.seed)
        n_tasks = sample_tasks(store, actor, sampling)
    return StartedSession(people, n_tasks)


@dataclass(frozen=True)
class DisputedQuestion:
    """A question on which people differ: `votes` are the findings of each, none for a no. `turn` is None for
    a code of dialogue scope; `task` is the item's."""

    dialogue: str
    task: int
    turn: int | None
    code: str
    votes: dict[str, tuple[Finding, ...]]

    @property
    def n_yes(self) -> int:
        return sum(map(bool, self.votes.values()))


@dataclass(frozen=True)
class SessionResults:
    """Agreement by code in a session and in the session `before`, biases, and its disputed questions, the
    most even split first."""

    before: str | None
    agreement: tuple[Agreement, ...]
    biases: tuple[RaterBias, ...]
    disputed: tuple[DisputedQuestion, ...]
    n_answers: int


def load_results(
    store: Store, actor: str, name: str, before: str | None, taxonomy: Taxonomy
) -> SessionResults:
    """The results of a session, beside those of the session `before`.

    Raises:
        NotAllowed: the actor may not see them, or not yet.
        ConfigError: nobody has answered anything.
    """
    stored = load_answers(store, actor, name)
    answers = _collect(stored, taxonomy)
    if not answers.codes:
        raise ConfigError("E_NO_RECORDS", "no answers in {name} yet", name=name)
    earlier = CollectedAnswers() if before is None else _collect(load_answers(store, actor, before), taxonomy)
    agreement = tuple(
        Agreement(code, _alpha(answers, code), _alpha(earlier, code) if code in earlier.codes else None)
        for code in sorted(answers.codes)
    )
    disputed = tuple(_list_disputed(stored, answers))
    return SessionResults(before, agreement, tuple(rater_biases(answers)), disputed, len(stored.answers))


def _collect(stored: SessionAnswers, taxonomy: Taxonomy) -> CollectedAnswers:
    return collect_answers(
        stored.answers, lambda name: DialogueContext(stored.judged[name], None), dialogue_codes(taxonomy)
    )


def _alpha(answers: CollectedAnswers, code: str) -> Estimate:
    return krippendorff_alpha(answers.codes[code].table(answers.workers).votes())


def _list_disputed(stored: SessionAnswers, answers: CollectedAnswers) -> list[DisputedQuestion]:
    findings: dict[tuple[str, str, str], list[Finding]] = {}
    for answer in stored.answers:
        for finding in answer.findings:
            findings.setdefault((answer.dialogue_id, answer.labeler, finding.code), []).append(finding)
    disputed = []
    for code, of_code in answers.codes.items():
        for item, votes in of_code.votes.items():
            if not 0 < sum(map(bool, votes.values())) < len(votes):
                continue
            turn = None if item.turn == WHOLE_DIALOGUE else item.turn
            marked = {
                who: tuple(each for each in findings[item.dialogue, who, code] if turn in (None, each.turn))
                if spans
                else ()
                for who, spans in votes.items()
            }
            task = stored.tasks[item.dialogue]
            disputed.append(DisputedQuestion(item.dialogue, task, turn, code, marked))

    def order(one: DisputedQuestion) -> tuple[Any, ...]:
        return abs(one.n_yes / len(one.votes) - 0.5), one.dialogue, one.turn or -1, one.code

    return sorted(disputed, key=order)
