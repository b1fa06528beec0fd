"""What an exact check gets, returns, and says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from dialint.detector.languages import UNKNOWN
from dialint.detector.log_profile import EMPTY_PROFILE, LogProfile
from dialint.detector.policy.format import Policy
from dialint.detector.records import Dialogue


@dataclass(frozen=True)
class Hit:
    """A match of a check: offsets into the turn's text, end exclusive, and the reason. Checks that serve
    several codes set `code`."""

    turn: int
    start: int
    end: int
    why: str
    code: str | None = None


@dataclass(frozen=True)
class CheckContext:
    """What a check may know beside the dialogue: the rest of the log, and the policies by their names."""

    log: LogProfile = EMPTY_PROFILE
    policies: Mapping[str, Policy] = field(default_factory=dict)


NO_CONTEXT = CheckContext()

CheckFunction = Callable[[Dialogue, CheckContext], Iterator[Hit]]
"""Reads a dialogue as it stands in the log, before masking."""


@dataclass(frozen=True)
class Evidence:
    """How often the hits of a check were right for one code: `right` of `read` on real dialogues, or an
    `estimate` where the counts were not kept. Without a measurement a check only suggests."""

    right: int = 0
    read: int = 0
    report: Literal["finding", "suggestion"] = "finding"
    estimate: float | None = None

    @property
    def precision(self) -> float:
        """The share of right hits, by Laplace's rule of succession."""
        return self.estimate or round((self.right + 1) / (self.read + 2), 3)

    @property
    def outcome(self) -> Literal["finding", "suggestion"]:
        """What a hit may become."""
        return self.report if self.read or self.estimate else "suggestion"


@dataclass(frozen=True)
class Check:
    """An exact check: a rule that finds errors without a model. It serves `codes`, for turns in `languages`,
    or in any: an unfilled slot is an error in every language, but whether a customer requested the same words
    again is decided by English words."""

    find: CheckFunction
    codes: Mapping[str, Evidence]
    languages: tuple[str, ...] = ()

    def __call__(self, dialogue: Dialogue, context: CheckContext = NO_CONTEXT) -> Iterator[Hit]:
        return self.find(dialogue, context)

    def covers(self, language: str) -> bool:
        """Whether the check applies to turns in `language`."""
        return language == UNKNOWN or not self.languages or language in self.languages


def check(languages: tuple[str, ...] = (), **codes: Evidence) -> Callable[[CheckFunction], Check]:
    """Make a `Check` of a function, for example ``@check(T1=Evidence(47, 50), languages=("en",))``."""
    return lambda find: Check(find, codes, languages)
