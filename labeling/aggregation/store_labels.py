"""Writes posteriors as labels to the store: one for each turn and code, replaced when there are more answers.

Three methods, the most trusted first where a turn and code has labels of several: ``expert`` (gold),
``agreed`` (bulk acceptance) and ``joint`` (people and model). What is improbable, and neither found by
anybody nor labeled before, is not written: a turn and code without a label counts as free of that error. What
somebody found, or what has a label, is written however improbable it is, or the outdated label would stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.option_ranges import check_ranges
from dialint.detector.records import Label
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.question_posteriors import QuestionPosterior, load_posteriors
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import list_labelled_codes
from dialint.labeling.store.dialogues import write_labels as put

METHODS_BY_TRUST = ("expert", "joint")
"""The most trusted first."""
BATCH_SIZE = 500
SURE_CONFIDENCE = 0.95


@Parameter(name="*")
@dataclass(frozen=True)
class StoreLabelsConfig:
    """Which answers in the store are aggregated: those of a project or, without one, all."""

    project: str | None = None
    """Project in the store whose answers count."""
    least: Annotated[float, Field(ge=0, le=0.5)] = 0.01
    """A label in the store less probable than this is not written, unless somebody found the error or a label
    of it is there already."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class StoreLabelsSummary:
    """What was written: `labels` of `questions`; of the questions `sure` have a confidence of 0.95 or more,
    `with_model` a model's probability, `gold` are gold."""

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
        label = to_label(one, "expert" if one.gold else "joint", one.probability)
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


def to_label(posterior: QuestionPosterior, method: str, probability: float) -> Label:
    """The label of a question."""
    return Label(
        dialogue_id=posterior.dialogue,
        turn=posterior.turn,
        code=posterior.code,
        probability=probability,
        method=method,
        n_labelers=posterior.n_labelers,
        start=posterior.start,
        end=posterior.end,
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

    def rank(label: Label) -> int:
        ranked = label.method in METHODS_BY_TRUST
        return METHODS_BY_TRUST.index(label.method) if ranked else len(METHODS_BY_TRUST)

    best: dict[tuple[int, str], Label] = {}
    for one in labels:
        key = (one.turn, one.code)
        if key not in best or rank(one) < rank(best[key]):
            best[key] = one
    yield from best.values()
