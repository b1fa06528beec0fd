"""Applies a day's plan to the store: reads verdicts, adds tasks to a review project and a blind label
project.

Reads the newest verdict of each dialogue that came in on the day, and on the days of the backlog before it.
Earlier assignments are read from the tasks themselves (their `why` has the day), so that the same plan twice
adds nothing, and a second plan of the same day uses the rest of the budget. Reads in pages, so that writers
are not blocked; keeps one small candidate for each dialogue in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from dialint.detector.errors import ConfigError
from dialint.detector.records import Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.queue.routing import (
    WORK,
    Candidate,
    ProjectCodes,
    ProjectKind,
    Route,
    Routed,
    RoutingPolicy,
    Work,
    allocate_day,
    load_routing_policy,
    make_candidates,
)
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import iterate_verdicts
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.records import NewTask
from dialint.labeling.store.tasks import add_all, iterate_reasons

DAY_MS = 86_400_000
MARK = "routed"


@dataclass(frozen=True)
class RouteConfig:
    """Sources and target projects of a routing."""

    review: str
    """Review project, pre-labelled: a person confirms the findings."""
    label: str
    """Label project, blind: uncertain findings for the crowd, and the audit."""
    policy: Path | None = None
    """RoutingPolicy (YAML): thresholds, weights, minutes, budget; the default policy without it."""
    day: date | None = None
    """Day whose verdicts are routed and whose budget is spent (UTC); today by default."""
    seed: int = 0
    """Seed of the audit: keep it, or a dialogue could be sampled twice."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""
    dry_run: bool = False
    """Print the plan without adding tasks."""

    def __post_init__(self) -> None:
        if self.review == self.label:
            raise ConfigError("E_OPTION", "--review and --label must name two projects")


@dataclass(frozen=True)
class DispatchResult:
    """A plan; `added` is the number of tasks that are new."""

    day: date
    routed: tuple[Routed, ...]
    added: int
    budget_minutes: float

    @property
    def routes(self) -> Counter[Route]:
        return Counter(one.route for one in self.routed)

    @property
    def accepted(self) -> int:
        return sum(one.accepted for one in self.routed)

    @property
    def unasked(self) -> Counter[str]:
        """The number of dialogues with findings of each code that the projects do not ask about."""
        return Counter(code for one in self.routed for code in one.unasked)

    @property
    def minutes(self) -> float:
        return sum(one.minutes for one in self.routed)


def dispatch(store: Store, actor: str, config: RouteConfig) -> DispatchResult:
    """Plan the day and add its tasks to the two projects, each for the codes that it asks about.

    Raises:
        StoreRefused: an unknown project.
        ConfigError: a bad policy, or a project that is not of its kind.
    """
    policy, taxonomy = load_routing_policy(config.policy), load_taxonomy(config.taxonomy)
    codes = store.read(lambda transaction: _load_codes(transaction, actor, config))
    project_codes = ProjectCodes(*({name: taxonomy.codes[name].severity for name in each} for each in codes))
    now_ms = store.read(lambda transaction: transaction.now_ms)
    day = config.day or datetime.fromtimestamp(now_ms / 1000, UTC).date()
    assigned, busy = _load_assigned(store, config, day)
    fresh, late = _load_candidates(store, day, policy, project_codes, config.seed, busy)
    routed = allocate_day(fresh, late, policy, assigned)
    added = 0 if config.dry_run else _add_tasks(store, actor, config, day, routed)
    return DispatchResult(day, tuple(routed), added, policy.budget_minutes)


def _load_codes(
    transaction: Transaction, actor: str, config: RouteConfig
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    require_permission(transaction, actor, "plan")
    review, label = get_project(transaction, config.review), get_project(transaction, config.label)
    if review.purpose != "review" or not review.prelabelled:
        raise ConfigError(
            "E_OPTION", "{project}: expected a pre-labelled project for review", project=review.id
        )
    if label.purpose != "label" or label.prelabelled:
        raise ConfigError("E_OPTION", "{project}: expected a blind project for labels", project=label.id)
    return review.codes, label.codes


def _load_assigned(
    store: Store, config: RouteConfig, day: date
) -> tuple[dict[Work, Route], dict[Work, Route]]:
    """Routes assigned by an earlier plan of this day, and those of other tasks in the two projects."""
    assigned: dict[Work, Route] = {}
    busy: dict[Work, Route] = {}
    projects: dict[ProjectKind, str] = {"review": config.review, "label": config.label}
    for kind, project in projects.items():
        for dialogue, why in iterate_reasons(store, project):
            mark, *words = why.split(maxsplit=3)
            route = words[1].rstrip(":") if mark == MARK and words[:1] == [day.isoformat()] else ""
            if route in WORK:
                assigned[dialogue, kind] = route
            else:
                busy[dialogue, kind] = "review"
    return assigned, {work: route for work, route in busy.items() if work not in assigned}


def _load_candidates(
    store: Store,
    day: date,
    policy: RoutingPolicy,
    project_codes: ProjectCodes,
    seed: int,
    busy: Mapping[Work, Route],
) -> tuple[list[Candidate], list[Candidate]]:
    """Candidates of the day, and of the backlog, by the newest verdict on each dialogue; none whose work is
    among `busy`."""
    start_ms = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
    since_ms = start_ms - policy.backlog_days * DAY_MS
    fresh: list[Candidate] = []
    late: list[Candidate] = []
    rows = iterate_verdicts(store, since_ms, start_ms + DAY_MS)
    for _, of_dialogue in groupby(rows, attrgetter("dialogue")):
        newest = max(of_dialogue, key=attrgetter("created_ms", "release"))
        verdict = Verdict.model_validate_json(newest.content)
        candidates = make_candidates(verdict, policy, project_codes, seed)
        into = fresh if newest.created_ms >= start_ms else late
        into += [one for one in candidates if one.find(busy) is None]
    return fresh, late


def _add_tasks(store: Store, actor: str, config: RouteConfig, day: date, routed: list[Routed]) -> int:
    added = 0
    for project, routes in ((config.review, ("review",)), (config.label, ("crowd", "audit"))):
        new = [
            NewTask(
                dialogue=one.dialogue,
                priority=one.priority,
                inclusion_probability=one.inclusion_probability,
                why=f"{MARK} {day.isoformat()} {one.route}: {one.reason}",
            )
            for one in routed
            if one.route in routes
        ]
        added += add_all(store, actor, project, new)
    return added
