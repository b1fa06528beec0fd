"""Gates: what the log itself must show before a suspicion of the scan becomes a finding.

A gate reads the dialogue as it stands in the log. It confirms the suspicion, demotes it to a suggestion, or
drops it, and says why; the reason of a finding names its gate. A release says which code has which gate.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dialint.detector.log_profile import LogProfile
from dialint.detector.records import Dialogue, Finding, Turn

Outcome = Literal["finding", "suggestion", "dropped"]


@dataclass(frozen=True)
class Suspicion:
    """What the scan holds for an error: the judged turn by its position in `dialogue.turns`, the offsets
    ``[start, end)`` of the evidence in its text, and the calibrated probability in [0, 1]."""

    dialogue: Dialogue
    position: int
    start: int
    end: int
    probability: float
    log: LogProfile

    @property
    def turn(self) -> Turn:
        """The judged turn."""
        return self.dialogue.turns[self.position]

    @property
    def evidence(self) -> str:
        """The words that the scan points at."""
        return self.turn.text[self.start : self.end]


@dataclass(frozen=True)
class GateResult:
    """What becomes of a suspicion, and why in a few words."""

    outcome: Outcome
    why: str


Gate = Callable[[Suspicion], GateResult]

GATES: dict[str, Gate] = {}
"""Every gate by the name a release uses."""


_PROOF = re.compile(r"\((exact check '\w++'|gate '\w++'|demoted)[:,]")


def append_proof(finding: Finding, proof: str) -> Finding:
    """The finding with `proof` at the end of its reason: ``gate 'NAME': ...``, ``exact check 'NAME', ...`` or
    ``demoted: ...``."""
    return finding.model_copy(update={"reason": f"{finding.reason.rstrip('.')} ({proof})."})


def proof_name(finding: Finding) -> str:
    """The last proof that `append_proof` put into the reason (``gate 'NAME'``), without its explanation;
    empty without any."""
    names = _PROOF.findall(finding.reason)
    return names[-1] if names else ""
