"""A day's plan: every verdict gets one fate, and no more minutes are given out than there are.

The audit comes first, out of its reserved share: unflagged dialogues drawn at random, each with the
probability of being drawn, so that what the release misses can be estimated. The rest goes by priority,
the dearest first; whatever does not fit waits. Planning again with what the first plan gave out gives
out nothing more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dialint.detector.records import Severity, Verdict
from dialint.labeling.routing.candidates import Candidate, candidate
from dialint.labeling.routing.policy import Policy

Fate = Literal["clean", "accept", "unasked", "review", "crowd", "audit", "later"]
WORK: tuple[Fate, ...] = ("review", "crowd", "audit")
"""Fates that cost people's time."""


@dataclass(frozen=True, slots=True)
class Routed:
    """What becomes of one dialogue, and why.

    clean: nothing was found, nobody looks. accept: what was found is taken unseen, as the policy permits.
    unasked: what was found is of codes that the projects do not ask of, so nobody can be sent. review: a
    person confirms what was found. crowd: people answer blind. audit: drawn from the unflagged with
    `inclusion_probability`. later: worth a look, no room today. `priority` is expected value a minute; an
    audit's is its place among the crowd's. `accepted` counts the findings taken unseen, `unasked` are the
    codes that nobody is asked of.
    """

    dialogue: str
    fate: Fate
    minutes: float
    value: float
    priority: float
    reason: str
    inclusion_probability: float | None = None
    accepted: int = 0
    unasked: tuple[str, ...] = ()


def plan(
    verdicts: Iterable[Verdict],
    policy: Policy,
    seed: int,
    severities: Mapping[str, Severity],
    backlog: Iterable[Verdict] = (),
    given: Mapping[str, Fate] | None = None,
) -> list[Routed]:
    """The fate of every dialogue, those of `verdicts` in their order, then those of `backlog`.

    `severities` has the codes that can be asked and how severe each usually is. Dialogues of the
    `backlog`, left over from days before, are never audited: their day had its audit. `given` is the
    work that today has given out already; it stays and counts against the budget.

    Raises:
        ValueError: a dialogue has two verdicts.
    """
    fresh = [candidate(verdict, policy, severities, seed) for verdict in verdicts]
    late = [candidate(verdict, policy, severities, seed) for verdict in backlog]
    return allotted(fresh, late, policy, given or {})


def allotted(
    fresh: Sequence[Candidate], late: Sequence[Candidate], policy: Policy, given: Mapping[str, Fate]
) -> list[Routed]:
    """As `plan`, of candidates."""
    everything = [*fresh, *late]
    if len({one.dialogue for one in everything}) < len(everything):
        raise ValueError("a dialogue has two verdicts")
    rate = audit_rate(sum(not one.flagged for one in fresh), policy)
    drawn = {one.dialogue for one in fresh if not one.flagged and one.luck < rate}
    day = Day(policy, {**dict.fromkeys(drawn, "audit"), **given})
    day.fill(everything)
    places = _places([one for one in everything if day.fates.get(one.dialogue) == "crowd"])
    return [_routed(one, day, rate, places) for one in everything]


def audit_rate(n_unflagged: int, policy: Policy) -> float:
    """The share of unflagged dialogues that the reserved minutes can read, 0 to 1."""
    reserved = policy.audit_share * policy.budget_minutes
    return min(1.0, reserved / (policy.minutes.audit * n_unflagged)) if n_unflagged else 0.0


@dataclass
class Day:
    """The work of a day: `fates` of the dialogues that somebody looks at."""

    policy: Policy
    fates: dict[str, Fate]

    def minutes(self, fate: Fate) -> float:
        """What one dialogue of this fate costs."""
        minutes = self.policy.minutes
        return {"review": minutes.review, "crowd": minutes.crowd, "audit": minutes.audit}.get(fate, 0.0)

    def fill(self, candidates: Collection[Candidate]) -> None:
        """Give out what is left of the budget by priority; a cheaper one may fit where a dearer does
        not."""
        left = self.policy.budget_minutes - sum(self.minutes(fate) for fate in self.fates.values())
        waiting = [one for one in candidates if one.wanted and one.dialogue not in self.fates]
        for one in sorted(waiting, key=lambda one: (-one.priority, one.luck, one.dialogue)):
            if one.wanted and one.minutes <= left:
                self.fates[one.dialogue] = one.wanted
                left -= one.minutes


def _places(crowd: Sequence[Candidate]) -> list[float]:
    return sorted(one.priority for one in crowd)


def _routed(one: Candidate, day: Day, rate: float, places: Sequence[float]) -> Routed:
    fate = day.fates.get(one.dialogue) or _unseen(one)
    accepted = one.accepted if fate == "accept" else 0
    if fate != "audit":
        return Routed(
            one.dialogue,
            fate,
            day.minutes(fate),
            one.value,
            one.priority,
            one.reason,
            None,
            accepted,
            one.unasked,
        )
    # a random place among the crowd's tasks: a labeler must not know an audit by when it comes
    share = min(one.luck / rate, 1.0) if rate else 0.0
    priority = places[int(share * (len(places) - 1))] if places else share
    reason = f"at random, {rate:.6g} of the unflagged"
    return Routed(
        one.dialogue, fate, day.minutes(fate), one.value, priority, reason, rate, accepted, one.unasked
    )


def _unseen(one: Candidate) -> Fate:
    """The fate of a dialogue that nobody looks at today."""
    if one.wanted:
        return "later"
    if one.unasked:
        return "unasked"
    return "accept" if one.accepted else "clean"
