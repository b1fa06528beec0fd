"""Exact checks: rules that detect errors without a model. Findings name their check in `reason`.

Checks read the original text, before masking, so that a placeholder of the masking is never reported as an
unfilled one. A check is added in a module here and in `dialint.detector.plugins`, by an installed package in
the group ``dialint.checks``, or by a file of the option ``--check``:

    from dialint.detector.checks import Check, CheckContext, Evidence, Hit, check

    @check(T1=Evidence(right=47, read=50), languages=("en",))
    def shouting(dialogue, context):
        for turn in dialogue.turns:
            if turn.role == "agent" and turn.text.isupper():
                yield Hit(turn.index, 0, len(turn.text), "the agent shouts")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dialint.detector.calibration import MIN_PRECISION
from dialint.detector.languages import UNKNOWN
from dialint.detector.log_profile import EMPTY_PROFILE, LogProfile
from dialint.detector.plugins import Plugin, plugins
from dialint.detector.records import Dialogue, Finding
from dialint.detector.taxonomy import WaitLimits

if TYPE_CHECKING:
    from dialint.detector.policy.format import Policy


@dataclass(frozen=True)
class Hit:
    """A match of a check: offsets into the turn's text, end exclusive, and the reason; in a turn that only
    calls tools `start` is the number of the call. Checks that serve several codes set `code`."""

    turn: int
    start: int
    end: int
    why: str
    code: str | None = None


@dataclass(frozen=True)
class CheckContext:
    """The context of a dialogue that checks may use: the profile of its log, the policies by name, the
    languages that the user states (`dialint.detector.languages.detect_languages`), and the limits of waits of
    the team's taxonomy."""

    log: LogProfile = EMPTY_PROFILE
    policies: Mapping[str, Policy] = field(default_factory=dict)
    languages: tuple[str, ...] = ()
    waits: tuple[WaitLimits, ...] = ()


NO_CONTEXT = CheckContext()

CheckFunction = Callable[[Dialogue, CheckContext], Iterator[Hit]]
"""Checks a dialogue as it is in the log, before masking."""


@dataclass(frozen=True)
class Evidence:
    """The measured precision of a check for one code: `right` of `read` hits on real dialogues, or an
    `estimate` where the counts were not recorded. Without a measurement, or below `MIN_PRECISION`, a check
    only suggests."""

    right: int = 0
    read: int = 0
    report: Literal["finding", "suggestion"] = "finding"
    estimate: float | None = None

    @property
    def is_measured(self) -> bool:
        """True if hits on real dialogues were read."""
        return bool(self.read or self.estimate)

    @property
    def precision(self) -> float:
        """The share of right hits, by Laplace's rule of succession."""
        return self.estimate or round((self.right + 1) / (self.read + 2), 3)

    @property
    def outcome(self) -> Literal["finding", "suggestion"]:
        """The strongest result of a hit."""
        return self.report if self.is_measured and self.precision >= MIN_PRECISION else "suggestion"


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
        """Return whether the check applies to turns in `language`."""
        return language == UNKNOWN or not self.languages or language in self.languages


def check(languages: tuple[str, ...] = (), **codes: Evidence) -> Callable[[CheckFunction], Check]:
    """Make a `Check` of a function, for example ``@check(T1=Evidence(47, 50), languages=("en",))``."""
    return lambda find: Check(find, codes, languages)


_PROOF = re.compile(r"\((exact check '\w++'|judge '[^'()]++'|demoted: [^()]++)[:,)]")


def append_proof(finding: Finding, proof: str) -> Finding:
    """Return the finding with `proof` at the end of its reason: ``exact check 'NAME', ...`` or
    ``demoted: ...``."""
    return finding.model_copy(update={"reason": f"{finding.reason.rstrip('.')} ({proof})."})


def proof_name(finding: Finding) -> str:
    """Return the last proof that `append_proof` put into the reason (``exact check 'NAME'``), without
    its explanation but for that of a demotion; empty without any."""
    return next(reversed(proof_names(finding)), "")


def proof_names(finding: Finding) -> list[str]:
    """Return all proofs in the reason, in their order, as `proof_name` does the last."""
    return _PROOF.findall(finding.reason)


def check_plugins(files: Sequence[Path] = ()) -> Mapping[str, Plugin]:
    """Return where the checks come from, those in `files` included.

    Raises:
        ConfigError: E_PLUGIN.
    """
    return plugins("dialint.checks", files, Check)


@cache
def load_checks() -> Mapping[str, Check]:
    """Return the checks by their names in reasons: dialint's own and those of installed packages.

    Raises:
        ConfigError: E_PLUGIN.
    """
    return {name: plugin.load(Check) for name, plugin in check_plugins().items()}
