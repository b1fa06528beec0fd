"""Codes that people seldom confirm: their findings are suggestions from then on.

`dialint label demote` counts the answers in a label store and writes the file; `dialint score --demoted`
reads it. Counts are of one release each, as another release may find the same code better.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from dialint.detector.errors import ConfigError
from dialint.detector.records import Probability, Record
from dialint.detector.statistics import clopper_pearson_upper


class Confirmations(Record):
    """Of the findings of one code that people decided about, how many they confirmed."""

    confirmed: Annotated[int, Field(ge=0)]
    answered: Annotated[int, Field(ge=1)]

    def upper(self, confidence: float) -> float:
        """Upper bound of the share that is confirmed (Clopper and Pearson, one-sided)."""
        return clopper_pearson_upper(self.confirmed, self.answered, confidence)


class Demotions(Record):
    """The demoted codes of each release: those with at least `least` answers of which, with confidence
    `confidence`, less than the share `below` is confirmed."""

    kind: Literal["demotions"] = "demotions"
    below: Probability
    confidence: Probability
    least: int
    releases: dict[str, dict[str, Confirmations]]

    def applies_to(self, counts: Confirmations) -> bool:
        """Whether a code with these counts is demoted."""
        return counts.answered >= self.least and counts.upper(self.confidence) < self.below


def read_demotions(path: Path | None, release: str) -> dict[str, str]:
    """The demoted codes of a release in a file of ``dialint label demote``, each with the reason; none
    without a file.

    Raises:
        ConfigError: E_DEMOTED; it is no such file.
    """
    if path is None:
        return {}
    try:
        demotions = Demotions.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise ConfigError(
            "E_DEMOTED", f"--demoted {path}: not a file of `dialint label demote --out {path}`"
        ) from None
    return {
        code: f"people confirmed {counts.confirmed} of {counts.answered} findings of {release}"
        for code, counts in sorted(demotions.releases.get(release, {}).items())
    }
