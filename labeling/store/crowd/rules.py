"""The rules by which people come, stay and go, as data: kept in the store, set by a lead.

A rule may retrain or suspend. None bans: that is a person's act (`exclusion`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from sqlalchemy import select

from dialint.detector.records import Probability, Record
from dialint.labeling.store.database.audit import canonical
from dialint.labeling.store.database.schema import settings
from dialint.labeling.store.database.transactions import Transaction, reading, writing
from dialint.labeling.store.database.upsert import put_row
from dialint.labeling.store.rights import authorised

Count = Annotated[int, Field(ge=1)]
NAME = "rules"


class Rules(Record):
    """Accuracy is balanced (see `measures`): 0.5 is what no knowledge gets, however it answers."""

    window: Count = 50
    """The newest answers that count, of those since the status was last set."""
    least: Count = 10
    """Graded answers without which nothing is said of anybody."""
    retrain_below: Probability = 0.6
    suspend_below: Probability = 0.4
    code_retrain_below: Probability | None = None
    """The same for each code by itself, if it was asked in `least` graded answers."""
    fast_s: Annotated[float, Field(gt=0)] = 2.0
    """Faster than this nobody reads."""
    fast_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """So much of the window, answers of every pool, being that fast suspends."""
    exam_least: Count = 10
    """Graded exam answers before anybody passes."""
    exam_pass: Probability = 0.6
    """The lower limit of the balanced accuracy that passes."""
    exam_most: Count = 40
    """Exam answers after which who has not passed is suspended."""
    good_at: Probability = 0.8
    """Balanced accuracy of a good labeler: gold that they contradict is doubted."""
    doubt_least: Count = 5
    doubt_share: Probability = 0.5
    """Gold is doubted when more than this share of at least `doubt_least` good labelers contradict it."""

    @model_validator(mode="after")
    def _possible(self) -> Rules:
        if self.suspend_below > self.retrain_below:
            raise ValueError("suspend_below must not exceed retrain_below")
        if self.exam_most < self.exam_least:
            raise ValueError("exam_most must not be less than exam_least")
        return self


@reading
def current(transaction: Transaction, actor: str) -> Rules:
    """The rules in force.

    Raises:
        NotAllowed: the actor does not discipline.
    """
    authorised(transaction, actor, "discipline")
    return rules_of(transaction)


@writing(repeatable=True)
def replace(transaction: Transaction, actor: str, rules: Rules) -> None:
    """Put other rules in force.

    Raises:
        NotAllowed: the actor does not discipline.
    """
    authorised(transaction, actor, "discipline")
    content = rules.model_dump(mode="json")
    put_row(transaction, settings, {"name": NAME, "content": canonical(content)})
    transaction.log(actor, "rules.replace", NAME, **content)


def rules_of(transaction: Transaction) -> Rules:
    """As `current`; rights are the caller's care."""
    kept = transaction.run(select(settings.c.content).where(settings.c.name == NAME)).scalar_one_or_none()
    return Rules() if kept is None else Rules.model_validate_json(kept)
