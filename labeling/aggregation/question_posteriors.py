"""The posterior of every answered question: people and model together.

Gold takes part in the fit, where it informs the estimates of the labelers and of the other questions, and
replaces the posterior of its own question. `question_posteriors` fits once, `RunningPosteriors` is updated
with new answers. Independent of the store (`store_reader`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from dialint.labeling.aggregation.answers import Floats
from dialint.labeling.aggregation.dialogue_answers import (
    ANSWERS,
    WHOLE_DIALOGUE,
    CollectedAnswers,
    DialogueContext,
    Item,
)
from dialint.labeling.aggregation.incremental import IncrementalPosterior
from dialint.labeling.aggregation.joint import Assumptions, choose_assumptions, fit_joint
from dialint.labeling.aggregation.methods import aggregate_codes
from dialint.labeling.aggregation.overlap import expected_gains
from dialint.labeling.annotation import Annotation


@dataclass(frozen=True, slots=True)
class QuestionPosterior:
    """The `probability` of an error of one code in one turn after `n_labelers` answered, of whom `n_yes`
    found it; `n_independent` of them do not always give the same answer (`Answers.constant_workers`).
    `model` is the model's probability, none where it has none or was in view; `gold` says that the answer is
    gold. `start` and `end` are the evidence most agree on, if any is in this turn. `gains` are what further
    answers are expected to bring, a row of `aggregation.overlap.expected_gains`, empty for gold."""

    dialogue: str
    turn: int
    code: str
    probability: float
    n_labelers: int
    n_yes: int
    n_independent: int
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
        """Whether everybody gave the same answer."""
        return self.n_yes in (0, self.n_labelers)


@dataclass(frozen=True)
class GoldAnswers:
    """Whether the error `code` is in a `turn` (or `WHOLE_DIALOGUE`) of a dialogue, where gold tells."""

    present: Mapping[tuple[str, int, str], bool]
    dialogue_codes: frozenset[str]

    def labels(self, code: str, items: Iterable[Item]) -> NDArray[np.int64]:
        """The index in `ANSWERS` of the gold of each item, -1 without gold, shape (items,)."""
        present = (self.present.get((item.dialogue, item.turn, code)) for item in items)
        return np.array([-1 if one is None else int(one) for one in present], np.int64)

    def override(self, posterior: QuestionPosterior) -> QuestionPosterior:
        """The posterior, or the gold of its question in its place."""
        turn = WHOLE_DIALOGUE if posterior.code in self.dialogue_codes else posterior.turn
        present = self.present.get((posterior.dialogue, turn, posterior.code))
        if present is None:
            return posterior
        return replace(posterior, probability=float(present), gold=True, gains=())


def question_posteriors(
    answers: CollectedAnswers, share_workers: bool = False, gold: GoldAnswers | None = None
) -> Iterator[QuestionPosterior]:
    """The posteriors of the joint method, by code and in the order in which the questions were first
    answered; those of gold questions are not replaced (`GoldAnswers.override`)."""
    tables = answers.tables()
    models: dict[str, Floats] = {code: answers.model_probabilities(code) for code in tables}
    golds = None if gold is None else {code: gold.labels(code, answers.codes[code].votes) for code in tables}
    for code, posterior in aggregate_codes(tables, "joint", models, share_workers, golds).items():
        assert posterior.components is not None, "the joint method has them"
        yes, gains = posterior.probabilities[:, 1], expected_gains(posterior.components)
        ignored = frozenset(compress(tables[code].workers, tables[code].constant_workers()))
        yield from _by_question(answers, code, answers.codes[code].votes, yes, gains, models[code], ignored)


def _by_question(
    answers: CollectedAnswers,
    code: str,
    items: Iterable[Item],
    probabilities: Iterable[float],
    gains: Floats,
    model: Floats,
    ignored: frozenset[str],
) -> Iterator[QuestionPosterior]:
    """Of some items of a code; `gains` are rows of `expected_gains`, `model` those of
    `CollectedAnswers.model_probabilities`, `ignored` the labelers whose answers carry no evidence."""
    of_code = answers.codes[code]
    for item, probability, gain, by_model in zip(items, probabilities, gains, model[:, 1], strict=True):
        votes = of_code.votes[item]
        turn, start, end = of_code.locate(item, answers.contexts[item.dialogue].judged_turns)
        yield QuestionPosterior(
            item.dialogue,
            turn,
            code,
            float(probability),
            n_labelers=len(votes),
            n_yes=sum(votes.values()),
            n_independent=len(votes.keys() - ignored),
            model=None if np.isnan(by_model) else float(by_model),
            start=start,
            end=end,
            gains=tuple(gain.tolist()),
        )


GROWTH = 0.05
"""Share of new answers at which everything is refitted. Until then the decisions on changed tasks are those
of a refit but for 4 %, of which all but 1 in 12 are within 0.05 of being sure (3 simulated crowds,
2026-11-23; tolerance in `tests/labeling/aggregation/test_question_posteriors.py`)."""


class RunningPosteriors:
    """The joint posterior of all `answers` so far and of those added afterwards; `gold` takes part in every
    fit. `on_fit` is called before each code is fitted and may raise to end it.

    All codes are refitted whenever answers have grown by `GROWTH`: so the cost of a fit is spread over many
    answers however large a project is, and a small one is refitted nearly always. The `assumptions` of a fit
    (with the number of answers they were chosen from) are chosen anew when a code's answers have doubled, and
    kept in between: which answers are held out for the choice is random, and where another form of items is
    chosen, a quarter of all decisions change (36 simulated crowds, 2026-11-22): tasks would be closed and
    reopened repeatedly.
    """

    def __init__(
        self,
        answers: CollectedAnswers,
        dialogue_codes: frozenset[str],
        on_fit: Callable[[], None] = lambda: None,
        gold: GoldAnswers | None = None,
    ) -> None:
        self.answers, self.gold = answers, gold
        self.assumptions: dict[str, tuple[Assumptions, int]] = {}
        self._dialogue_codes, self._on_fit = dialogue_codes, on_fit
        self._fit()

    def add(
        self, annotations: Sequence[Annotation], load_context: Callable[[str], DialogueContext]
    ) -> frozenset[str] | None:
        """Add answers, oldest first; returns the dialogues whose posteriors changed, none for all after a
        refit."""
        new: dict[str, dict[tuple[Item, str], bool]] = {}
        for annotation in annotations:
            for code, item in self.answers.add(annotation, load_context, self._dialogue_codes):
                vote = self.answers.codes[code].votes[item][annotation.labeler]
                new.setdefault(code, {})[item, annotation.labeler] = vote
        self._n_new += sum(map(len, new.values()))
        if self._n_new > GROWTH * self._n_fitted or not new.keys() <= self._by_code.keys():
            self._fit()
            return None
        for code, votes in new.items():
            rows = [(item.name, worker, ANSWERS[yes]) for (item, worker), yes in votes.items()]
            items = list(dict.fromkeys(item for item, _ in votes))
            model = self.answers.model_probabilities(code, items).tolist()
            self._by_code[code].update(rows, {i.name: row for i, row in zip(items, model, strict=True)})
        return frozenset(item.dialogue for votes in new.values() for item, _ in votes)

    def posteriors(self, dialogues: Collection[str] | None = None) -> Iterator[QuestionPosterior]:
        """The posterior of every question somebody answered, in all dialogues or in some."""
        for code, running in self._by_code.items():
            items = list(self._items(code, dialogues))
            probabilities = [float(running.probabilities(item.name)[1]) for item in items]
            gains = expected_gains(running.components([item.name for item in items]))
            model = self.answers.model_probabilities(code, items)
            ignored = self._ignored[code]
            yield from _by_question(self.answers, code, items, probabilities, gains, model, ignored)

    def _fit(self) -> None:
        self._by_code: dict[str, IncrementalPosterior] = {}
        self._ignored: dict[str, frozenset[str]] = {}
        self._n_fitted = self._n_new = 0
        for code, table in self.answers.tables().items():
            self._on_fit()
            model, votes = self.answers.model_probabilities(code), self.answers.codes[code].votes
            gold = None if self.gold is None else self.gold.labels(code, votes)
            ignored = table.constant_workers()
            self._ignored[code] = frozenset(compress(table.workers, ignored))
            table = table.where(~ignored[table.worker])
            if code not in self.assumptions or len(table) >= 2 * self.assumptions[code][1]:
                self.assumptions[code] = choose_assumptions(table, model, gold=gold), len(table)
            fit = fit_joint(table, model, self.assumptions[code][0], gold=gold)
            self._by_code[code] = IncrementalPosterior(fit, table, self._ignored[code])
            self._n_fitted += len(table)

    def _items(self, code: str, dialogues: Collection[str] | None) -> Iterator[Item]:
        votes = self.answers.codes[code].votes
        if dialogues is None:
            yield from votes
            return
        for name in dialogues:
            turns = (WHOLE_DIALOGUE, *self.answers.contexts[name].judged_turns)
            yield from (item for item in (Item(name, turn) for turn in turns) if item in votes)
