"""Flags: what the answers of a person, or of a group, give reason to look at, and from which level on.

A flag is a suspicion and not a proof, and is worded so: it opens a control task or a talk, and a person
decides. A second school is not even a suspicion: it questions the instructions, and nobody in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.labeling.aggregation.answers import Floats

Kind = Literal["no knowledge", "one answer", "contrary", "too fast", "unread", "copying", "second school"]


@dataclass(frozen=True)
class Flag:
    """`workers` share one piece of evidence: one, or a group that agrees on wrong answers. `p_value` is
    the chance of as much among honest people, before the correction for how many were looked at, none
    where `probability` (of the suspicion, 0 to 1) takes its place. `n` is how many answers tell, and
    `why` is a sentence with the figures and no text of a dialogue."""

    kind: Kind
    workers: tuple[str, ...]
    n: int
    why: str
    p_value: float | None = None
    probability: float | None = None

    @property
    def personal(self) -> bool:
        """Whether it is held against its workers; a school is a question about the instructions."""
        return self.kind != "second school"


def format_certainty(flag: Mapping[str, Any]) -> str:
    """The probability or the p-value of a flag, given as a JSON object, for a table."""
    if flag["probability"] is not None:
        return f"probability {flag['probability']:.3f}"
    return "p < 1e-15" if flag["p_value"] < 1e-15 else f"p {flag['p_value']:.1g}"


def benjamini_hochberg(p_values: Floats, rate: float, n_tests: int | None = None) -> NDArray[np.bool_]:
    """Which of `p_values`, shape (tests,), are found so that at most a share `rate` of the finds is false
    on average; of `n_tests` tests in all, where those with a p-value of 1 are left out.

    Source: Benjamini and Hochberg 1995; under positive dependence Benjamini and Yekutieli 2001, theorem
    1.2.
    """
    total = len(p_values) if n_tests is None else n_tests
    order = np.argsort(p_values, kind="stable")
    under = p_values[order] <= rate * np.arange(1, len(p_values) + 1) / max(1, total)
    rejected = np.zeros(len(p_values), bool)
    if under.any():
        rejected[order[: int(np.flatnonzero(under)[-1]) + 1]] = True
    return rejected


def binomial_tail(k: Floats, n: Floats, share: Floats | float) -> Floats:
    """The probability of `k` or more, at least 1, out of `n` coins that each show with probability `share`;
    for numbers that need not be whole, too."""
    from scipy.special import betainc

    return np.asarray(betainc(k, np.maximum(n - k, 0.0) + 1.0, share), float)


WORDS_PER_MINUTE = 1000.0
"""Four times what adults read on average (238 words of prose: Brysbaert, J. Mem. Lang. 109, 2019)."""


@dataclass(frozen=True)
class FlagRule:
    """At the probability `sure` of knowing nothing; for speed, copying and contrary answers so that at
    most a share `rate` of the flags of a kind is false on average. Nobody reads more than `words_per_minute`;
    0 asks nobody to read."""

    sure: float = 0.95
    rate: float = 0.01
    words_per_minute: float = WORDS_PER_MINUTE

    def __post_init__(self) -> None:
        if not 0.5 <= self.sure < 1.0 or not 0.0 < self.rate < 1.0:
            raise ConfigError("E_OPTION", "--sure must lie from 0.5 to 1, --rate between 0 and 1")
        if not 0.0 <= self.words_per_minute < float("inf"):
            raise ConfigError("E_OPTION", "--words-per-minute must not be negative")
