"""What a judge's probabilities are worth, by code: measured on labelled questions that it was not trained on.

``dialint eval judge --overrides`` writes it into the overrides of a team (`dialint.detector.overrides`).
"""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from dialint.detector.artifacts import fingerprint
from dialint.detector.calibration import sigmoid
from dialint.detector.records import Probability, Record

LEAST = 1e-6
"""Probabilities are taken to be this far from 0 and 1."""


class JudgedCode(Record):
    """Calibrated probability is sigmoid(slope x logit(probability) + offset). From the calibrated probability
    `threshold` on, `right` of the `flagged` questions were errors; None where no threshold was precise
    enough, so that the code is only suggested."""

    slope: Annotated[float, Field(gt=0)]
    offset: float
    threshold: Probability | None = None
    flagged: Annotated[int, Field(ge=0)] = 0
    right: Annotated[int, Field(ge=0)] = 0
    n_errors: Annotated[int, Field(ge=0)]
    n_questions: Annotated[int, Field(ge=1)]

    def calibrate(self, probability: float) -> float:
        """The calibrated probability."""
        p = min(max(probability, LEAST), 1 - LEAST)
        return sigmoid(self.slope * math.log(p / (1 - p)) + self.offset)


class JudgeContract(Record):
    """What was measured. `judge` is the name of the judge that was measured, `precision` what was
    required of findings."""

    judge: str
    prompt: str
    precision: Probability
    codes: dict[str, JudgedCode]

    @property
    def fingerprint(self) -> str:
        """Changes with any number."""
        return fingerprint(self.model_dump(mode="json"))
