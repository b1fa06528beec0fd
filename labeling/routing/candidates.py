"""One verdict, and what it would be worth to look at its dialogue: expected value over minutes.

Knows one verdict at a time; what the day has room for is decided in `plan`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dialint.detector.calibration import shown_probability
from dialint.detector.records import Finding, Severity, Verdict
from dialint.labeling.routing.policy import Policy

Kind = Literal["review", "crowd"]
NAMED = 3
"""Doubts that a reason names, at most."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A dialogue and what may become of it: `wanted` is who should look, none if nobody need.

    `value` is the sum of probability x severity weight over what is in doubt, in minor errors;
    `flagged` says whether the release found anything or failed, so that it is no matter of an audit;
    `accepted` counts the findings that the policy takes unseen, `unasked` are the codes of findings that
    nobody can be asked about. `luck` is the dialogue's own random number in [0, 1), the same for the same
    seed.
    """

    dialogue: str
    wanted: Kind | None
    value: float
    minutes: float
    flagged: bool
    luck: float
    reason: str
    accepted: int = 0
    unasked: tuple[str, ...] = ()

    @property
    def priority(self) -> float:
        """Expected value for each minute of looking."""
        return self.value / self.minutes


@dataclass(frozen=True, slots=True)
class Doubt:
    """One turn and code that somebody should look at, and what that is worth."""

    code: str
    turn: int
    probability: float
    value: float


def candidate(verdict: Verdict, policy: Policy, severities: Mapping[str, Severity], seed: int) -> Candidate:
    """What a verdict asks for. `severities` has the codes that people can be asked about and how severe
    each usually is; what the verdict finds of other codes is worth nothing here, and named in `unasked`."""
    luck = lucky(seed, verdict.dialogue_id)
    minutes = policy.minutes
    if verdict.status == "failed":
        reason = f"not judged: {verdict.failure}"
        return Candidate(
            verdict.dialogue_id, "review", policy.failed_value, minutes.review, True, luck, reason
        )
    best = _most_probable(verdict, severities)
    flagged = bool(best) or verdict.status == "not_judged"
    unread = _unread_share(verdict)
    unasked = tuple(dict.fromkeys(f.code for f in verdict.findings if f.code not in severities))
    seen = {(f.turn, f.code) for f in verdict.findings if f.code in severities and not policy.accepts(f)}
    doubts = [_doubt(finding, policy) for key, finding in best.items() if key in seen]
    accepted = len(best) - len(seen)
    sure_enough = any(doubt.probability >= policy.review_at for doubt in doubts)
    doubts += _unflagged(verdict, best, policy, severities)
    if not doubts and unread:
        languages = " ".join(dict.fromkeys(gap.language for gap in verdict.not_judged))
        reason = f"{unread:.0%} not judged: {languages}"
        value = unread * policy.not_judged_value
        return Candidate(
            verdict.dialogue_id, "review", value, minutes.review, flagged, luck, reason, accepted, unasked
        )
    if not doubts:
        reason = "sure" if flagged else f"not asked: {' '.join(unasked)}" if unasked else "nothing found"
        return Candidate(
            verdict.dialogue_id, None, 0.0, minutes.review, flagged, luck, reason, accepted, unasked
        )
    kind: Kind = "review" if sure_enough else "crowd"
    value = sum(doubt.value for doubt in doubts) + unread * policy.not_judged_value
    spent = minutes.review if sure_enough else minutes.crowd
    return Candidate(verdict.dialogue_id, kind, value, spent, flagged, luck, _told(doubts), accepted, unasked)


def _unread_share(verdict: Verdict) -> float:
    """The share of agents' turns in languages that the release does not cover."""
    if verdict.status == "not_judged":
        return 1.0
    return 0.0 if verdict.judged_share is None else 1.0 - verdict.judged_share


def lucky(seed: int, dialogue: str) -> float:
    """A number in [0, 1) that a dialogue keeps for a seed, as if drawn at random.

    Source: permanent random numbers, Ohlsson 1995: drawing whatever lies below a rate includes each unit
    with the probability of that rate, and drawing again draws the same units.
    """
    key = str(seed).encode()
    digest = hashlib.blake2b(dialogue.encode(), digest_size=8, key=key).digest()
    return (int.from_bytes(digest) >> 11) / (1 << 53)  # 53 bits: any more would round up to 1


def _most_probable(verdict: Verdict, severities: Mapping[str, Severity]) -> dict[tuple[int, str], Finding]:
    """The most probable finding of each turn and code."""
    best: dict[tuple[int, str], Finding] = {}
    for finding in verdict.findings:
        key = (finding.turn, finding.code)
        if finding.code in severities and (key not in best or finding.probability > best[key].probability):
            best[key] = finding
    return best


def _doubt(finding: Finding, policy: Policy) -> Doubt:
    value = finding.probability * policy.weights.of(finding.severity)
    return Doubt(finding.code, finding.turn, finding.probability, value)


def _unflagged(
    verdict: Verdict,
    flagged: Mapping[tuple[int, str], Finding],
    policy: Policy,
    severities: Mapping[str, Severity],
) -> list[Doubt]:
    """What was not flagged and is not improbable enough, where the verdict tells every probability."""
    return [
        Doubt(code, turn, probability, probability * policy.weights.of(severities[code]))
        for turn, codes in (verdict.probabilities or {}).items()
        for code, probability in codes.items()
        if code in severities and probability >= policy.crowd_at and (turn, code) not in flagged
    ]


def _told(doubts: list[Doubt]) -> str:
    """The doubts that count most, such as ``C1 0.91 turn 5``."""
    dearest = sorted(doubts, key=lambda doubt: (-doubt.value, doubt.turn, doubt.code))
    parts = [
        f"{doubt.code} {shown_probability(doubt.probability)} turn {doubt.turn}" for doubt in dearest[:NAMED]
    ]
    return ", ".join(parts) + (f" and {len(doubts) - NAMED} more" if len(doubts) > NAMED else "")
