"""When suspicion becomes a flag."""

from __future__ import annotations

from dataclasses import dataclass

from dialint.detector.errors import ConfigError

WORDS_PER_MINUTE = 1000.0
"""Four times what adults read on average (238 words of prose: Brysbaert, J. Mem. Lang. 109, 2019)."""


@dataclass(frozen=True)
class Rule:
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
