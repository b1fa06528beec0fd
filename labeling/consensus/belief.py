"""What is believed of every question somebody answered: the joint posterior of people and model.

Gold takes part in the fit, from which the people and the other questions are known, and stands before it.
Reads the answers of people whose work counts, of one project or of the whole store; writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.consensus.gathering import ANYWHERE, Gathered, Item, Known, gathered
from dialint.labeling.store.annotations import counted
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import content_of, verdict_on
from dialint.labeling.store.labels import all_gold
from dialint.labeling.truth.answers import Floats
from dialint.labeling.truth.codes import posteriors
from dialint.labeling.truth.overlap import expected_gains


@dataclass(frozen=True, slots=True)
class Belief:
    """What is held of one turn and code: the `probability` of the error after `n_labelers` answered, of
    whom `n_yes` found it. `model` is its probability before anybody was asked, none where it is silent
    or was in view; `gold` says that it is known for sure. `start` and `end` are the evidence most agree
    on, if any is in this turn. `gains` are what further answers would bring, a row of
    `truth.overlap.expected_gains`, none where it is known for sure."""

    dialogue: str
    turn: int
    code: str
    probability: float
    n_labelers: int
    n_yes: int
    model: float | None = None
    gold: bool = False
    start: int | None = None
    end: int | None = None
    gains: tuple[float, ...] = ()

    @property
    def confidence(self) -> float:
        """The probability of the likelier answer, 0.5 to 1."""
        return max(self.probability, 1.0 - self.probability)

    @property
    def unanimous(self) -> bool:
        """Whether all who were asked said the same."""
        return self.n_yes in (0, self.n_labelers)


def believed(
    store: Store, actor: str, project: str | None, taxonomy: Taxonomy, *, share_workers: bool = False
) -> list[Belief]:
    """All beliefs, by code and in the order in which the questions were first answered.

    `project` none takes all answers in the store, also those that came from elsewhere. With
    `share_workers` all codes teach what a person is like.

    Raises:
        NotAllowed: the actor does not decide.
        ConfigError: nobody has answered anything.
    """
    known = Certainties.read(store, actor, taxonomy)
    found = answers_in(store, actor, project, taxonomy)
    return [known.instead_of(one) for one in beliefs(found, share_workers, known)]


def answers_in(store: Store, actor: str, project: str | None, taxonomy: Taxonomy) -> Gathered:
    """The answers of all whose work counts, in a project or in the whole store.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    found = gathered(counted(store, actor, project), known_in(store), whole(taxonomy))
    if not found.codes:
        raise ConfigError("E_NO_RECORDS", f"no answers in {project or 'the store'} yet")
    return found


def whole(taxonomy: Taxonomy) -> frozenset[str]:
    """Codes that are asked once a dialogue."""
    return frozenset(name for name, code in taxonomy.codes.items() if code.scope == "dialogue")


def known_in(store: Store) -> Callable[[str], Known]:
    """What the store knows of a dialogue, by name."""
    return lambda name: store.read(lambda transaction: _known(transaction, name))


def _known(transaction: Transaction, name: str) -> Known:
    dialogue = content_of(transaction, name)
    assert dialogue is not None, "a foreign key"
    return Known.of(dialogue, verdict_on(transaction, name))


def beliefs(
    found: Gathered, share_workers: bool = False, known: Certainties | None = None
) -> Iterator[Belief]:
    """What the joint method makes of gathered answers, and of what is `known` for sure."""
    tables = found.tables()
    models: dict[str, Floats] = {code: found.model(code) for code in tables}
    golds = None if known is None else {code: known.labels(code, found.codes[code].said) for code in tables}
    fitted = posteriors(tables, "joint", models, share_workers, golds)
    for code, posterior in fitted.items():
        assert posterior.components is not None, "the joint method has them"
        yes, gains = posterior.probabilities[:, 1], expected_gains(posterior.components)
        yield from told(found, code, found.codes[code].said, yes, gains, models[code])


def told(
    found: Gathered,
    code: str,
    items: Iterable[Item],
    probabilities: Iterable[float],
    gains: Floats,
    model: Floats,
) -> Iterator[Belief]:
    """Beliefs of some items of a code; `gains` are rows of `expected_gains`, `model` those of
    `Gathered.model`."""
    answers = found.codes[code]
    for item, probability, gain, said in zip(items, probabilities, gains, model[:, 1], strict=True):
        votes = answers.said[item]
        turn, start, end = answers.place(item, found.known[item.dialogue].judged)
        yield Belief(
            item.dialogue, turn, code, float(probability), len(votes), sum(votes.values()),
            None if said != said else float(said), False, start, end, tuple(gain.tolist()),
        )  # fmt: skip


@dataclass(frozen=True)
class Certainties:
    """What is known for sure: whether the error `code` is in a `turn` (or `ANYWHERE`) of a dialogue."""

    present: Mapping[tuple[str, int, str], bool]
    of_dialogue: frozenset[str]

    @classmethod
    def read(cls, store: Store, actor: str, taxonomy: Taxonomy) -> Certainties:
        """All gold; a code of dialogue scope is there, if it is in any turn.

        Raises:
            NotAllowed: the actor does not decide.
        """
        of_dialogue, found = whole(taxonomy), dict[tuple[str, int, str], bool]()
        for one in all_gold(store, actor, retired=True):
            key = (one.dialogue, ANYWHERE if one.code in of_dialogue else one.turn, one.code)
            found[key] = one.present or found.get(key, False)
        return cls(found, of_dialogue)

    def labels(self, code: str, items: Iterable[Item]) -> NDArray[np.int64]:
        """For each item the place among `ANSWERS` of what is known of it, or -1, shape (items,)."""
        found = (self.present.get((item.dialogue, item.turn, code)) for item in items)
        return np.array([-1 if present is None else int(present) for present in found], np.int64)

    def instead_of(self, one: Belief) -> Belief:
        """The belief, or what is known for sure in its place."""
        turn = ANYWHERE if one.code in self.of_dialogue else one.turn
        present = self.present.get((one.dialogue, turn, one.code))
        return one if present is None else replace(one, probability=float(present), gold=True, gains=())
