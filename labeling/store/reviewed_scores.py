"""Reviewed scores: the quality of dialogues by what people decided, beside that of the model.

A reviewed score is `Taxonomy.quality` of the errors that stand after reviews, adjudication and appeals
(`database.decisions`). The derived tables keep the severities, not the score, so that it follows the weights
of the taxonomy. Means are of reviewed dialogues alone, which are no random sample of all.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Select, func, literal, select

from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.database.derived import DAY_MS, cut_name, first_number
from dialint.labeling.store.database.schema import dialogue_index
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.insights import require_own_or_plan
from dialint.labeling.store.permissions import read_operation

By = Literal["total", "agent", "week"]


class ReviewedScore(NamedTuple):
    """Mean scores of `n` reviewed dialogues: `reviewed` by what people decided, and `model` of those
    `n_model` of them to which the model gave a quality, None without any. `key` is the agent, or the number
    of the week from 0, empty for the total."""

    key: str
    n: int
    reviewed: float
    n_model: int
    model: float | None


def score_reviewed(severities: str | None) -> float | None:
    """The reviewed score of a dialogue from its ``reviewed_severities``; None if it has none."""
    return None if severities is None else load_taxonomy().quality_of(severities.split())


@read_operation()
def read_reviewed_scores(
    transaction: Transaction,
    actor: str,
    by: By,
    since_ms: int,
    until_ms: int,
    *,
    agent: str | None = None,
    team: str | None = None,
    channel: str | None = None,
) -> tuple[ReviewedScore, ...]:
    """The mean scores of the reviewed dialogues in ``[since_ms, until_ms)``, in order of the key; weeks are
    counted from the day of `since_ms`. Nothing is returned for a key without a reviewed dialogue.

    Raises:
        NotAllowed: the actor does not plan, and it is not their own agent.
    """
    require_own_or_plan(transaction, actor, agent)
    columns = dialogue_index.c
    week = (columns.day - max(0, since_ms) // DAY_MS) // 7
    keys: dict[By, ColumnElement[Any]] = {"total": literal(""), "agent": columns.agent, "week": week}
    filters = {"agent": agent, "team": team, "channel": channel}
    query: Select[Any] = select(
        keys[by].label("key"), columns.reviewed_severities, func.count(), func.count(columns.quality),
        func.sum(columns.quality),
    ).where(
        columns.reviewed_severities.is_not(None),
        columns.number >= first_number(max(0, since_ms)),
        columns.number < first_number(max(0, until_ms)),
        *(columns[name] == cut_name(value) for name, value in filters.items() if value is not None),
    )  # fmt: skip
    sums: dict[Any, list[float]] = defaultdict(lambda: [0, 0.0, 0, 0.0])
    for key, severities, n, n_model, model in map(
        tuple, transaction.run(query.group_by("key", columns.reviewed_severities))
    ):
        reviewed = score_reviewed(severities) or 0.0
        for place, value in enumerate((n, n * reviewed, n_model, model or 0.0)):
            sums[key][place] += value
    return tuple(
        ReviewedScore(str(key), int(n), reviewed / n, int(n_model), model / n_model if n_model else None)
        for key, (n, reviewed, n_model, model) in sorted(sums.items())
    )
