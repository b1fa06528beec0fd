"""Routing into the store, on both databases: tasks in the right projects, and nothing given out twice."""

from typing import Any

import make
import pytest

from dialint.detector.errors import ConfigError
from dialint.labeling.queue.dispatch import RouteConfig, dispatch
from dialint.labeling.store import dialogues, leases, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NewTask, NotAllowed, Project

CONFIG = RouteConfig("r", "l")
DAY_S = 86_400


def put(store: Store, name: str, probability: float | None, release: str = "embedded-1") -> None:
    dialogues.add(store, "lea", [make.dialogue(name)])
    findings = [] if probability is None else [make.finding(probability=probability)]
    dialogues.add_verdicts(store, "lea", [make.verdict(name, *findings, release=release)])


@pytest.fixture
def two(store: Store) -> Store:
    projects.create(store, "lea", Project(id="r", codes=("C1", "T1"), purpose="review", prelabelled=True))
    projects.create(store, "lea", Project(id="l", codes=("C1", "L1")))
    return store


def queue(store: Store, actor: str, project: str) -> list[str]:
    claimed = []
    while lease := leases.claim(store, actor, project, at_once=99):
        claimed.append(lease.dialogue)
    return claimed


def test_a_verdict_in_the_store_does_not_tell_who_spoke(two: Store) -> None:
    """Labelers of a pre-labelled project see it; the dialogue itself knows, for those who may."""
    plain = make.verdict("a", make.finding())
    with_origin = plain.model_copy(update={"agent": "ada", "team": "t", "channel": "c", "agent_turns": 2})
    dialogues.add(two, "lea", [make.dialogue("a")])
    dialogues.add_verdicts(two, "lea", [with_origin])
    stored = two.read(lambda t: dialogues.load_verdict(t, "a"))
    assert stored == plain.model_copy(update={"agent_turns": 2})
    assert dialogues.add_verdicts(two, "lea", [stored]) == 0


def test_verdicts_become_tasks_once(two: Store) -> None:
    for name, probability in (("a", 0.6), ("b", 0.9), ("c", 0.3), ("d", None)):
        put(two, name, probability)
    dry = dispatch(two, "lea", RouteConfig("r", "l", dry_run=True))
    first = dispatch(two, "lea", CONFIG)
    assert (dry.added, first.added, dry.routed) == (0, 4, first.routed)
    assert first.routes == {"review": 2, "crowd": 1, "audit": 1}
    assert first.minutes == 3 + 3 + 8 + 8
    again = dispatch(two, "lea", CONFIG)
    assert (again.added, again.routed) == (0, first.routed)
    assert queue(two, "rob", "r") == ["b", "a"]
    assert sorted(queue(two, "ann", "l")) == ["c", "d"]
    rows = two.read(lambda t: t.run(tasks.tasks.select().order_by(tasks.tasks.c.dialogue)).all())
    assert [row.inclusion_probability for row in rows] == [None, None, None, 1.0]
    assert rows[1].why == "routed 2023-11-14 review: C1 0.90 turn 1"


def test_the_next_day_takes_up_what_waited(two: Store, time_: Any, tmp_path: Any) -> None:
    """6 minutes a day: two reviews. What waited comes the next day, with an older day's audit not redone."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("budget_minutes: 6\naudit_share: 0")
    config = RouteConfig("r", "l", policy)
    for name, probability in (("a", 0.6), ("b", 0.7), ("c", 0.8), ("d", None)):
        put(two, name, probability)
    assert dispatch(two, "lea", config).routes == {"review": 2, "later": 1, "clean": 1}
    time_.pass_s(DAY_S)
    put(two, "e", 0.9)
    second = dispatch(two, "lea", config)
    assert (second.added, second.routes) == (2, {"review": 2, "clean": 1})
    assert queue(two, "rob", "r") == ["e", "c", "b", "a"]
    time_.pass_s(30 * DAY_S)
    assert dispatch(two, "lea", config).routed == ()


def test_the_newest_verdict_counts(two: Store, time_: Any) -> None:
    put(two, "a", 0.9)
    time_.pass_s(10)
    put(two, "a", None, release="b-2")
    (routed,) = dispatch(two, "lea", CONFIG).routed
    assert routed.route == "audit"


def test_a_dialogue_that_has_a_task_is_left_alone(two: Store) -> None:
    put(two, "a", 0.9)
    tasks.add(two, "lea", "r", [NewTask(dialogue="a", why="risk: 1 of 1")])
    assert dispatch(two, "lea", CONFIG).routed == ()


def test_projects_must_be_of_their_kind(two: Store) -> None:
    projects.create(two, "lea", Project(id="x", codes=("T1",)))
    with pytest.raises(ConfigError, match="pre-labelled"):
        dispatch(two, "lea", RouteConfig("l", "x"))
    projects.create(two, "lea", Project(id="r2", codes=("C1",), purpose="review", prelabelled=True))
    with pytest.raises(ConfigError, match="blind"):
        dispatch(two, "lea", RouteConfig("r", "r2"))
    with pytest.raises(NotAllowed):
        dispatch(two, "rob", CONFIG)


def test_each_project_gets_every_finding_of_its_own_codes(two: Store, time_: Any, tmp_path: Any) -> None:
    """C1 is asked by both, T1 by the review project, L1 by the label project. 11 minutes pay for a review
    and one answer; the other waits for the next day, though its dialogue may have a task for review."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("budget_minutes: 11\naudit_share: 0")
    dialogues.add(two, "lea", [make.dialogue("a"), make.dialogue("b")])
    both = [make.finding(code=code, probability=0.9) for code in ("C1", "T1", "L1")]
    dialogues.add_verdicts(two, "lea", [make.verdict("a", *both), make.verdict("b", both[2])])
    first = dispatch(two, "lea", RouteConfig("r", "l", policy))
    assert (first.added, first.routes, first.unasked) == (2, {"review": 1, "crowd": 1, "later": 1}, {})
    assert dispatch(two, "lea", RouteConfig("r", "l", policy)).added == 0
    time_.pass_s(DAY_S)
    assert dispatch(two, "lea", RouteConfig("r", "l", policy)).added == 1
    rows = two.read(lambda t: t.run(tasks.tasks.select()).all())
    whys = sorted((row.project, row.dialogue, row.why.partition(": ")[2]) for row in rows)
    assert [(project, dialogue) for project, dialogue, _ in whys] == [("l", "a"), ("l", "b"), ("r", "a")]
    assert all(why.startswith("L1") for project, _, why in whys if project == "l")
    assert "C1" in whys[2][2]
    assert "T1" in whys[2][2]
    projects.create(two, "lea", Project(id="y", codes=("L2",)))
    assert dispatch(two, "lea", RouteConfig("r", "y", policy, dry_run=True)).unasked == {"L1": 1}
