"""Beliefs become labels in the store: one a turn and code, replaced when more is known.

Three methods, the surer before the less sure where a question has several: ``expert`` (gold), ``agreed``
(bulk acceptance) and ``joint`` (people and model). What nobody found, is improbable and was never a label
is not written: a turn and code without a label is held to be free of that error. What somebody found, or
was a label before, is written however improbable it is, or the older opinion would stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from cyclopts import Parameter

from dialint.detector.errors import ConfigError
from dialint.detector.records import Label
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.question_posteriors import QuestionPosterior
from dialint.labeling.aggregation.store_reader import load_posteriors
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.labels import labelled_codes, put

METHODS_BY_TRUST = ("expert", "agreed", "joint")
"""The surest first."""
BATCH_SIZE = 500


@Parameter(name="*")
@dataclass(frozen=True)
class StoreLabelsConfig:
    """Which answers in the store become labels: of a project or, without one, all."""

    project: str | None = None
    """Project in the store whose answers count."""
    least: float = 0.01
    """A label in the store less probable than this is not written, unless somebody found it or one stands
    there."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.least <= 0.5:
            raise ConfigError("E_OPTION", "--least: expected 0 to 0.5")


@dataclass(frozen=True)
class StoreLabelsSummary:
    """What was written: `labels` of `questions`, `sure` of which have a confidence of 0.95 or more,
    `spoken` with the model's word, `gold` known for sure."""

    labels: int
    questions: int
    sure: int
    spoken: int
    gold: int


SURE_CONFIDENCE = 0.95


def aggregate_store(
    store: Store, actor: str, config: StoreLabelsConfig, taxonomy: Taxonomy, *, share_workers: bool = False
) -> StoreLabelsSummary:
    """Aggregate and write; what was written. With `share_workers` all codes teach what a person is like.

    Raises:
        NotAllowed: the actor does not plan.
        ConfigError: nobody has answered anything.
    """
    found = load_posteriors(store, actor, config.project, taxonomy, share_workers=share_workers)
    needed = [one for one in found if one.gold or one.n_yes or one.probability >= config.least]
    rest = [one for one in found if not (one.gold or one.n_yes or one.probability >= config.least)]
    written = write_labels(store, actor, [_label(one) for one in needed])
    written += write_labels(store, actor, [_label(one) for one in rest], over=True)
    return StoreLabelsSummary(
        labels=written,
        questions=len(found),
        sure=sum(one.confidence >= SURE_CONFIDENCE for one in found),
        spoken=sum(one.model is not None for one in found),
        gold=sum(one.gold for one in found),
    )


def _label(one: QuestionPosterior) -> Label:
    return to_label(one, "expert" if one.gold else "joint", one.probability)


def to_label(one: QuestionPosterior, method: str, probability: float) -> Label:
    """A belief as a label of that method."""
    return Label(
        dialogue_id=one.dialogue,
        turn=one.turn,
        code=one.code,
        probability=probability,
        method=method,
        n_labelers=one.n_labelers,
        start=one.start,
        end=one.end,
    )


def write_labels(store: Store, actor: str, wanted: Sequence[Label], *, over: bool = False) -> int:
    """Put labels in, with `over` only those of turns and codes that have one already; how many.

    Raises:
        NotAllowed: the actor does not plan.
    """
    n = 0
    for start in range(0, len(wanted), BATCH_SIZE):
        piece = list(wanted[start : start + BATCH_SIZE])
        if over:
            there = store.read(partial(labelled_codes, dialogues={one.dialogue_id for one in piece}))
            piece = [one for one in piece if (one.dialogue_id, one.turn, one.code) in there]
        if piece:
            put(store, actor, piece)
        n += len(piece)
    return n


def select_surest(found: Iterable[Label]) -> Iterator[Label]:
    """Of the labels of one dialogue the surest of each turn and code, in their order."""
    best: dict[tuple[int, str], Label] = {}
    for one in found:
        key = (one.turn, one.code)
        if key not in best or _rank(one) < _rank(best[key]):
            best[key] = one
    yield from best.values()


def _rank(one: Label) -> int:
    return METHODS_BY_TRUST.index(one.method) if one.method in METHODS_BY_TRUST else len(METHODS_BY_TRUST)
