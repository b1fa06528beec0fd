"""The posterior of every answered question, people and model together, of answers in memory or in the store.

Gold takes part in the fit, where it informs the estimates of the labelers and of the other questions, and
replaces the posterior of its own question. Of the store, the answers of all people whose work counts are
read, in one project or everywhere.

Posteriors become labels in the store, one for each turn and code, replaced when there are more answers. Two
methods, the more trusted first where a turn and code has labels of both: ``expert`` (gold) and ``joint``
(people and model). An improbable error that no person marked and that has no label is not written: a turn and
code without a label counts as free of that error. One that a person marked, or that has a label, is written
however improbable it is, or the outdated label would stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import compress
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.errors import ConfigError, Message
from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Label
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.answers import Floats
from dialint.labeling.aggregation.dialogue_answers import (
    WHOLE_DIALOGUE,
    CollectedAnswers,
    DialogueContext,
    collect_answers,
    dialogue_codes,
)
from dialint.labeling.aggregation.joint import joint_posterior
from dialint.labeling.aggregation.joint_items import possible_votes
from dialint.labeling.aggregation.posterior import CELLS, Components
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import list_labelled_codes, load_dialogue, load_verdict
from dialint.labeling.store.dialogues import write_labels as put
from dialint.labeling.store.gold import list_gold
from dialint.labeling.store.stored_annotations import iterate_counted

METHODS_BY_TRUST = ("expert", "joint")
"""The most trusted first."""
BATCH_SIZE = 500
SURE_CONFIDENCE = 0.95


@Parameter(name="*")
@dataclass(frozen=True)
class StoreLabelsConfig:
    """The selection of the store's answers: those of a project or, without one, all."""

    project: str | None = None
    """Project in the store whose answers count."""
    least: Annotated[float, Field(ge=0, le=0.5)] = 0.01
    """A label in the store less probable than this is not written, unless somebody found the error or a label
    of it is there already."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class StoreLabelsSummary:
    """Counts of the `labels` written and of `questions`, of which `sure` have a confidence of 0.95 or more,
    `with_model` a model's probability, and `gold` are gold."""

    labels: int
    questions: int
    sure: int
    with_model: int
    gold: int


def aggregate_store(
    store: Store, actor: str, config: StoreLabelsConfig, taxonomy: Taxonomy
) -> StoreLabelsSummary:
    """Aggregate answers and write the labels.

    Raises:
        NotAllowed: the actor does not plan.
        ConfigError: nobody has answered anything.
    """
    posteriors = load_posteriors(store, actor, config.project, taxonomy)
    always: list[Label] = []
    only_if_labelled: list[Label] = []
    for one in posteriors:
        is_needed = one.gold or one.n_yes or one.probability >= config.least
        label = Label(
            dialogue_id=one.dialogue,
            turn=one.turn,
            code=one.code,
            probability=one.probability,
            method="expert" if one.gold else "joint",
            n_labelers=one.n_labelers,
            start=one.start,
            end=one.end,
        )
        (always if is_needed else only_if_labelled).append(label)
    n_labels = write_labels(store, actor, always)
    n_labels += write_labels(store, actor, only_if_labelled, only_existing=True)
    return StoreLabelsSummary(
        labels=n_labels,
        questions=len(posteriors),
        sure=sum(one.confidence >= SURE_CONFIDENCE for one in posteriors),
        with_model=sum(one.model is not None for one in posteriors),
        gold=sum(one.gold for one in posteriors),
    )


def write_labels(store: Store, actor: str, labels: Sequence[Label], *, only_existing: bool = False) -> int:
    """Write labels in batches, with `only_existing` only those of turns and codes that have a label already;
    returns how many.

    Raises:
        NotAllowed: the actor does not plan.
    """
    n = 0
    for start in range(0, len(labels), BATCH_SIZE):
        batch = list(labels[start : start + BATCH_SIZE])
        if only_existing:
            existing = store.read(partial(list_labelled_codes, dialogues={one.dialogue_id for one in batch}))
            batch = [one for one in batch if (one.dialogue_id, one.turn, one.code) in existing]
        if batch:
            put(store, actor, batch)
        n += len(batch)
    return n


def select_surest(labels: Iterable[Label]) -> Iterator[Label]:
    """Select the most trusted label of each turn and code of one dialogue, in their order."""
    rank = {method: number for number, method in enumerate(METHODS_BY_TRUST)}
    best: dict[tuple[int, str], Label] = {}
    for one in labels:
        before = best.setdefault((one.turn, one.code), one)
        if rank.get(one.method, len(rank)) < rank.get(before.method, len(rank)):
            best[one.turn, one.code] = one
    yield from best.values()


@dataclass(frozen=True, slots=True)
class QuestionPosterior:
    """The `probability` of an error of one code in one turn after `n_labelers` answered, `n_yes` of them with
    yes; `n_independent` of them do not always give the same answer (`Answers.constant_workers`).
    `model` is the model's probability, none where it has none or was in view; `gold` says that the answer is
    gold. `start` and `end` are the evidence on which most agree, if any is in this turn. `gains` are the
    expected gains of further answers, a row of `expected_gains`, empty for gold."""

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
        """True if all answers are the same."""
        return self.n_yes in (0, self.n_labelers)


GoldAnswers = Mapping[tuple[str, int, str], bool]
"""Presence of an error by dialogue, turn (or `WHOLE_DIALOGUE`) and code."""


