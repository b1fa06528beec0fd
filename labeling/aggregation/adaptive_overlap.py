"""Adaptive overlap in the store: tasks that are sure stop, the others request one more answer if it pays.

A task is as sure as its least sure question, and one more answer answers all that are open. A project's
`most` bounds what is requested; what is not sure even then, or what no answer is expected to decide, is for
experts (`adjudication`).

`ask` runs once over a project and may be repeated: between two runs tasks collect the answers that they
requested before. `follow` does not end: it starts like `ask` and then reads the audit log
(`store.change_feed`). A ban or a verdict of a new release makes it read everything anew, since answers or the
model's probabilities have to be taken back; a correction and new gold do not. Every answer is followed by a
decision made after it was counted, so that two followers, or one beside `ask`, end in the same state; none
of them overwrites a decision made from newer answers (`decide`). State is kept in memory.
"""

from __future__ import annotations

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
from dialint.labeling.store import change_feed
from dialint.labeling.store.counted_annotations import counted
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import MOST_PER_CALL
from dialint.labeling.store.permissions import authorised
from dialint.labeling.store.projects import existing
from dialint.labeling.store.records import Project
from dialint.labeling.store.tasks import TaskProgress, tasks_with_answers, want_if_unchanged


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


class TaskStatus(NamedTuple):
    """The least confidence in any question of a task, and what further answers to all of them would bring.
    `independent` says whether each has two independent opinions: of two people, or of one and of a model that
    is calibrated on this log."""

    confidence: float
    gains: tuple[float, ...]
    independent: bool = True


LEAST_CALIBRATION_QUESTIONS = 50
"""Questions of a code, answered by two people or known for sure, on which a model must have been compared
with them to count as calibrated."""
UNKNOWN_STATUS = TaskStatus(0.0, (), False)
"""Of a task for which nobody's answer counts (a ban) nothing is sure, and asking is taken to pay."""


def ask(store: Store, actor: str, config: AskConfig, taxonomy: Taxonomy) -> Counter[Decision]:
    """Make every task with answers want what it needs; how many of each decision.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: no such project.
        ConfigError: nobody has answered anything, or a rule that cannot be.
    """
    rule = overlap_rule(store, actor, config)
    found = task_statuses(load_posteriors(store, actor, config.project, taxonomy), rule)
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
    found: Iterable[TaskProgress],
    standing: Mapping[tuple[str, int | None], TaskStatus],
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
        known = standing.get((task.dialogue, task.turn), UNKNOWN_STATUS)
        decision = rule.decide(known.confidence, task.answered, known.gains)
        if decision is Decision.STOP and not known.independent:
            decision = Decision.ASK if task.answered < rule.maximum else Decision.GIVE_UP
        told[decision] += 1
        wanted = task.answered + (decision is Decision.ASK)
        if wanted != task.wanted and not (decision is Decision.ASK and task.leased):
            want_if_unchanged(store, actor, task, wanted)
    return told


def _project(transaction: Transaction, actor: str, name: str) -> Project:
    authorised(transaction, actor, "plan")
    project = existing(transaction, name)
    if project.purpose != "label":
        raise ConfigError("E_OPTION", f"{name}: only tasks of a project for labels ask by how sure they are")
    return project


def task_statuses(
    found: Iterable[QuestionPosterior], rule: OverlapRule, calibrated: frozenset[str] | None = None
) -> dict[tuple[str, int | None], TaskStatus]:
    """Where each turn of a dialogue stands and, under turn none, all of it: what is gained by further answers
    is the sum over the questions that are not sure. `calibrated` are the codes of which the model's
    probabilities are; those that `found` shows to be, if none are given."""
    found = tuple(found)
    calibrated = calibrated_codes(found) if calibrated is None else calibrated
    told: dict[tuple[str, int | None], TaskStatus] = {}
    for one in found:
        by_model = one.model is not None and one.code in calibrated
        independent = one.gold or one.n_labelers + by_model >= 2
        gains = one.gains if one.confidence < rule.sure else (0.0,) * len(one.gains)
        for turn in (one.turn, None):
            before = told.get((one.dialogue, turn), TaskStatus(1.0, ()))
            confidence = min(before.confidence, one.confidence)
            both = tuple(a + b for a, b in zip_longest(before.gains, gains, fillvalue=0.0))
            told[one.dialogue, turn] = TaskStatus(confidence, both, before.independent and independent)
    return told


