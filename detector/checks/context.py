"""What an exact check gets and returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

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
