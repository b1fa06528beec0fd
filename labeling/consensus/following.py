"""Dynamic overlap that follows the answers: as soon as one is in, the tasks it touches stop or ask again.

Begins like `ask`, with all answers and all tasks, and then listens to the audit log (`store.crowd.news`). A
ban or a verdict of a new release is answered by reading everything anew, since answers or the model's word
are to be taken back; a correction and new gold are not. Every answer is followed by a decision made after
it was taken in, whatever came between, so that two who follow, or one beside `ask`, end at the same; none
of them overwrites what was decided from newer answers (`decide`). Keeps what it knows in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import NamedTuple

from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.consensus.asking import (
    AskConfig,
    calibrated_codes,
    decide,
    overlap_rule,
    standings,
    tasks_with_answers,
)
from dialint.labeling.consensus.belief import Certainties, known_in, whole
from dialint.labeling.consensus.gathering import Gathered
from dialint.labeling.consensus.opinion import Opinion
from dialint.labeling.store.annotations import counted
from dialint.labeling.store.crowd import news
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import MOST_PER_CALL
from dialint.labeling.truth.overlap import Decision


class Round(NamedTuple):
    """Whether `all` tasks were decided on or those that news touched, and how many of each decision."""

    all: bool
    told: Counter[Decision]


def follow(
    store: Store, actor: str, config: AskConfig, taxonomy: Taxonomy, rest: Callable[[float], None]
) -> Iterator[Round]:
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

    def begin(self) -> Round:
        """Read and fit all answers; decide on all tasks."""
        self._upto = news.now(self._store, self._actor)
        self._gold = Certainties.read(self._store, self._actor, self._taxonomy)
        found, known, of_dialogue = Gathered(), known_in(self._store), whole(self._taxonomy)
        for one in counted(self._store, self._actor, self._project):
            self._step()
            found.take_in(one, known, of_dialogue)
        self._opinion = Opinion(found, of_dialogue, self._step, self._gold)
        return Round(True, self._decide(None))

    def step(self) -> Round:
        """Take in what is new; decide on the tasks that it touches, of the same dialogues."""
        new = news.since(self._store, self._actor, self._project, self._upto)
        self.behind = new.more
        if new.people or (new.verdicts and self._model_changed()):
            return self.begin()
        certain = self._made_certain() if new.gold else frozenset()
        changed = self._opinion.take_in(new.answers, known_in(self._store))
        self._upto = new.upto
        touched = None if changed is None else changed | new.gave_back | certain
        return Round(touched is None, self._decide(touched))

    def _model_changed(self) -> bool:
        """Whether there is a newer verdict on a dialogue that somebody answered."""
        newest = news.releases(self._store, self._actor, self._project)
        known = self._opinion.found.known
        return any(newest.get(name) != one.release for name, one in known.items())

    def _made_certain(self) -> frozenset[str]:
        """Dialogues of which something else is known for sure than before."""
        before, self._gold = self._gold, Certainties.read(self._store, self._actor, self._taxonomy)
        self._opinion.certain = self._gold
        return frozenset(key[0] for key, _ in before.present.items() ^ self._gold.present.items())

    def _decide(self, dialogues: Collection[str] | None) -> Counter[Decision]:
        if dialogues is not None:
            dialogues = dialogues & self._opinion.found.known.keys()
            if not dialogues:
                return Counter()
            if len(dialogues) > MOST_PER_CALL:
                dialogues = None
        beliefs = tuple(map(self._gold.instead_of, self._opinion.beliefs(dialogues)))
        if dialogues is None:
            self._calibrated = calibrated_codes(beliefs)
        found = standings(beliefs, self._rule, self._calibrated)
        tasks = self._store.read(partial(tasks_with_answers, project=self._project, dialogues=dialogues))
        return decide(self._store, self._actor, self._rule, tasks, found, self._step)
