"""Bulk acceptance: questions on which all labelers agree become labels without another review.

Writes labels, never gold: nobody decided, and a crowd can be wrong together.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from dialint.detector.option_ranges import check_ranges
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.question_posteriors import QuestionPosterior, load_posteriors
from dialint.labeling.aggregation.store_labels import to_label, write_labels
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.permissions import require_permission

METHOD = "agreed"


@dataclass(frozen=True, kw_only=True)
class AcceptConfig:
    """Which questions are accepted in bulk."""

    project: str | None = None
    """Project of the answers; without one all answers in the store."""
    minimum: Annotated[int, Field(ge=1)] = 2
    """Minimum number of people who answered, all of them alike."""
    sure: Annotated[float, Field(ge=0.5, le=1)] = 0.8
    """Minimum probability of their answer in the joint posterior, which includes the model's score."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class AcceptCounts:
    """Number of undecided `questions`, of those on which all agree that the error is there (`yes`) or is
    not (`no`), and of `labels` written: a no is written only over an existing label."""

    questions: int
    yes: int
    no: int
    labels: int


@dataclass(frozen=True)
class AcceptPreview:
    """What would be accepted: its `counts`, with no label written, and a random `sample` of the questions."""

    counts: AcceptCounts
    sample: tuple[QuestionPosterior, ...]


def preview_agreed(
    store: Store, actor: str, config: AcceptConfig, taxonomy: Taxonomy, n: int = 10, seed: int = 0
) -> AcceptPreview:
    """Count the questions on which all agree, and draw `n` of them at random, errors first.

    Raises:
        NotAllowed: the actor does not plan.
        ConfigError: nobody has answered anything.
    """
    chosen, counts = _select(store, actor, config, taxonomy)
    sample = random.Random(seed).sample(chosen, min(n, len(chosen)))
    sample.sort(key=lambda one: (one.n_yes == 0, one.code, one.dialogue, one.turn))
    return AcceptPreview(counts, tuple(sample))


def accept_agreed(store: Store, actor: str, config: AcceptConfig, taxonomy: Taxonomy) -> AcceptCounts:
    """Write labels of probability 1 or 0 for the questions on which all agree.

    Raises:
        NotAllowed: the actor does not plan.
        ConfigError: nobody has answered anything.
    """
    chosen, counts = _select(store, actor, config, taxonomy)
    labels = [to_label(posterior, METHOD, float(posterior.n_yes > 0)) for posterior in chosen]
    n = write_labels(store, actor, [label for label in labels if label.probability])
    n += write_labels(store, actor, [label for label in labels if not label.probability], only_existing=True)
    return replace(counts, labels=n)


def _select(
    store: Store, actor: str, config: AcceptConfig, taxonomy: Taxonomy
) -> tuple[list[QuestionPosterior], AcceptCounts]:
    store.read(lambda transaction: require_permission(transaction, actor, "plan"))
    posteriors = load_posteriors(store, actor, config.project, taxonomy)
    undecided = [posterior for posterior in posteriors if not posterior.gold]
    chosen = find_agreed(undecided, config)
    yes = sum(posterior.n_yes > 0 for posterior in chosen)
    return chosen, AcceptCounts(len(undecided), yes, len(chosen) - yes, 0)


def find_agreed(posteriors: Iterable[QuestionPosterior], config: AcceptConfig) -> list[QuestionPosterior]:
    """The questions on which enough people agree, all of them, and the posterior is sure enough."""
    return [
        posterior
        for posterior in posteriors
        if posterior.unanimous
        and posterior.n_labelers >= config.minimum
        and (posterior.probability if posterior.n_yes else 1.0 - posterior.probability) >= config.sure
    ]
