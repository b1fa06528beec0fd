"""The overrides of a team: one file with the codes that a release may report, and calibrations.

    release: embedded-7
    demoted:
      T1: people confirmed 3 of 20 findings
    thresholds:
      L1: 0.95

`dialint score --overrides FILE` reads it, YAML or JSON. `dialint label demote` writes the section `demoted`,
`dialint eval contract` writes `spot_check`, `contract` and `thresholds`, `dialint eval judge` writes `judge`,
and the Releases page of the console offers files with `thresholds` and `spot_check`. It can demote findings
of the release and add none; only the judge's contract lets the judge accuse. Who wants more findings
than a release's contract allows needs labels (`dialint train calibrate`).

A spot check is the release's precision on a natural log, as people judged a sample of its findings: codes
that are seldom right on this log are demoted, and stated probabilities are scaled to what was measured. What
was judged only once or twice changes little: a factor is shrunk to that of all codes, and that one to 1.
A contract is a guarantee for such a log: what is not in it is only suggested.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from dialint.detector.artifacts import atomic_file, fingerprint
from dialint.detector.calibration import MIN_PRECISION, CodeRelease, sigmoid
from dialint.detector.errors import ConfigError, Message, ReleaseRefused
from dialint.detector.records import Probability, Record, Source
from dialint.detector.yaml_document import first_error, read_document

Advice = Literal["keep", "suggestion only", "too few judged"]
Count = Annotated[int, Field(ge=0)]

MIN_JUDGED = 10
"""Judged findings from which the point estimate of precision decides; those of a dialogue count as one."""
MIN_UPPER = 0.5
"""With fewer judged, a code whose interval ends below this is demoted all the same."""
PRIOR = 3.0
"""Weight of the shrinkage, as findings that are expected to be right. Of 1, 3, 5, 10 and 20 the best on
samples of 40 read findings of embedded-3 (2026-11-23, docs/experiments/natural.md)."""


class Judged(Record):
    """The judgements on one code's findings, or on its suggestions: `reported` in the verdicts, of these a
    random sample judged. `stated` is the sum of the sample's probabilities: the number that the release
    expected to be right. An arguable finding is not right: the agent would win the argument. `effective`
    judgements that depend on nothing else are as sure, as those of one dialogue resemble each other; None:
    all of them."""

    reported: Count
    right: Count
    arguable: Count
    wrong: Count
    stated: Annotated[float, Field(ge=0)]
    effective: Annotated[float, Field(ge=0)] | None = None

    @property
    def n(self) -> int:
        return self.right + self.arguable + self.wrong

    @property
    def effective_n(self) -> float:
        return self.n if self.effective is None else self.effective

    @property
    def precision(self) -> float | None:
        return self.right / self.n if self.n else None

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the precision, by Clopper and Pearson, each dialogue counting as one."""
        from dialint.detector.statistics import effective_interval  # numpy

        return effective_interval(self.precision or 0.0, self.effective_n)

    @property
    def advice(self) -> Advice:
        """The advice on findings of this code on this log, by its own judgements."""
        if self.precision is None:
            return "too few judged"
        is_enough = self.effective_n >= MIN_JUDGED
        if self.interval[1] < MIN_UPPER or (is_enough and self.precision < MIN_PRECISION):
            return "suggestion only"
        return "keep" if is_enough else "too few judged"


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
        names = ("reported", "right", "arguable", "wrong", "stated")
        sums = {name: sum(getattr(judged, name) for judged in few) for name in names}
        return Judged(**sums, effective=sum(judged.effective_n for judged in few))

    def advice(self, code: str) -> Advice:
        """Returns the advice on findings of a code on this log. Where too few were judged, the pooled codes
        decide for those whose own precision is too low."""
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
        right = sum(judged.right for judged in self.findings.values())
        n = sum(judged.n for judged in self.findings.values())
        return f"spot check of {self.judged_on}: {right} of {n} judged findings were right"


class SourceContract(Record):
    """From the stated probability `threshold` on, the findings of a code by one source are precise: of `n`
    dialogues, one finding of each, `right` were."""

    threshold: Probability
    right: Count
    n: Count


class LogContract(Record):
    """A guarantee for logs like the one of fingerprint `log`: with `confidence`, all `codes` at once have the
    `precision` or more by the findings of a dialogue, on average over dialogues that have such findings.
    What is not listed may only suggest."""

    precision: Probability
    confidence: Probability
    log: str
    judged_on: date
    codes: dict[str, dict[Source, SourceContract]]

    def covers(self, code: str, source: Source, probability: float) -> bool:
        """Returns whether the contract covers a finding of this probability, rounded as in a verdict."""
        contract = self.codes.get(code, {}).get(source)
        return contract is not None and probability >= contract.threshold

    @property
    def summary(self) -> str:
        names = (
            f"{code} by {source}" for code, by_source in sorted(self.codes.items()) for source in by_source
        )
        return (
            f"contract of {self.judged_on}, precision {self.precision:g} at confidence {self.confidence:g}: "
            f"{', '.join(names) or 'nothing'} may accuse, all else is suggested"
        )


LEAST = 1e-6
"""Least distance of probabilities from 0 and 1; nearer ones are clipped."""


class JudgedCode(Record):
    """Calibrated probability is sigmoid(slope x logit(probability) + offset). What the judge lists is a
    finding from the calibrated probability `threshold` on; None where no threshold was precise enough, so
    that the code is only suggested."""

    slope: Annotated[float, Field(gt=0)]
    offset: float
    threshold: Probability | None = None

    def calibrate(self, probability: float) -> float:
        p = min(max(probability, LEAST), 1 - LEAST)
        return sigmoid(self.slope * math.log(p / (1 - p)) + self.offset)


