"""A day's routing plan: the value of reviewing each verdict, and one route for each within the day's budget.

The policy is data, a YAML file of the team whose fields all have defaults: thresholds, the cost of an error,
the minutes of a review, the budget of a day.

The audit comes first, from its reserved share: unflagged dialogues sampled at random, each with its inclusion
probability, so that the errors that the release misses can be estimated. The rest is planned by priority
(expected value for each minute), the highest first; work that does not fit waits. Planning again after the
first plan assigns nothing more. Pure: `dispatch` reads and writes the store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError, model_validator

from dialint.detector.calibration import format_probability
from dialint.detector.errors import ConfigError
from dialint.detector.records import Finding, Probability, Record, Severity, Verdict
from dialint.detector.yaml_document import first_error, read_document

SERIOUS: tuple[Severity, ...] = ("S1", "S2")
"""Severities of which nothing is accepted unseen, unless `AcceptUnseen` permits the code."""
Minutes = Annotated[float, Field(gt=0.0)]
Value = Annotated[float, Field(ge=0.0)]


class SeverityWeights(Record):
    """The value of finding an error of each severity; the unit is a minor error."""

    S1: Value = 10.0
    S2: Value = 3.0
    S3: Value = 1.0
    S4: Value = 0.2

    def of(self, severity: Severity) -> float:
        weight: float = getattr(self, severity)
        return weight


class MinutesPerItem(Record):
    """Minutes of all people together for one dialogue of each kind."""

    review: Minutes = 3.0
    crowd: Minutes = 8.0
    audit: Minutes = 8.0


class AcceptUnseen(Record):
    """A permission of the lead: findings of this code and severity at probability `at` or above need no
    review."""

    code: str
    severity: Severity
    at: Probability


class RoutingPolicy(Record):
    """Thresholds and budgets for reviews by people.

    A finding of S3 or S4 with probability `accept_at` or above is accepted unseen; 1 accepts none. One of S1
    or S2 is accepted unseen only with a permission for its code and severity in `accept_unseen`. Any other at
    `review_at` or above goes to a reviewer, a less probable one to the crowd, and so does a turn and code
    that was not flagged, at `crowd_at` or above. `audit_share` of `budget_minutes` is reserved for unflagged
    dialogues sampled at random. `failed_value` is the expected value of reading a dialogue that could not be
    judged, `not_judged_value` that of one in a language that the release does not cover, in proportion to the
    part that is not covered: none of these is ever accepted unseen. What did not fit into the budget of its
    day is planned again for `backlog_days` more.
    """

    accept_at: Probability = 1.0
    accept_unseen: tuple[AcceptUnseen, ...] = ()
    review_at: Probability = 0.5
    crowd_at: Probability = 0.2
    budget_minutes: Annotated[float, Field(ge=0.0)] = 480.0
    audit_share: Annotated[float, Field(ge=0.0, le=1.0)] = 0.1
    backlog_days: Annotated[int, Field(ge=0)] = 7
    failed_value: Value = 0.5
    not_judged_value: Value = 0.1
    weights: SeverityWeights = SeverityWeights()
    minutes: MinutesPerItem = MinutesPerItem()

    def accepts(self, finding: Finding) -> bool:
        """Returns whether a finding is accepted without a review."""
        if finding.severity not in SERIOUS:
            return self.accept_at < 1.0 and finding.probability >= self.accept_at
        return any(
            (finding.code, finding.severity) == (one.code, one.severity)
            and one.at < 1.0
            and finding.probability >= one.at
            for one in self.accept_unseen
        )

    @model_validator(mode="after")
    def _rising(self) -> RoutingPolicy:
        if not self.crowd_at <= self.review_at <= self.accept_at:
            raise ValueError("crowd_at, review_at and accept_at must rise in this order")
        return self


def load_routing_policy(path: Path | None = None) -> RoutingPolicy:
    """Read the policy from a YAML file; without a path the default policy.

    Raises:
        ConfigError: E_POLICY with the line.
    """
    if path is None:
        return RoutingPolicy()
    document = read_document(path, "E_POLICY")
    try:
        return RoutingPolicy.model_validate(document.value or {}, strict=False)
    except ValidationError as error:
        raise ConfigError("E_POLICY", first_error(error, document)) from None


Kind = Literal["review", "crowd"]
ProjectKind = Literal["review", "label"]
Route = Literal["clean", "accept", "unasked", "review", "crowd", "audit", "later"]
Work = tuple[str, ProjectKind]
"""A dialogue, and the project of the work on it."""


def project_of(route: Route | None) -> ProjectKind:
    return "review" if route == "review" else "label"


MAX_IN_REASON = 3
"""Uncertain turns and codes that a reason lists, at most."""


class ProjectCodes(NamedTuple):
    """The codes that each of the two projects asks about, with their usual severity."""

    review: Mapping[str, Severity]
    label: Mapping[str, Severity]

    @property
    def severities(self) -> dict[str, Severity]:
        return {**self.review, **self.label}


@dataclass(frozen=True, slots=True)
class Candidate:
    """Work on a dialogue to route: `wanted` is the kind of the work, none if there is none.

    `value` is the sum of probability x severity weight over the uncertain turns and codes, in minor errors;
    `flagged` says whether the release reported a finding or failed, which excludes it from the audit;
    `accepted` counts the findings that the policy accepts unseen, `unasked` are the codes of findings that no
    project asks about. `has_own_codes`: some of the codes are not asked about by the other project.
    `random_number` is the dialogue's permanent random number in [0, 1).
    """

    dialogue: str
    wanted: Kind | None
    value: float
    minutes: float
    flagged: bool
    random_number: float
    reason: str
    accepted: int = 0
    unasked: tuple[str, ...] = ()
    has_own_codes: bool = False

    @property
    def priority(self) -> float:
        """Expected value for each minute of work."""
        return self.value / self.minutes

    def find(self, work: Mapping[Work, Route]) -> Route | None:
        """The route of this work, if it is assigned: the same dialogue in the same project, or in the other
        one if that asks about all of it."""
        projects: tuple[ProjectKind, ...] = ("review", "label")
        own = project_of(self.wanted)
        routes = [
            work.get((self.dialogue, each)) for each in projects if each == own or not self.has_own_codes
        ]
        return next((route for route in routes if route), None)


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """One turn and code that needs a review, and the value of the review."""

    code: str
    turn: int
    probability: float
    value: float


def make_candidates(
    verdict: Verdict, policy: RoutingPolicy, project_codes: ProjectCodes, seed: int
) -> list[Candidate]:
    """The candidates of a verdict, one for each project that has work on it, or one without work. Codes of
    the review project are reviewed if one is probable enough or not among the label project's; the rest goes
    to the crowd. Findings of codes that no project asks about are listed in `unasked`."""
    minutes, severities = policy.minutes, project_codes.severities
    best = _most_probable(verdict, severities)
    unread = 0.0  # the share of turns that are not covered, or about which the judge gave no usable answer
    if verdict.status == "not_judged" or verdict.judge_failures:
        unread = 1.0
    elif verdict.judged_share is not None:
        unread = 1.0 - verdict.judged_share
    unaccepted = {
        (f.turn, f.code) for f in verdict.findings if f.code in severities and not policy.accepts(f)
    }
    without_work = Candidate(
        dialogue=verdict.dialogue_id,
        wanted=None,
        value=0.0,
        minutes=minutes.review,
        flagged=bool(best) or verdict.status == "not_judged",
        random_number=permanent_random_number(seed, verdict.dialogue_id),
        reason="nothing found",
        accepted=len(best) - len(unaccepted),
        unasked=tuple(dict.fromkeys(f.code for f in verdict.findings if f.code not in severities)),
    )
    if verdict.status == "failed":
        reason = f"not judged: {verdict.failure}"
        value = policy.failed_value
        return [replace(without_work, wanted="review", value=value, flagged=True, reason=reason)]
    flagged = [
        Uncertainty(f.code, f.turn, f.probability, f.probability * policy.weights.of(f.severity))
        for key, f in best.items()
        if key in unaccepted
    ]
    is_reviewed = any(
        item.code in project_codes.review
        and (item.probability >= policy.review_at or item.code not in project_codes.label)
        for item in flagged
    )
    uncertain = [*flagged, *_find_unflagged(verdict, best, policy, project_codes.label)]
    if not uncertain and unread:
        causes = (*(gap.language for gap in verdict.not_judged), *verdict.judge_failures)
        reason = f"{100 * unread:.0f} % not judged: {' '.join(dict.fromkeys(causes))}"
        return [replace(without_work, wanted="review", value=unread * policy.not_judged_value, reason=reason)]
    if not uncertain:
        reason = "sure" if without_work.flagged else without_work.reason
        if without_work.unasked and not without_work.flagged:
            reason = f"not asked: {' '.join(without_work.unasked)}"
        return [replace(without_work, reason=reason)]
    to_review = project_codes.review if is_reviewed else {}
    reviewed = [item for item in uncertain if item.code in to_review]
    rest = [item for item in uncertain if item.code not in to_review]
    kinds: dict[Kind, tuple[list[Uncertainty], Mapping[str, Severity], float]] = {
        "review": (reviewed, project_codes.label, minutes.review),
        "crowd": (rest, project_codes.review, minutes.crowd),
    }
    candidates: list[Candidate] = []
    for kind, (items, other, cost) in kinds.items():
        if items:
            candidate = replace(without_work, wanted=kind, minutes=cost, reason=_summarise(items))
            value, has_own = sum(item.value for item in items), any(item.code not in other for item in items)
            candidates.append(replace(candidate, value=value, has_own_codes=has_own))
    first, *others = candidates  # the first one has what is of the dialogue as a whole
    first = replace(first, value=first.value + unread * policy.not_judged_value)
    return [first, *(replace(each, accepted=0, unasked=()) for each in others)]


def permanent_random_number(seed: int, dialogue: str) -> float:
    """A number in [0, 1) that depends on dialogue and seed only, uniformly distributed over dialogues.

    Source: permanent random numbers, Ohlsson 1995: sampling all units below a rate includes each with the
    probability of that rate, and sampling again selects the same units.
    """
    key = str(seed).encode()
    digest = hashlib.blake2b(dialogue.encode(), digest_size=8, key=key).digest()
    return (int.from_bytes(digest) >> 11) / (1 << 53)  # 53 bits: any more would round up to 1


def _most_probable(verdict: Verdict, severities: Mapping[str, Severity]) -> dict[tuple[int, str], Finding]:
    best: dict[tuple[int, str], Finding] = {}
    for finding in verdict.findings:
        key = (finding.turn, finding.code)
        if finding.code in severities and (key not in best or finding.probability > best[key].probability):
            best[key] = finding
    return best


def _find_unflagged(
    verdict: Verdict,
    flagged: Mapping[tuple[int, str], Finding],
    policy: RoutingPolicy,
    severities: Mapping[str, Severity],
) -> list[Uncertainty]:
    """Turns and codes that are not flagged but at `crowd_at` or above, where the verdict has all
    probabilities."""
    return [
        Uncertainty(code, turn, probability, probability * policy.weights.of(severities[code]))
        for turn, codes in (verdict.probabilities or {}).items()
        for code, probability in codes.items()
        if code in severities and probability >= policy.crowd_at and (turn, code) not in flagged
    ]


def _summarise(uncertain: list[Uncertainty]) -> str:
    """The items of highest value, such as ``C1 0.91 turn 5``."""
    ranked = sorted(uncertain, key=lambda item: (-item.value, item.turn, item.code))[:MAX_IN_REASON]
    parts = (f"{each.code} {format_probability(each.probability)} turn {each.turn}" for each in ranked)
    more = len(uncertain) - len(ranked)
    return ", ".join(parts) + (f" and {more} more" if more else "")


WORK: tuple[Route, ...] = ("review", "crowd", "audit")
"""Fates that cost people's time."""


