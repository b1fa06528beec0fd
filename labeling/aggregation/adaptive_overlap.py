"""Adaptive overlap in the store: tasks that are certain stop, others request one more answer if it is
worthwhile.

The confidence in a task is that in its least certain question, and one more answer answers all open ones. A
project's `most` is the maximum of answers; what is not certain even then, or what no answer is expected to
decide, is for experts (`adjudication`).

`update_overlap` runs once over a project and may be repeated: between two runs tasks collect the answers that
were requested. `follow` does not end: it starts in the same way and then reads the audit log
(`store.counted_annotations`). A ban or a verdict of a new release makes it read everything again, since
answers or the model's probabilities have to be removed; a correction and new gold do not. Every answer is
followed by a decision made after it was counted, so that two followers, or one beside `update_overlap`, end
in the same state; none of them overwrites a decision made from newer answers (`decide`). State is kept in
memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.dialogue_answers import CollectedAnswers, dialogue_codes
from dialint.labeling.aggregation.overlap import GAIN, Decision, OverlapRule
from dialint.labeling.aggregation.question_posteriors import QuestionPosterior, RunningPosteriors
from dialint.labeling.aggregation.store_reader import context_loader, load_gold, load_posteriors
from dialint.labeling.store import counted_annotations
from dialint.labeling.store.counted_annotations import iterate_counted
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import MAX_PER_CALL
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.records import Project
from dialint.labeling.store.tasks import TaskProgress, list_answered_tasks, set_wanted_if_unchanged


@dataclass(frozen=True)
class OverlapConfig:
    """When a task has enough answers."""

    project: str
    """Project whose tasks are updated."""
    sure: float = 0.95
    """Probability of the likelier answer, of every question of a task, from which no more answers are
    requested."""
    gain: float = GAIN
    """Expected gain in right decisions from which one more answer to a task is requested: .01 is one in a
    hundred answers, 0 requests answers until all is certain."""
    minimum: int = 2
    """Minimum number of answers. One person's answer is never enough, unless a model that was compared with
    people on 50 questions of that code agrees."""
    follow: bool = False
    """Keep running: decide on each task as soon as it has a new answer, until SIGTERM or Ctrl-C."""
    every_s: float = 2.0
    """With --follow: seconds between two checks for new answers."""

    def __post_init__(self) -> None:
        if math.isnan(self.sure) or math.isnan(self.gain):
            raise ConfigError("E_OPTION", "--sure, --gain: expected a number")
        if not 0.0 < self.every_s <= 3600.0:
            raise ConfigError("E_OPTION", "--every-s: expected more than 0 and at most 3600 seconds")


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
"""Of a task without any answer that counts (after a ban): one more answer is requested."""


def update_overlap(store: Store, actor: str, config: OverlapConfig, taxonomy: Taxonomy) -> Counter[Decision]:
    """Set the number of wanted answers of every answered task; returns the number of each decision.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
        ConfigError: there are no answers, or the rule is invalid.
    """
    rule = load_rule(store, actor, config)
    statuses = task_statuses(load_posteriors(store, actor, config.project, taxonomy), rule)
    tasks = store.read(partial(list_answered_tasks, project=config.project))
    return decide(store, actor, rule, tasks, statuses)


def load_rule(store: Store, actor: str, config: OverlapConfig) -> OverlapRule:
    """The rule of a project.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
        ConfigError: the project is not for labels, or the rule is invalid.
    """

    def load(transaction: Transaction) -> Project:
        require_permission(transaction, actor, "plan")
        return get_project(transaction, config.project)

    project = store.read(load)
    if project.purpose != "label":
        message = f"{config.project}: only a project for labels has adaptive overlap"
        raise ConfigError("E_OPTION", message)
    return OverlapRule(config.minimum, max(project.most, config.minimum), config.sure, config.gain)


def decide(
    store: Store,
    actor: str,
    rule: OverlapRule,
    tasks: Iterable[TaskProgress],
    statuses: Mapping[tuple[str, int | None], TaskStatus],
    on_task: Callable[[], None] = lambda: None,
) -> Counter[Decision]:
    """Set the number of wanted answers of each task; returns the number of each decision. `on_task` is called
    before each task and may raise to stop.

    A task that was answered, or whose wanted answers were changed, since `tasks` were read is left as it is:
    that change was made from newer answers.
    """
    decisions: Counter[Decision] = Counter()
    for task in tasks:
        on_task()
        status = statuses.get((task.dialogue, task.turn), NO_ANSWERS)
        decision = rule.decide(status.confidence, task.answered, status.gains)
        if decision is Decision.STOP and not status.independent:
            decision = Decision.ASK if task.answered < rule.maximum else Decision.GIVE_UP
        decisions[decision] += 1
        wanted = task.answered + (decision is Decision.ASK)
        if wanted != task.wanted and not (decision is Decision.ASK and task.leased):
            set_wanted_if_unchanged(store, actor, task, wanted)
    return decisions


def task_statuses(
    posteriors: Iterable[QuestionPosterior], rule: OverlapRule, calibrated: frozenset[str] | None = None
) -> dict[tuple[str, int | None], TaskStatus]:
    """The status of each turn of a dialogue and, under turn none, of the whole dialogue; its gains are the
    sum over the questions that are not sure. `calibrated` are the codes of which the model is calibrated; by
    default those of which `posteriors` show it."""
    posteriors = tuple(posteriors)
    calibrated = calibrated_codes(posteriors) if calibrated is None else calibrated
    statuses: dict[tuple[str, int | None], TaskStatus] = {}
    for one in posteriors:
        by_model = one.model is not None and one.code in calibrated
        independent = one.gold or one.n_independent + by_model >= 2
        gains = one.gains if one.confidence < rule.sure else (0.0,) * len(one.gains)
        for turn in (one.turn, None):
            before = statuses.get((one.dialogue, turn), TaskStatus(1.0, ()))
            confidence = min(before.confidence, one.confidence)
            both = tuple(a + b for a, b in zip_longest(before.gains, gains, fillvalue=0.0))
            statuses[one.dialogue, turn] = TaskStatus(confidence, both, before.independent and independent)
    return statuses


def calibrated_codes(posteriors: Iterable[QuestionPosterior]) -> frozenset[str]:
    """The codes of which a model has been compared with people on enough questions of this log."""
    n = Counter(
        one.code for one in posteriors if one.model is not None and (one.gold or one.n_independent >= 2)
    )
    return frozenset(code for code, count in n.items() if count >= MIN_CALIBRATION_QUESTIONS)


class FollowStep(NamedTuple):
    """The number of each decision, on `all` tasks or on those of changed dialogues."""

    all: bool
    decisions: Counter[Decision]


def follow(
    store: Store, actor: str, config: OverlapConfig, taxonomy: Taxonomy, wait: Callable[[float], None]
) -> Iterator[FollowStep]:
    """Decide on all tasks, then on those of changed dialogues, until `wait` raises; yields the steps that
    decided anything.

    `wait` is called with 0 between two steps of work and with the seconds to wait where nothing is left.

    Raises:
        NotAllowed: the actor does not plan, or does not any more.
        StoreRefused: no such project.
        ConfigError: the rule is invalid.
        WorldError: the database was unreachable for too long; start again.
    """
    follower = Follower(store, actor, config, taxonomy, wait)
    yield follower.begin()
    while True:
        step = follower.step()
        if step.decisions:
            yield step
        wait(0.0 if follower.behind else config.every_s)


class Follower:
    """The state of `follow`: the answers of a project up to an entry of the audit log. `begin` is called
    first, then `step` repeatedly; `behind` says that there are more changes than the last step read."""

    def __init__(
        self,
        store: Store,
        actor: str,
        config: OverlapConfig,
        taxonomy: Taxonomy,
        wait: Callable[[float], None],
    ) -> None:
        self.behind = False
        self._store, self._actor, self._project = store, actor, config.project
        self._taxonomy, self._on_step = taxonomy, partial(wait, 0.0)
        self._rule = load_rule(store, actor, config)
        self._calibrated: frozenset[str] = frozenset()

    def begin(self) -> FollowStep:
        """Read and fit all answers; decide on all tasks."""
        self._upto = counted_annotations.get_last_entry(self._store, self._actor)
        self._gold = load_gold(self._store, self._actor, self._taxonomy)
        answers, codes = CollectedAnswers(), dialogue_codes(self._taxonomy)
        load_context = context_loader(self._store)
        for annotation in iterate_counted(self._store, self._actor, self._project):
            self._on_step()
            answers.add(annotation, load_context, codes)
        self._running = RunningPosteriors(answers, codes, self._on_step, self._gold)
        return FollowStep(True, self._decide(None))

    def step(self) -> FollowStep:
        """Read changes; decide on the tasks of the changed dialogues."""
        changes = counted_annotations.load_changes(self._store, self._actor, self._project, self._upto)
        self.behind = changes.more
        if changes.people or (changes.verdicts and self._has_new_verdict()):
            return self.begin()
        gold_changes = self._reload_gold() if changes.gold else frozenset()
        refitted = self._running.add(changes.answers, context_loader(self._store))
        self._upto = changes.upto
        dialogues = None if refitted is None else refitted | changes.gave_back | gold_changes
        return FollowStep(dialogues is None, self._decide(dialogues))

    def _has_new_verdict(self) -> bool:
        """Whether there is a newer verdict on a dialogue that somebody answered."""
        newest = counted_annotations.list_newest_releases(self._store, self._actor, self._project)
        contexts = self._running.answers.contexts
        return any(newest.get(name) != context.release for name, context in contexts.items())

    def _reload_gold(self) -> frozenset[str]:
        """Dialogues whose gold changed."""
        before, self._gold = self._gold, load_gold(self._store, self._actor, self._taxonomy)
        self._running.gold = self._gold
        return frozenset(key[0] for key, _ in before.present.items() ^ self._gold.present.items())

    def _decide(self, dialogues: Collection[str] | None) -> Counter[Decision]:
        if dialogues is not None:
            dialogues = dialogues & self._running.answers.contexts.keys()
            if not dialogues:
                return Counter()
            if len(dialogues) > MAX_PER_CALL:
                dialogues = None
        posteriors = tuple(map(self._gold.override, self._running.posteriors(dialogues)))
        if dialogues is None:
            self._calibrated = calibrated_codes(posteriors)
        statuses = task_statuses(posteriors, self._rule, self._calibrated)
        tasks = self._store.read(partial(list_answered_tasks, project=self._project, dialogues=dialogues))
        return decide(self._store, self._actor, self._rule, tasks, statuses, self._on_step)
