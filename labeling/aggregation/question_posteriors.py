"""The posterior of every question that somebody answered: people and model together.

Gold takes part in the fit, which tells what the people and the other questions are like, and replaces the
posterior of its own question. `question_posteriors` fits once, `RunningPosteriors` follows answers as they
come. Knows no store (`store_reader`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Floats
from dialint.labeling.aggregation.dialogue_answers import (
    ANSWERS,
    ANYWHERE,
    CollectedAnswers,
    DialogueContext,
    Item,
)
from dialint.labeling.aggregation.incremental import IncrementalPosterior
from dialint.labeling.aggregation.joint import Assumptions, choose_assumptions, fitted
from dialint.labeling.aggregation.methods import posteriors
from dialint.labeling.aggregation.overlap import expected_gains
from dialint.labeling.annotation import Annotation


@dataclass(frozen=True, slots=True)
class QuestionPosterior:
    """What is held of one turn and code: the `probability` of the error after `n_labelers` answered, of
    whom `n_yes` found it. `model` is its probability before anybody was asked, none where it is silent
    or was in view; `gold` says that it is known for sure. `start` and `end` are the evidence most agree
    on, if any is in this turn. `gains` are what further answers would bring, a row of
    `aggregation.overlap.expected_gains`, none where it is known for sure."""

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


def question_posteriors(
    found: CollectedAnswers, share_workers: bool = False, known: GoldAnswers | None = None
) -> Iterator[QuestionPosterior]:
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
    found: CollectedAnswers,
    code: str,
    items: Iterable[Item],
    probabilities: Iterable[float],
    gains: Floats,
    model: Floats,
) -> Iterator[QuestionPosterior]:
    """Beliefs of some items of a code; `gains` are rows of `expected_gains`, `model` those of
    `CollectedAnswers.model`."""
    answers = found.codes[code]
    for item, probability, gain, said in zip(items, probabilities, gains, model[:, 1], strict=True):
        votes = answers.said[item]
        turn, start, end = answers.place(item, found.known[item.dialogue].judged)
        yield QuestionPosterior(
            item.dialogue, turn, code, float(probability), len(votes), sum(votes.values()),
            None if said != said else float(said), False, start, end, tuple(gain.tolist()),
        )  # fmt: skip


@dataclass(frozen=True)
class GoldAnswers:
    """What is known for sure: whether the error `code` is in a `turn` (or `ANYWHERE`) of a dialogue."""

    present: Mapping[tuple[str, int, str], bool]
    of_dialogue: frozenset[str]

    def labels(self, code: str, items: Iterable[Item]) -> NDArray[np.int64]:
        """For each item the place among `ANSWERS` of what is known of it, or -1, shape (items,)."""
        found = (self.present.get((item.dialogue, item.turn, code)) for item in items)
        return np.array([-1 if present is None else int(present) for present in found], np.int64)

    def instead_of(self, one: QuestionPosterior) -> QuestionPosterior:
        """The belief, or what is known for sure in its place."""
        turn = ANYWHERE if one.code in self.of_dialogue else one.turn
        present = self.present.get((one.dialogue, turn, one.code))
        return one if present is None else replace(one, probability=float(present), gold=True, gains=())


GROWTH = 0.05
"""Share of new answers at which a fit is old. Until then the decisions on touched tasks are those of a refit
but for 4 %, of which all but 1 in 12 are within 0.05 of being sure (3 simulated crowds, 2026-11-23; tolerance
in `tests/labeling/aggregation/test_question_posteriors.py`)."""


class RunningPosteriors:
    """The joint posterior of all that was `found` so far and of what is taken in afterwards; `assumed` has
    what was chosen for each code, and from how many answers. What is `certain` takes part in every fit.
    `step` is called before each code is fitted and may raise to end it."""

    def __init__(
        self,
        found: CollectedAnswers,
        of_dialogue: frozenset[str],
        step: Callable[[], None] = lambda: None,
        certain: GoldAnswers | None = None,
    ) -> None:
        self.found, self.certain = found, certain
        self.assumed: dict[str, tuple[Assumptions, int]] = {}
        self._of_dialogue, self._step = of_dialogue, step
        self._fit()

    def take_in(
        self, annotations: Sequence[Annotation], known: Callable[[str], DialogueContext]
    ) -> frozenset[str] | None:
        """Count answers, oldest first; the dialogues of which something else is held now, none for all: it
        was fitted anew."""
        fresh: dict[str, dict[tuple[Item, str], bool]] = {}
        for one in annotations:
            for code, item in self.found.take_in(one, known, self._of_dialogue):
                fresh.setdefault(code, {})[item, one.labeler] = self.found.codes[code].said[item][one.labeler]
        self._n_new += sum(map(len, fresh.values()))
        if self._n_new > GROWTH * self._n_fitted or not fresh.keys() <= self._running.keys():
            self._fit()
            return None
        for code, answers in fresh.items():
            self._update(code, answers)
        return frozenset(item.dialogue for answers in fresh.values() for item, _ in answers)

    def beliefs(self, dialogues: Collection[str] | None = None) -> Iterator[QuestionPosterior]:
        """What is held of every question somebody answered, in all dialogues or in some."""
        for code, running in self._running.items():
            items = list(self._items(code, dialogues))
            probabilities = [float(running.probabilities(item.name)[1]) for item in items]
            gains = expected_gains(running.components([item.name for item in items]))
            yield from told(self.found, code, items, probabilities, gains, self.found.model(code, items))

    def _fit(self) -> None:
        self._running: dict[str, IncrementalPosterior] = {}
        self._n_fitted = self._n_new = 0
        for code, table in self.found.tables().items():
            self._step()
            model = self.found.model(code)
            gold = None if self.certain is None else self.certain.labels(code, self.found.codes[code].said)
            if code not in self.assumed or len(table) >= 2 * self.assumed[code][1]:
                self.assumed[code] = choose_assumptions(table, model, gold=gold), len(table)
            self._running[code] = IncrementalPosterior(
                fitted(table, model, self.assumed[code][0], gold=gold), table
            )
            self._n_fitted += len(table)

    def _update(self, code: str, answers: dict[tuple[Item, str], bool]) -> None:
        rows = [(item.name, who, ANSWERS[yes]) for (item, who), yes in answers.items()]
        items = list(dict.fromkeys(item for item, _ in answers))
        model = zip((item.name for item in items), self.found.model(code, items).tolist(), strict=True)
        self._running[code].update(rows, dict(model))

    def _items(self, code: str, dialogues: Collection[str] | None) -> Iterator[Item]:
        said = self.found.codes[code].said
        if dialogues is None:
            yield from said
            return
        for name in dialogues:
            asked = (Item(name, turn) for turn in (ANYWHERE, *self.found.known[name].judged))
            yield from (item for item in asked if item in said)