@dataclass(frozen=True, slots=True)
class Routed:
    """The route of one dialogue, or of the work on it for one of two projects, with its reason.

    clean: no findings, no work. accept: the findings are accepted unseen, as the policy permits. unasked: the
    findings are of codes that the projects do not ask about. review: a person confirms the findings. crowd:
    people answer blind. audit: sampled from the unflagged with `inclusion_probability`. later: needs work,
    but does not fit into the budget. `priority` is expected value a minute; that of an audit is taken from a
    random crowd task. `accepted` counts the findings accepted unseen, `unasked` are the codes that no project
    asks about.
    """

    dialogue: str
    route: Route
    minutes: float
    value: float
    priority: float
    reason: str
    inclusion_probability: float | None = None
    accepted: int = 0
    unasked: tuple[str, ...] = ()


def allocate_day(
    fresh: Sequence[Candidate],
    late: Sequence[Candidate],
    policy: RoutingPolicy,
    assigned: Mapping[Work, Route],
) -> list[Routed]:
    """Plan the route of every candidate, `fresh` ones of the day, then `late` ones of the backlog.

    The backlog is never audited: its day had its audit. `assigned` is the work that was assigned today
    already; it stays and counts against the budget. The rest of the budget is assigned by priority; a shorter
    task may fit where a longer one does not.
    """
    everything = [*fresh, *late]
    minutes = policy.minutes
    costs: dict[Route, float] = {"review": minutes.review, "crowd": minutes.crowd, "audit": minutes.audit}
    n_unflagged, reserved = sum(not one.flagged for one in fresh), policy.audit_share * policy.budget_minutes
    rate = min(1.0, reserved / (minutes.audit * n_unflagged)) if n_unflagged else 0.0
    routes: dict[Work, Route] = {
        (one.dialogue, "label"): "audit" for one in fresh if not one.flagged and one.random_number < rate
    }
    routes.update(assigned)
    left = policy.budget_minutes - sum(costs.get(route, 0.0) for route in routes.values())
    waiting = [one for one in everything if one.wanted and one.find(routes) is None]
    for one in sorted(waiting, key=lambda one: (-one.priority, one.random_number, one.dialogue)):
        if one.wanted and one.minutes <= left:
            routes[one.dialogue, project_of(one.wanted)] = one.wanted
            left -= one.minutes
    crowd_priorities = sorted(one.priority for one in everything if one.find(routes) == "crowd")
    routed = []
    for one in everything:
        route = one.find(routes)
        if route is None:
            rest: Route = "accept" if one.accepted else "clean"
            route = "later" if one.wanted else "unasked" if one.unasked else rest
        priority, reason = one.priority, one.reason
        if route == "audit":
            # the priority of a random crowd task: a labeler must not recognise an audit by when it comes
            priority = min(one.random_number / rate, 1.0) if rate else 0.0
            if crowd_priorities:
                priority = crowd_priorities[int(priority * (len(crowd_priorities) - 1))]
            reason = f"at random, {rate:.6g} of the unflagged"
        routed.append(
            Routed(
                dialogue=one.dialogue,
                route=route,
                minutes=costs.get(route, 0.0),
                value=one.value,
                priority=priority,
                reason=reason,
                inclusion_probability=rate if route == "audit" else None,
                accepted=one.accepted if route == "accept" else 0,
                unasked=one.unasked,
            )
        )
    return routed
