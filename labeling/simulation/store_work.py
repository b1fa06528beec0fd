"""Made-up people work on a store: blind labels, and corrections of a release's verdicts.

Everything goes the way it goes with people: accounts, projects, tasks, claims, answers. Who they are stands
in `dialint.labeling.simulation.people`; what is asked about, and of which store, is the caller's care.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cyclopts import Parameter

from dialint.detector.errors import ConfigError
from dialint.detector.interface import Detector
from dialint.detector.records import Dialogue, Example, Verdict
from dialint.detector.taxonomy import Code, load_taxonomy
from dialint.labeling.exchange.store_import import batches
from dialint.labeling.simulation.people import LABELERS, REVIEWERS, Person, Truth, shapes_of
from dialint.labeling.store import accounts, dialogues, leases, projects, tasks
from dialint.labeling.store.annotations import submit
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import MAX_PER_CALL
from dialint.labeling.store.records import Account, AccountRole, NewTask, Project

LABELS, REVIEWS = "simulated-labels", "simulated-reviews"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Plan:
    """Who answers, and about how much."""

    labelers: int = 8
    """Labelers."""
    overlap: int = 3
    """Labelers that answer about each dialogue."""
    reviewers: int = 2
    """Reviewers."""
    reviewed: float = 0.5
    """Share of the dialogues whose verdict a reviewer corrects."""
    seed: int = 1
    """The same seed gives the same people, and the same answer of each to the same dialogue."""

    def __post_init__(self) -> None:
        if not 1 <= self.overlap <= self.labelers or self.reviewers < 1 or not 0 <= self.reviewed <= 1:
            raise ConfigError("E_OPTION", "--overlap, --labelers, --reviewers or --reviewed is out of range")


@dataclass(frozen=True)
class Work:
    """What people are asked about: dialogues with what is true and what the release said, by dialogue."""

    truths: Mapping[str, tuple[Dialogue, Truth]]
    verdicts: Mapping[str, Verdict]

    @property
    def codes(self) -> tuple[Code, ...]:
        """The codes of all errors, in the taxonomy's order."""
        named = {code for _, truth in self.truths.values() for _, code in truth}
        return tuple(code for code in load_taxonomy().codes.values() if code.code in named)


def fill(
    store: Store, admin: str, examples: Sequence[Example], detector: Detector, plan: Plan
) -> dict[str, Any]:
    """Put dialogues and verdicts into `store` as the account `admin`, and let people work; who they are.

    Raises:
        NotAllowed: `admin` is none.
        StoreRefused: there is a simulated crowd already.
    """
    people = [*_people(store, admin, "labeler", plan), *_people(store, admin, "reviewer", plan)]
    work = Work(
        {one.dialogue.id: (one.dialogue, _truth(one)) for one in examples},
        {verdict.dialogue_id: verdict for verdict in _bring(store, admin, examples, detector)},
    )
    names = list(work.truths)
    checked = random.Random(plan.seed).sample(names, round(plan.reviewed * len(names)))
    codes = tuple(code.code for code in work.codes)
    blind = Project(id=LABELS, codes=codes, overlap=plan.overlap, most=max(5, plan.overlap), masked=False)
    review = Project(id=REVIEWS, codes=codes, purpose="review", prelabelled=True)
    given = Counter[str]()
    for project, group, asked in ((blind, LABELERS, names), (review, REVIEWERS, checked)):
        projects.create(store, admin, project)
        for piece in batches(iter(asked), MAX_PER_CALL):
            tasks.add(store, admin, project.id, [NewTask(dialogue=name, why="simulated") for name in piece])
        given.update(_answers(store, project, [one for one in people if one.group is group], work, plan.seed))
    told = [
        {"name": one.name, "sensitivity": one.sensitivity, "specificity": one.specificity}
        | {"answers": given[one.name]}
        for one in people
    ]
    return {"dialogues": len(names), "reviewed": len(checked), "codes": list(codes), "people": told}


def _truth(example: Example) -> Truth:
    return {(label.turn, label.code): label for label in example.labels if label.probability > 0.5}


def _people(store: Store, admin: str, role: AccountRole, plan: Plan) -> Iterator[Person]:
    """Accounts that nobody can sign in to, and who answers in their names."""
    group, n = (LABELERS, plan.labelers) if role == "labeler" else (REVIEWERS, plan.reviewers)
    for number in range(1, n + 1):
        name = f"simulated-{role}-{number}"
        accounts.create(store, admin, Account(id=name, role=role))
        yield Person.drawn(name, group, plan.seed)


def _bring(store: Store, admin: str, examples: Sequence[Example], detector: Detector) -> Iterator[Verdict]:
    for piece in batches((one.dialogue for one in examples), MAX_PER_CALL):
        dialogues.add(store, admin, piece)
        found = detector.verdicts(piece, all_probabilities=True)
        dialogues.add_verdicts(store, admin, found)
        yield from found


def _answers(store: Store, project: Project, people: Sequence[Person], work: Work, seed: int) -> Counter[str]:
    """Everybody takes and answers a task at a time, in an order that changes, until nothing is left; how many
    each answered."""
    order, codes, given = random.Random(f"{seed}/{project.id}"), work.codes, Counter[str]()
    shapes = shapes_of(work.truths.values())
    busy = list(people)
    while busy:
        order.shuffle(busy)
        for one in tuple(busy):
            lease = leases.claim(store, one.name, project.id)
            if lease is None:
                busy.remove(one)
                continue
            dialogue, truth = work.truths[lease.dialogue]
            seen = work.verdicts[lease.dialogue] if project.prelabelled else None
            submit(
                store,
                one.name,
                lease.task,
                lease.token,
                key=f"{project.id}/{one.name}/{lease.dialogue}",
                findings=one.finds(dialogue, truth, codes, seed, seen, shapes),
                seconds=one.seconds(dialogue, seed),
            )
            given[one.name] += 1
    return given
