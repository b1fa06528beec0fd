"""Calibration rounds: the same dialogues to all of a group, blind; then how far they agree and who leans.

A round is a project of its own: as many answers a task as the group has people, and a skill that makes
the group. Its report may be set beside the round before.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from dialint.detector.errors import ConfigError
from dialint.detector.statistics import Estimate
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.adjudication.leaning import Leaning, leanings
from dialint.labeling.aggregation.dialogue_answers import CollectedAnswers
from dialint.labeling.aggregation.store_reader import load_answers
from dialint.labeling.raters.agreement import krippendorff_alpha
from dialint.labeling.store import accounts, projects
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.draws import Design, DrawConfig, draw
from dialint.labeling.store.records import Project
from dialint.labeling.store.rights import may
from dialint.labeling.store.tasks import queue_counts


@dataclass(frozen=True)
class RoundConfig:
    """Who answers what in a round."""

    name: str
    """Name of the round; becomes a project."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Codes or categories to ask."""
    skill: str
    """The group: everybody with this skill."""
    n: int = 20
    """How many dialogues; all get the same."""
    design: Design = "random"
    """How they are drawn, as in dialint label plan."""
    seed: int = 0
    """The same seed and the same store give the same dialogues."""
    instructions: str = ""
    """What the group is told."""


@dataclass(frozen=True)
class Started:
    """A round that is open: the `people` of the group and how many `tasks` each gets."""

    people: tuple[str, ...]
    tasks: int


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha of a code in this round and, if there was one, in the round before."""

    code: str
    now: Estimate
    before: Estimate | None


@dataclass(frozen=True)
class Report:
    """What a round showed."""

    project: str
    before: str | None
    agreement: tuple[Agreement, ...]
    leanings: tuple[Leaning, ...]

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values; none for what cannot be said."""
        told = _plain(asdict(self))
        for row, one in zip(told["leanings"], self.leanings, strict=True):
            row["leans"] = one.leans
        return {"kind": "calibration-round", **told}


def start(store: Store, actor: str, config: RoundConfig, taxonomy: Taxonomy) -> Started:
    """Make the project and its tasks; the same round again changes nothing.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: the name is taken, or there are no dialogues left.
        ConfigError: an unknown code, a group of fewer than two, or too few dialogues.
    """
    codes = tuple(dict.fromkeys(code.code for name in config.codes for code in taxonomy.select(name)))
    listed = accounts.listed(store, actor)
    people = tuple(one.id for one in listed if config.skill in one.skills and may(one, "label"))
    if len(people) < 2:
        raise ConfigError(
            "E_OPTION", f"--skill {config.skill}: a group needs at least two people who may work"
        )
    made = Project(
        id=config.name,
        codes=codes,
        purpose="calibration",
        skills=(config.skill,),
        overlap=len(people),
        most=len(people),
        instructions=config.instructions,
    )
    projects.create(store, actor, made)
    there = sum(queue_counts(store, actor, made.id)["main"].values())
    if not there:
        there = draw(store, actor, DrawConfig(made.id, config.design, config.n, seed=config.seed))
    return Started(people, there)


def report(store: Store, actor: str, project: str, before: str | None, taxonomy: Taxonomy) -> Report:
    """Agreement by code, beside the round `before`, and everybody's leaning.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    now = load_answers(store, actor, project, taxonomy)
    earlier = None if before is None else load_answers(store, actor, before, taxonomy)
    agreement = tuple(
        Agreement(code, _alpha(now, code), _alpha_of(earlier, code)) for code in sorted(now.codes)
    )
    return Report(project, before, agreement, tuple(leanings(now)))


def _alpha(found: CollectedAnswers, code: str) -> Estimate:
    return krippendorff_alpha(found.codes[code].table(found.workers).votes())


def _alpha_of(found: CollectedAnswers | None, code: str) -> Estimate | None:
    return None if found is None or code not in found.codes else _alpha(found, code)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value
