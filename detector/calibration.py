"""Converts raw scores to probabilities and findings by the calibration and thresholds of a release.

Fitting is elsewhere (`eval/calibration.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from dialint.detector.languages import UNKNOWN
from dialint.detector.records import Probability, Record

PLACES = 6
"""Decimals of a probability as it is written; thresholds are compared before rounding."""
LEAST = 10.0**-PLACES


def sigmoid(z: float) -> float:
    """The logistic function, without overflow."""
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def round_probability(probability: float) -> float:
    """A probability as written to files: rounded, and never 0 or 1, as no model is certain. An exact 0 stays:
    the code does not apply there."""
    return 0.0 if probability == 0.0 else min(max(round(probability, PLACES), LEAST), 1.0 - LEAST)


def format_probability(probability: float) -> str:
    """A probability for display, two decimals: ``> 0.99`` and ``< 0.01`` if rounding would make it
    certain."""
    if probability < 0.005:
        return "< 0.01"
    return "> 0.99" if probability >= 0.995 else f"{probability:.2f}"


class Contract(Record):
    """The error rates of one code, on dialogues like those of the calibration split.

    With confidence `confidence`, at most `false_accusations_per_100` of 100 clean units (`per`: turns,
    or whole dialogues for a code of dialogue scope) are flagged at `threshold`; `recall` is the share
    of the `n_errors` errors found where findings begin, there or at a higher natural threshold. The rate of
    false accusations was tested on `n_clean` distinct clean units of the calibration split; a release that
    was calibrated again has its recall from a later set of errors, and the rate of the first one.
    """

    threshold: Probability
    false_accusations_per_100: Annotated[float, Field(ge=0)]
    confidence: Probability
    recall: Probability
    n_errors: int
    n_clean: int
    per: Literal["turn", "dialogue"] = "turn"


class NaturalThreshold(Record):
    """The precision of one code's scan on real dialogues with labels: of `flagged` turns with at least the
    probability `threshold`, `right` are errors. Among `n_turns` turns are `n_errors` errors; turns with a
    label in doubt are counted nowhere."""

    threshold: Probability
    flagged: Annotated[int, Field(ge=1)]
    right: Annotated[int, Field(ge=0)]
    n_errors: Annotated[int, Field(ge=0)]
    n_turns: Annotated[int, Field(ge=1)]


MIN_PRECISION = 0.7
"""The least share of right findings for a code to make findings."""


class Scan(Record):
    """The calibration of the scan for one code: probability is sigmoid(slope x score + offset). A finding
    needs the threshold of the `contract` and that of `natural`, as far as there are such; where there is
    neither, no threshold met the required rate, and the scan alone makes no findings. From the probability
    `suggest_at` on, what is below is suggested; without it nothing is. `languages`: ISO 639-1 codes of those
    it was calibrated on and may judge; releases older than this field are of English."""

    slope: Annotated[float, Field(gt=0)]
    offset: float
    contract: Contract | None
    natural: NaturalThreshold | None = Field(default=None, exclude_if=lambda value: value is None)
    suggest_at: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    languages: Annotated[tuple[str, ...], Field(min_length=1)] = ("en",)

    def covers(self, language: str) -> bool:
        """Returns whether the scan may judge a turn in `language`; true if it is undetermined."""
        return language == UNKNOWN or language in self.languages

    @property
    def threshold(self) -> float | None:
        """The least probability of a finding; None without contract and natural threshold."""
        limits = [limit.threshold for limit in (self.contract, self.natural) if limit is not None]
        return max(limits) if limits else None

    def probability(self, score: float) -> float:
        """Calibrated probability of a raw score; 0 for -inf, a code that does not apply."""
        if score == -math.inf:
            return 0.0
        return sigmoid(self.slope * score + self.offset)


class CheckPrecision(Record):
    """An exact check that finds this code, with its measured precision. `report`: whether its hits are
    findings or only suggestions. If it was not measured, the precision is a guess."""

    name: str
    precision: Probability
    report: Literal["finding", "suggestion"] = "finding"
    is_measured: bool = Field(default=True, exclude_if=lambda value: value)


Means = Literal["scan", "check", "policy"]
POLICY_CHECK = "policy"
"""Name of the check that evaluates the team's policies."""
NEEDS_JUDGE = "needs a judge"
"""The text about a code that nothing in a release can report."""


class CodeRelease(Record):
    """The ways in which a release finds one code: the scan, exact checks, or both. `unscanned_languages` are
    those that only a scan covers which was turned off: no gaps (`LanguageCoverage.gaps`), as the user chose
    to do without it."""

    scan: Scan | None = None
    checks: tuple[CheckPrecision, ...] = ()
    unscanned_languages: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)

    @model_validator(mode="after")
    def _check_source(self) -> CodeRelease:
        if self.scan is None and not self.checks:
            raise ValueError("a covered code needs a scan or a check")
        return self

    @property
    def covered_by(self) -> tuple[Means, ...]:
        """The sources that can report this code: a scan with a threshold or suggestions, exact checks,
        policies. Empty where the scan only states probabilities."""
        names = {check.name for check in self.checks}
        covers: dict[Means, bool] = {
            "scan": self.scan is not None and (self.scan.threshold or self.scan.suggest_at) is not None,
            "check": bool(names - {POLICY_CHECK}),
            "policy": POLICY_CHECK in names,
        }
        return tuple(name for name, is_covered in covers.items() if is_covered)


def group_by_coverage(codes: Iterable[str], covered: Mapping[str, CodeRelease]) -> dict[str, list[str]]:
    """Groups `codes` by what covers them: ``covered (scan)``, ``covered (check)``, ``covered (policy)``, and
    ``needs a judge`` for the rest. A code that several cover stands in several groups; no group is empty."""
    groups: dict[str, list[str]] = {**{f"covered ({name})": [] for name in get_args(Means)}, NEEDS_JUDGE: []}
    for code in codes:
        means = covered[code].covered_by if code in covered else ()
        for name in [f"covered ({each})" for each in means] or [NEEDS_JUDGE]:
            groups[name].append(code)
    return {name: group for name, group in groups.items() if group}


def describe_coverage(covered: Mapping[str, CodeRelease], code: str) -> str:
    """``scan, check`` for a code that both may report, ``needs a judge`` for one that nothing covers."""
    return ", ".join(covered[code].covered_by if code in covered else ()) or NEEDS_JUDGE