def question_posteriors(
    answers: CollectedAnswers, gold: GoldAnswers | None = None
) -> Iterator[QuestionPosterior]:
    """The posteriors of the joint method, by code and in the order in which the questions were first
    answered; gold takes part in the fit and replaces the posterior of its own question."""
    tables, gold = answers.tables(), gold or {}
    for code, table in tables.items():
        model = answers.model_probabilities(code)
        gold_labels = np.array([int(gold.get((*item, code), -1)) for item in answers.codes[code].votes])
        posterior = joint_posterior(table, model, gold=gold_labels if gold else None)
        assert posterior.components is not None, "the joint method has them"
        ignored = frozenset(compress(table.workers, table.constant_workers()))
        rows = zip(
            answers.codes[code].votes.items(),
            posterior.probabilities[:, 1],
            expected_gains(posterior.components),
            model[:, 1],
            gold_labels,
            strict=True,
        )
        for (item, votes), probability, gains, by_model, present in rows:
            turn, start, end = answers.codes[code].locate(item, answers.contexts[item.dialogue].judged_turns)
            yield QuestionPosterior(
                item.dialogue,
                turn,
                code,
                float(probability if present < 0 else present),
                n_labelers=len(votes),
                n_yes=sum(map(bool, votes.values())),
                n_independent=len(votes.keys() - ignored),
                model=None if np.isnan(by_model) else float(by_model),
                gold=bool(present >= 0),
                start=start,
                end=end,
                gains=() if present >= 0 else tuple(gains.tolist()),
            )


LOOKAHEAD, OUTCOMES = 5, 150
"""Maximum number of further answers considered, and of the different votes that they may give; with many
labels fewer answers are considered."""


def expected_gains(components: Components) -> Floats:
    """The expected increase of the probability of the winner for each further answer of unknown workers, with
    up to 1, 2, ... `LOOKAHEAD` answers and the best number of them: shape (tasks, at most `LOOKAHEAD`), rows
    are ascending.

    One answer often cannot change a decision that three could, so the gain of several answers is computed,
    for each of them. Source: expected value of information (Raiffa and Schlaifer 1961, preposterior analysis)
    with the share of right decisions as the gain; Frazier and Powell 2010 on why one step is not enough.
    """
    size = components.shares.shape[1]
    most = max(n for n in range(1, LOOKAHEAD + 1) if n == 1 or math.comb(n + size - 1, n) <= OUTCOMES)
    now = (components.responsibilities @ components.label_probabilities).max(axis=1)
    gains = np.zeros((len(components.responsibilities), most))
    for n in range(1, most + 1):
        votes = possible_votes(n, size)
        orders = math.factorial(n) / np.array([math.prod(map(math.factorial, one)) for one in votes.tolist()])
        probability = np.exp(np.log(components.shares) @ votes.T) * orders  # (components, votes)
        for first in range(0, len(gains), step := max(1, CELLS // len(votes))):
            rows = slice(first, first + step)
            right = (
                components.responsibilities[rows] @ (probability * of[:, None])
                for of in components.label_probabilities.T
            )
            gains[rows, n - 1] = (reduce(np.maximum, right).sum(axis=1) - now[rows]) / n
    return np.maximum.accumulate(np.maximum(gains, 0.0), axis=1)


def load_posteriors(
    store: Store, actor: str, project: str | None, taxonomy: Taxonomy
) -> list[QuestionPosterior]:
    """The posteriors of all answered questions, by code and in the order in which they were first answered.

    `project` none takes all answers in the store, also imported ones.

    Raises:
        NotAllowed: the actor does not decide.
        ConfigError: nobody has answered anything.
    """
    gold = load_gold(store, actor, taxonomy)
    answers = load_answers(store, actor, project, taxonomy)
    return list(question_posteriors(answers, gold))


def load_answers(store: Store, actor: str, project: str | None, taxonomy: Taxonomy) -> CollectedAnswers:
    """The answers that count (`iterate_counted`), of a project or of the whole store.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """

    def load(transaction: Transaction, name: str) -> DialogueContext:
        dialogue = load_dialogue(transaction, name)
        assert dialogue is not None, "a foreign key"
        return DialogueContext.of(dialogue, load_verdict(transaction, name))

    annotations, codes = iterate_counted(store, actor, project), dialogue_codes(taxonomy)
    answers = collect_answers(annotations, lambda name: store.read(partial(load, name=name)), codes)
    require_answers(answers, project)
    return answers


def require_answers(answers: CollectedAnswers, project: str | None) -> None:
    """Raise `ConfigError` unless the project, or the store, has answers."""
    if not answers.codes:
        raise ConfigError("E_NO_RECORDS", "no answers in {name} yet", name=project or Message("the store"))


def load_gold(store: Store, actor: str, taxonomy: Taxonomy) -> GoldAnswers:
    """All gold, retired gold too; a code of dialogue scope is present if it is in any turn.

    Raises:
        NotAllowed: the actor does not decide.
    """
    codes, present = dialogue_codes(taxonomy), dict[tuple[str, int, str], bool]()
    for gold in list_gold(store, actor, retired=True):
        key = (gold.dialogue, WHOLE_DIALOGUE if gold.code in codes else gold.turn, gold.code)
        present[key] = gold.present or present.get(key, False)
    return present
