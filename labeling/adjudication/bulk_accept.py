"""Bulk acceptance: what all who were asked agree on becomes a label, without anybody looking again.

Makes labels, never gold: nobody decided, and a crowd can be wrong together. Counts first; accepts only
when told to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.aggregation.question_posteriors import QuestionPosterior
from dialint.labeling.aggregation.store_labels import to_label, write_labels
from dialint.labeling.aggregation.store_reader import load_posteriors
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.permissions import require_permission

METHOD = "agreed"


@dataclass(frozen=True)
class AcceptConfig:
    """What is accepted in bulk."""

    project: str | None = None
    """Project whose answers are looked at; without one all answers in the store."""
    minimum: int = 2
    """Fewest people who must have answered, all of them alike."""
    sure: float = 0.8
    """Probability that the joint posterior must give to what they say, the model's doubt included."""
    apply: bool = False
    """Accept; without it only count."""

    def __post_init__(self) -> None:
        if self.minimum < 1 or not 0.5 <= self.sure <= 1.0:
            raise ConfigError("E_OPTION", "--minimum: at least 1; --sure: expected 0.5 to 1")


@dataclass(frozen=True)
class AcceptCounts:
    """Of `questions` that are not decided, on how many all agree that the error is there (`yes`) or is
    not (`no`), and how many `labels` were written for it: a no is written where a label stood."""

    questions: int
    yes: int
    no: int
    labels: int


def accept_agreed(store: Store, actor: str, config: AcceptConfig, taxonomy: Taxonomy) -> AcceptCounts:
    """Count what all agree on and, if `config.apply`, make it labels of probability 1 or 0.

    Raises:
        NotAllowed: the actor does not plan.
        ConfigError: nobody has answered anything.
    """
    store.read(lambda transaction: _may(transaction, actor))
    undecided = [one for one in load_posteriors(store, actor, config.project, taxonomy) if not one.gold]
    chosen = find_agreed(undecided, config)
    yes = sum(one.n_yes > 0 for one in chosen)
    written = 0
    if config.apply:
        labels = [to_label(one, METHOD, float(one.n_yes > 0)) for one in chosen]
        written = write_labels(store, actor, [one for one in labels if one.probability])
        written += write_labels(
            store, actor, [one for one in labels if not one.probability], only_existing=True
        )
    return AcceptCounts(len(undecided), yes, len(chosen) - yes, written)


def _may(transaction: Transaction, actor: str) -> None:
    require_permission(transaction, actor, "plan")


def find_agreed(posteriors: Iterable[QuestionPosterior], config: AcceptConfig) -> list[QuestionPosterior]:
    """Those on which enough people agree, all of them, and the posterior with them."""
    return [
        one
        for one in posteriors
        if one.unanimous
        and one.n_labelers >= config.minimum
        and (one.probability if one.n_yes else 1.0 - one.probability) >= config.sure
    ]
