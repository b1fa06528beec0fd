"""The routing policy as data: thresholds, the cost of an error, the minutes of a review, the budget of a day.

A team keeps it as a YAML file; every field has a default. Decides nothing itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from dialint.detector.errors import ConfigError
from dialint.detector.records import Finding, Probability, Record, Severity
from dialint.detector.yaml_document import first_error, read_document

SERIOUS: tuple[Severity, ...] = ("S1", "S2")
"""Severities of which nothing is accepted unseen, unless `AcceptUnseen` permits the code."""
Minutes = Annotated[float, Field(gt=0.0)]
Value = Annotated[float, Field(ge=0.0)]


class SeverityWeights(Record):
    """The value of finding an error of each severity; the unit is a minor error."""

    S1: Value = 10.0
    S2: Value = 3.0
    S3: Value = 1.0
    S4: Value = 0.2

    def of(self, severity: Severity) -> float:
        return {"S1": self.S1, "S2": self.S2, "S3": self.S3, "S4": self.S4}[severity]


class MinutesPerItem(Record):
    """Minutes of all people together for one dialogue of each kind."""

    review: Minutes = 3.0
    crowd: Minutes = 8.0
    audit: Minutes = 8.0


class AcceptUnseen(Record):
    """A permission of the lead: findings of this code and severity at probability `at` or above need no
    review."""

    code: str
    severity: Severity
    at: Probability


class RoutingPolicy(Record):
    """When people review.

    A finding of S3 or S4 with probability `accept_at` or above is accepted unseen; 1 accepts none. One of S1
    or S2 is accepted unseen only with a permission for its code and severity in `accept_unseen`. Any other at
    `review_at` or above goes to a reviewer, a less probable one to the crowd, and so does a turn and code
    that was not flagged, at `crowd_at` or above. `audit_share` of `budget_minutes` is reserved for unflagged
    dialogues sampled at random. `failed_value` is the expected value of reading a dialogue that could not be
    judged, `not_judged_value` that of one in a language that the release does not cover, in proportion to the
    part that is not covered: none of these is ever accepted unseen. What did not fit into the budget of its
    day is planned again for `backlog_days` more.
    """

    accept_at: Probability = 1.0
    accept_unseen: tuple[AcceptUnseen, ...] = ()
    review_at: Probability = 0.5
    crowd_at: Probability = 0.2
    budget_minutes: Annotated[float, Field(ge=0.0)] = 480.0
    audit_share: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    backlog_days: Annotated[int, Field(ge=0)] = 7
    failed_value: Value = 0.5
    not_judged_value: Value = 0.1
    weights: SeverityWeights = SeverityWeights()
    minutes: MinutesPerItem = MinutesPerItem()

    def accepts(self, finding: Finding) -> bool:
        """Whether a finding is accepted without a review."""
        if finding.severity not in SERIOUS:
            return self.accept_at < 1.0 and finding.probability >= self.accept_at
        return any(
            (finding.code, finding.severity) == (one.code, one.severity)
            and one.at < 1.0
            and finding.probability >= one.at
            for one in self.accept_unseen
        )

    @model_validator(mode="after")
    def _rising(self) -> RoutingPolicy:
        if not self.crowd_at <= self.review_at <= self.accept_at:
            raise ValueError("crowd_at, review_at and accept_at must rise in this order")
        return self


def load_routing_policy(path: Path | None = None) -> RoutingPolicy:
    """Read the policy from a YAML file; without a path the default policy.

    Raises:
        ConfigError: E_POLICY with the line.
    """
    if path is None:
        return RoutingPolicy()
    document = read_document(path, "E_POLICY")
    try:
        return RoutingPolicy.model_validate(document.value or {}, strict=False)
    except ValidationError as error:
        raise ConfigError("E_POLICY", first_error(error, document)) from None
