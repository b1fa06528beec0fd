"""A team's own thresholds: from which probability on the scan's suspicions of a code are findings.

The Releases page writes the file, `dialint score --thresholds` reads it. It can take accusations back and
make none: between a release's threshold and a higher one of the team there are suggestions, and so there are
from a lower one up to the release's. Who wants more findings than a release's contract allows needs labels
(`dialint train calibrate`). Exact checks have no threshold, and keep their findings.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from dialint.detector.artifacts import fingerprint
from dialint.detector.calibration import CodeRelease, Scan
from dialint.detector.errors import ConfigError, ReleaseRefused
from dialint.detector.records import Record

Outcome = Literal["finding", "suggestion", "dropped"]
ABOVE_CONTRACT = "below the threshold of the team"


class Thresholds(Record):
    """The file: the least probability of a finding by code, for one release, as a probability of another one
    means something else."""

    kind: Literal["thresholds"] = "thresholds"
    release: str
    codes: Annotated[dict[str, Annotated[float, Field(gt=0, le=1)]], Field(min_length=1)]

    @cached_property
    def fingerprint(self) -> str:
        """Hex SHA-256 of the release's id and the thresholds, however the file is written."""
        return fingerprint([self.release, dict(sorted(self.codes.items()))])

    def outcome(self, code: str, scan: Scan, probability: float) -> tuple[Outcome, str]:
        """What the scan may make of a turn with this probability, and why it is less than the release would,
        if so: in words without brackets."""
        outcome: Outcome = scan.outcome(probability)
        own = self.codes.get(code)
        if own is None:
            return outcome, ""
        if outcome == "finding" and probability < own:
            return "suggestion", ABOVE_CONTRACT
        return ("suggestion" if outcome == "dropped" and probability >= own else outcome), ""

    def describe(self, codes: Mapping[str, CodeRelease]) -> list[str]:
        """One line for each code that differs from the release: what the own threshold means."""
        lines = []
        for code, own in sorted(self.codes.items()):
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


def read_thresholds(path: Path | None, release: str, codes: Mapping[str, CodeRelease]) -> Thresholds | None:
    """The thresholds in a file, for a release that finds `codes`; None without a file.

    Raises:
        ConfigError: E_THRESHOLDS; it is no such file, or names a code that the scan of the release does not
            look for.
        ReleaseRefused: E_RELEASE; it was made for another release.
    """
    if path is None:
        return None
    try:
        thresholds = Thresholds.model_validate_json(path.read_bytes())
    except OSError:
        raise ConfigError("E_THRESHOLDS", "--thresholds {path}: there is no such file", path=path) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigError(
            "E_THRESHOLDS",
            "--thresholds {path}: {place}: {problem}; expected {{\"kind\": \"thresholds\", \"release\": ID, "
            "\"codes\": {{CODE: PROBABILITY}}}}, as the Releases page of the console writes it",
            path=path, place=place, problem=first["msg"],
        ) from None  # fmt: skip
    if thresholds.release != release:
        raise ReleaseRefused(
            "E_RELEASE", "--thresholds {path}: made for {other}, and this is {release}",
            path=path, other=thresholds.release, release=release,
        )  # fmt: skip
    without = [code for code in thresholds.codes if code not in codes or codes[code].scan is None]
    if without:
        raise ConfigError(
            "E_THRESHOLDS", "--thresholds {path}: the scan of {release} does not look for {codes}",
            path=path, release=release, codes=" ".join(sorted(without)),
        )  # fmt: skip
    return thresholds