def calibrated_codes(found: Iterable[QuestionPosterior]) -> frozenset[str]:
    """The codes of which a model has been compared with people on enough questions of this log."""
    n = Counter(one.code for one in found if one.model is not None and (one.gold or one.n_labelers >= 2))
    return frozenset(code for code, count in n.items() if count >= LEAST_CALIBRATION_QUESTIONS)


class FollowStep(NamedTuple):
    """Whether `all` tasks were decided on or those that news touched, and how many of each decision."""

    all: bool
    told: Counter[Decision]


def follow(
    store: Store, actor: str, config: AskConfig, taxonomy: Taxonomy, rest: Callable[[float], None]
) -> Iterator[FollowStep]:
    """Decide on all tasks, then on those that news touches, until `rest` raises; what was done, if anything.

    `rest` is called with 0 between two steps of work and with the seconds to wait where nothing is left.

    Raises:
        NotAllowed: the actor does not plan, or does not any more.
        StoreRefused: no such project.
        ConfigError: a rule that cannot be.
        WorldError: the database was away for too long; begin anew.
    """
    follower = Follower(store, actor, config, taxonomy, rest)
    yield follower.begin()
    while True:
        done = follower.step()
        if done.told:
            yield done
        rest(0.0 if follower.behind else config.every_s)


class Follower:
    """A project's answers as far as they were followed. `begin` comes first, then `step` as often as one
    likes; `behind` says that there is more news than the last one read."""

    def __init__(
        self, store: Store, actor: str, config: AskConfig, taxonomy: Taxonomy, rest: Callable[[float], None]
    ) -> None:
        self.behind = False
        self._store, self._actor, self._project = store, actor, config.project
        self._taxonomy, self._step = taxonomy, partial(rest, 0.0)
        self._rule = overlap_rule(store, actor, config)
        self._calibrated: frozenset[str] = frozenset()

    def begin(self) -> FollowStep:
        """Read and fit all answers; decide on all tasks."""
        self._upto = change_feed.now(self._store, self._actor)
        self._gold = load_gold(self._store, self._actor, self._taxonomy)
        found, known, of_dialogue = (
            CollectedAnswers(),
            context_loader(self._store),
            dialogue_codes(self._taxonomy),
        )
        for one in counted(self._store, self._actor, self._project):
            self._step()
            found.add(one, known, of_dialogue)
        self._opinion = RunningPosteriors(found, of_dialogue, self._step, self._gold)
        return FollowStep(True, self._decide(None))

    def step(self) -> FollowStep:
        """Take in what is new; decide on the tasks that it touches, of the same dialogues."""
        new = change_feed.since(self._store, self._actor, self._project, self._upto)
        self.behind = new.more
        if new.people or (new.verdicts and self._model_changed()):
            return self.begin()
        certain = self._made_certain() if new.gold else frozenset()
        changed = self._opinion.add(new.answers, context_loader(self._store))
        self._upto = new.upto
        touched = None if changed is None else changed | new.gave_back | certain
        return FollowStep(touched is None, self._decide(touched))

    def _model_changed(self) -> bool:
        """Whether there is a newer verdict on a dialogue that somebody answered."""
        newest = change_feed.releases(self._store, self._actor, self._project)
        known = self._opinion.answers.contexts
        return any(newest.get(name) != one.release for name, one in known.items())

    def _made_certain(self) -> frozenset[str]:
        """Dialogues of which something else is known for sure than before."""
        before, self._gold = self._gold, load_gold(self._store, self._actor, self._taxonomy)
        self._opinion.gold = self._gold
        return frozenset(key[0] for key, _ in before.present.items() ^ self._gold.present.items())

    def _decide(self, dialogues: Collection[str] | None) -> Counter[Decision]:
        if dialogues is not None:
            dialogues = dialogues & self._opinion.answers.contexts.keys()
            if not dialogues:
                return Counter()
            if len(dialogues) > MOST_PER_CALL:
                dialogues = None
        beliefs = tuple(map(self._gold.override, self._opinion.posteriors(dialogues)))
        if dialogues is None:
            self._calibrated = calibrated_codes(beliefs)
        found = task_statuses(beliefs, self._rule, self._calibrated)
        tasks = self._store.read(partial(tasks_with_answers, project=self._project, dialogues=dialogues))
        return decide(self._store, self._actor, self._rule, tasks, found, self._step)