class JudgeContract(Record):
    """The calibration of a judge's probabilities, by code. `judge` is its name, `prompt` the version of the
    questions, `precision` the required one of findings, `measured_on` a hash of the data set and its split.
    In `dialogues` with labels it listed so many errors, of which `right` were labelled, and `found` so many
    of the labels."""

    judge: str
    prompt: str
    precision: Probability
    measured_on: str = ""
    codes: dict[str, JudgedCode]
    dialogues: Count = 0
    listed: Count = 0
    right: Count = 0
    labels: Count = 0
    found: Count = 0

    @property
    def accuses(self) -> bool:
        """True if any error that the judge lists may be a finding."""
        return any(code.threshold is not None for code in self.codes.values())

    @property
    def fingerprint(self) -> str:
        """A hash of the content."""
        return fingerprint(self.model_dump(mode="json"))


class Overrides(Record):
    """The content of the file. `demoted` maps codes whose findings become suggestions to why, in words
    without brackets; `thresholds` maps codes to the least probability of a finding of the scan; `spot_check`
    is what people judged of the release's findings on this log; `contract` has the findings that keep a
    precision on it; `judge` has the calibration of a judge's probabilities. All but the last are of one
    `release`, as a probability of another one means something else."""

    kind: Literal["overrides"] = "overrides"
    release: str | None = None
    demoted: dict[str, Annotated[str, Field(pattern=r"^[^()]+$")]] = Field(default_factory=dict)
    thresholds: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(default_factory=dict)
    spot_check: NaturalPrecision | None = None
    contract: LogContract | None = None
    judge: JudgeContract | None = None

    @model_validator(mode="after")
    def _is_bound(self) -> Overrides:
        if self.release is None and (self.demoted or self.thresholds or self.spot_check or self.contract):
            raise ValueError("demoted, thresholds, spot_check and contract need the release that they are of")
        if self.spot_check is not None and self.spot_check.release != self.release:
            raise ValueError(
                f"the spot check judges {self.spot_check.release}, and the file is of {self.release}"
            )
        return self

    @cached_property
    def demotions(self) -> Mapping[str, str]:
        """Codes that may only be suggested, by the team or by the spot check, and why."""
        return {**(self.spot_check.demoted if self.spot_check is not None else {}), **self.demoted}

    @cached_property
    def fingerprint(self) -> str | None:
        """Hex SHA-256 of the content, however the file is written; None of an empty one."""
        return None if self == NO_OVERRIDES else fingerprint(self.model_dump(mode="json"))

    def describe(self, codes: Mapping[str, CodeRelease]) -> list[str]:
        """One line for each code whose threshold differs from that of the release: what it means."""
        lines = []
        for code, own in sorted(self.thresholds.items()):
            scan = codes[code].scan
            released = None if scan is None else scan.threshold
            start = f"{code}: threshold {own:g} of the team"
            if released is None:
                lines.append(f"{start}; {self.release} has none, so what it adds are suggestions")
            elif own > released:
                lines.append(f"{start}, raised from {released:g}: suggestions between them")
            elif own < released:
                limits = f"is under that of {self.release}, {released:g}"
                lines.append(f"{start} {limits}: suggestions between them, no findings")
        return lines

    def check_release(self, path: Path, release: str, codes: Mapping[str, CodeRelease] | None = None) -> None:
        """
        Raises:
            ReleaseRefused: E_RELEASE; the file at `path` is of another release.
            ConfigError: E_OVERRIDES; a threshold is of a code that the scan does not look for by `codes`.
        """
        if self.release not in (None, release):
            raise ReleaseRefused(
                "E_RELEASE", "--overrides {path}: made for {other}, and this is {release}",
                path=path, other=self.release, release=release,
            )  # fmt: skip
        if codes is None:
            return
        without = [code for code in self.thresholds if code not in codes or codes[code].scan is None]
        if without:
            raise ConfigError(
                "E_OVERRIDES", "--overrides {path}: the scan of {release} does not look for {codes}",
                path=path, release=release, codes=" ".join(sorted(without)),
            )  # fmt: skip


NO_OVERRIDES = Overrides()


def read_overrides(path: Path | None) -> Overrides:
    """The overrides in a file; none without a file.

    Raises:
        ConfigError: E_OVERRIDES; it is no such file.
    """
    if path is None:
        return NO_OVERRIDES
    document = read_document(path, "E_OVERRIDES")
    try:
        return Overrides.model_validate(document.value or {}, strict=False)
    except ValidationError as error:
        problem = first_error(error, document)
    raise ConfigError("E_OVERRIDES", Message("--overrides {problem}", problem=problem))


def update_overrides(path: Path, release: str | None, **sections: Any) -> Overrides:
    """Write `sections` into the file at `path`, which keeps its others, or is made. Returns all of it.

    Raises:
        ConfigError: E_OVERRIDES; what is there is no such file.
        ReleaseRefused: E_RELEASE; it is of another release.
    """
    before = read_overrides(path if path.exists() else None)
    if release is not None:
        before.check_release(path, release)
    overrides = before.model_copy(update={**sections, "release": release or before.release})
    overrides = Overrides.model_validate_json(overrides.model_dump_json())
    with atomic_file(path) as file:
        file.write(dump_overrides(overrides, as_json=path.suffix == ".json").encode())
    return overrides


def dump_overrides(overrides: Overrides, *, as_json: bool = False) -> str:
    """The text of a file with these overrides."""
    content = overrides.model_dump(mode="json", exclude_none=True)
    content = {name: value for name, value in content.items() if value not in ({}, [])}
    if as_json:
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
