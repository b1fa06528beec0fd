"""A release's precision on a natural log, as people judged a sample of its findings, and what follows.

`dialint eval tally` writes it into a team's overrides (`dialint.detector.overrides`): codes that are seldom
right on this log are demoted to suggestions, and stated probabilities are scaled to what was measured. What
was judged only once or twice changes little: a factor is shrunk to that of all codes, and that one to 1. No
threshold changes, no suggestion becomes a finding, and nothing here draws or counts (`eval/tally.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from dialint.detector.calibration import MIN_PRECISION
from dialint.detector.records import Record
from dialint.detector.statistics import clopper_pearson_interval

Advice = Literal["keep", "suggestion only", "too few judged"]
Count = Annotated[int, Field(ge=0)]

MIN_JUDGED = 10
"""Judged findings from which the point estimate of precision decides."""
MIN_UPPER = 0.5
"""With fewer judged, a code whose interval ends below this is demoted all the same."""
PRIOR = 3.0
"""Weight of the shrinkage, as findings that are expected to be right. Of 1, 3, 5, 10 and 20 the best on
samples of 40 read findings of embedded-3 (2026-11-23, docs/experiments/natural.md)."""


class Judged(Record):
    """The judgements on one code's findings, or on its suggestions: `reported` in the verdicts, of these a
    random sample judged. `stated` is the sum of the sample's probabilities, so what the release expected to
    be right. An arguable finding is not right: the agent would win the argument."""

    reported: Count
    right: Count
    arguable: Count
    wrong: Count
    stated: Annotated[float, Field(ge=0)]

    @property
    def n(self) -> int:
        """How many were judged."""
        return self.right + self.arguable + self.wrong

    @property
    def precision(self) -> float | None:
        """The share that was right."""
        return self.right / self.n if self.n else None

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the precision, by Clopper and Pearson."""
        return clopper_pearson_interval(self.right, self.n)

    @property
    def advice(self) -> Advice:
        """Whether findings of this code may accuse on this log, by its own judgements."""
        if self.precision is None:
            return "too few judged"
        if self.interval[1] < MIN_UPPER or (self.n >= MIN_JUDGED and self.precision < MIN_PRECISION):
            return "suggestion only"
        return "keep" if self.n >= MIN_JUDGED else "too few judged"


class ReadTurns(Record):
    """Agents' turns without a finding: `unflagged` of them in the log, `read` by a person, who found errors
    in `with_errors` of these; `missed` counts the errors by code."""

    unflagged: Count
    read: Count
    with_errors: Count
    missed: dict[str, Count]


class NaturalPrecision(Record):
    """The result of a spot check. `log` is the fingerprint of the log whose findings were judged."""

    release: str
    taxonomy: str
    log: str
    judged_on: date
    findings: dict[str, Judged]
    suggestions: dict[str, Judged]
    turns: ReadTurns

    @cached_property
    def pooled(self) -> Judged:
        """The codes of which too few were judged, as if they were one."""
        few = [judged for judged in self.findings.values() if judged.advice == "too few judged"]
        return Judged(
            reported=sum(judged.reported for judged in few),
            right=sum(judged.right for judged in few),
            arguable=sum(judged.arguable for judged in few),
            wrong=sum(judged.wrong for judged in few),
            stated=sum(judged.stated for judged in few),
        )

    def advice(self, code: str) -> Advice:
        """Whether findings of a code may accuse on this log. Where too few were judged, the pooled codes
        decide for those that are not right often enough themselves."""
        own = self.findings[code]
        is_poor = self.pooled.advice == "suggestion only" and (own.precision or 0.0) < MIN_PRECISION
        return "suggestion only" if own.advice == "too few judged" and is_poor else own.advice

    @cached_property
    def demoted(self) -> Mapping[str, str]:
        """Codes that may only be suggested on this log, and why, without brackets."""
        results = {}
        for code, judged in sorted(self.findings.items()):
            if self.advice(code) != "suggestion only":
                continue
            decisive, what = judged, ""
            if judged.advice == "too few judged":
                decisive = self.pooled
                what = f", with other codes that are rare {decisive.right} of {decisive.n}"
            low, high = decisive.interval
            results[code] = (
                f"spot check of {self.judged_on}: right {judged.right} of {judged.n}{what}, "
                f"95 % {low:.2f} to {high:.2f}"
            )
        return results

    def calibrate(self, code: str, kind: Literal["finding", "suggestion"], probability: float) -> float:
        """The probability that a finding or a suggestion is right, by what was measured on this log.

        The stated probability times the ratio of right to expected ones; that ratio is shrunk to the one of
        all codes, and this to 1, as if `PRIOR` more were judged. It does not rise above the upper end of the
        code's interval.

        Source: Clayton and Kaldor 1987 (empirical Bayes for ratios of observed to expected), with a fixed
        prior weight.
        """
        judged = self.findings if kind == "finding" else self.suggestions
        right = sum(each.right for each in judged.values())
        stated = sum(each.stated for each in judged.values())
        factor, upper = (right + PRIOR) / (stated + PRIOR), 1.0
        own = judged.get(code)
        if own is not None:
            factor, upper = (own.right + PRIOR * factor) / (own.stated + PRIOR), own.interval[1]
        return min(probability * factor, max(probability, upper))

    @cached_property
    def summary(self) -> str:
        """One line for the end of a job."""
        right = sum(judged.right for judged in self.findings.values())
        n = sum(judged.n for judged in self.findings.values())
        return f"spot check of {self.judged_on}: {right} of {n} judged findings were right"
