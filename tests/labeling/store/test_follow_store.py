"""Dynamic overlap that follows the answers, on both databases: each task is decided on as its answers come."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.aggregation import adaptive_overlap
from dialint.labeling.aggregation.adaptive_overlap import (
    Follower,
    FollowStep,
    OverlapConfig,
    TaskStatus,
    decide,
    follow,
    update_overlap,
)
from dialint.labeling.aggregation.overlap import Decision, OverlapRule
from dialint.labeling.store import (
    accounts,
    annotations,
    counted_annotations,
    dialogues,
    gold,
    leases,
    projects,
    tasks,
)
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.errors import NotAllowed
from dialint.labeling.store.records import Gold, NewTask, Project
from dialint.labeling.store.tasks import list_answered_tasks

TAXONOMY = load_taxonomy()
NAMES = tuple(f"d{i}" for i in range(12))
CONFIG = OverlapConfig("p", sure=0.9, follow=True)
NOTHING = FollowStep(False, Counter())


class Ended(Exception):
    """The test ends a follower."""


def go_on(_: float) -> None:
    """Nobody ends the follower."""


@pytest.fixture
def filled(store: Store, made: Any) -> Store:
    """Tasks that want two answers, at most three."""
    projects.create(store, "lea", Project(id="p", codes=("C1",), overlap=2, most=3))
    dialogues.add(store, "lea", [made.dialogue(name) for name in NAMES])
    tasks.add(store, "lea", "p", [NewTask(dialogue=name) for name in NAMES])
    return store


def answer(store: Store, made: Any, who: str, yes: Iterable[str] = (), n: int = 100) -> list[str]:
    """What `who` answered, up to `n` tasks."""
    given = []
    while len(given) < n and (lease := leases.claim(store, who, "p")):
        found = [made.finding()] if lease.dialogue in yes else []
        annotations.submit(store, who, lease.task, lease.token, f"{who} {lease.task} {lease.token}", found)
        given.append(lease.dialogue)
    return given


def follower(store: Store, rest: Callable[[float], None] = go_on) -> Follower:
    return Follower(store, "lea", CONFIG, TAXONOMY, rest)


def wants(store: Store) -> dict[str, int]:
    """Answers wanted of each task with answers."""
    found = store.read(lambda transaction: list_answered_tasks(transaction, "p"))
    return {task.dialogue: task.wanted for task in found}


def test_each_answer_is_decided_on(filled: Store, made: Any) -> None:
    following = follower(filled)
    assert following.begin() == FollowStep(True, Counter())
    yes = {"d0", "d1", "d2", "d3"}
    answer(filled, made, "ann", yes)
    assert following.step() == FollowStep(True, Counter({Decision.ASK: 12}))
    assert following.step() == NOTHING
    answer(filled, made, "ben", yes - {"d0"})
    assert following.step().decisions == {Decision.STOP: 11, Decision.ASK: 1}
    assert wants(filled) == dict.fromkeys(NAMES, 2) | {"d0": 3}
    assert answer(filled, made, "cem", yes) == ["d0"]
    assert sum(following.step().decisions.values()) == 1
    assert answer(filled, made, "dot") == []
    assert following.step() == NOTHING


def test_the_touched_alone_until_answers_grew(filled: Store, made: Any) -> None:
    """24 answers and one more is less than a twentieth more."""
    for who in ("ann", "ben"):
        answer(filled, made, who, {"d0", "d1", "d2", "d3"})
    tasks.set_wanted(filled, "lea", 5, 3)
    following = follower(filled)
    assert following.begin().decisions == {Decision.STOP: 12}
    assert wants(filled)["d4"] == 2
    tasks.set_wanted(filled, "lea", 5, 3)
    assert answer(filled, made, "cem", {"d4"}) == ["d4"]
    done = following.step()
    assert (done.all, sum(done.decisions.values())) == (False, 1)


def test_a_correction_reopens_what_was_sure(filled: Store, made: Any) -> None:
    answer(filled, made, "ann", {"d1", "d2", "d3"})
    answer(filled, made, "ben", {"d1", "d2", "d3"})
    following = follower(filled)
    assert following.begin().decisions == {Decision.STOP: 12}
    mine = annotations.list_annotations(filled, "rob", "d5")[0]
    assert mine.labeler == "ann"
    annotations.correct(filled, "ann", int(mine.id), "changed", [made.finding()])
    assert following.step() == FollowStep(False, Counter({Decision.ASK: 1}))
    assert wants(filled)["d5"] == 3
    newest = annotations.list_annotations(filled, "rob", "d5")[-1]
    annotations.correct(filled, "ann", int(newest.id), "changed back")
    assert following.step().decisions[Decision.STOP] == 12
    assert wants(filled)["d5"] == 2


def test_gold_is_certain_from_when_it_is_known(filled: Store, made: Any) -> None:
    answer(filled, made, "ann", {"d0", "d1", "d2"})
    answer(filled, made, "ben", {"d1", "d2"})
    following = follower(filled)
    following.begin()
    assert wants(filled)["d0"] == 3
    for name in ("d0", "d1"):
        gold.set_gold(filled, "eve", Gold(dialogue=name, turn=1, code="C1", present=True, source="expert"))
    assert following.step() == FollowStep(False, Counter({Decision.STOP: 2}))
    assert wants(filled)["d0"] == 2
    gold.set_gold(filled, "eve", Gold(dialogue="d0", turn=1, code="C1", present=True, source="expert"))
    assert following.step() == NOTHING


def test_gold_that_comes_with_many_answers_is_heard(filled: Store, made: Any) -> None:
    answer(filled, made, "ann", {"d0"})
    following = follower(filled)
    following.begin()
    gold.set_gold(filled, "eve", Gold(dialogue="d0", turn=1, code="C1", present=False, source="expert"))
    answer(filled, made, "ben")
    assert following.step() == FollowStep(True, Counter({Decision.STOP: 12}))
    assert wants(filled)["d0"] == 2


def test_a_ban_takes_answers_back(filled: Store, made: Any) -> None:
    for who in ("ann", "ben"):
        answer(filled, made, who, {"d1", "d2", "d3"})
    following = follower(filled)
    following.begin()
    accounts.ban(filled, "lea", "ben", "answers at random")
    assert following.step() == FollowStep(True, Counter({Decision.ASK: 12}))
    assert len(answer(filled, made, "cem", {"d1", "d2", "d3"})) == 12
    following.step()
    assert following.step() == NOTHING
    assert update_overlap(filled, "lea", CONFIG, TAXONOMY) == {Decision.STOP: 12}


def test_a_newer_verdict_on_what_was_answered_begins_anew(filled: Store, made: Any) -> None:
    dialogues.add(filled, "lea", [made.dialogue("other")])
    answer(filled, made, "ann")
    following = follower(filled)
    following.begin()
    dialogues.add_verdicts(filled, "lea", [made.verdict("other", risk=0.3)])
    assert following.step() == NOTHING
    dialogues.add_verdicts(filled, "lea", [made.verdict(name, risk=0.01) for name in NAMES])
    assert following.step().all
    assert following.step() == NOTHING


def test_who_gives_a_task_back_has_it_decided_on(filled: Store, made: Any) -> None:
    """Ben and cem hold d0 when it is ended, so that it is not asked again while cem may still answer."""
    answer(filled, made, "ann", {"d0", "d1", "d2"})
    tasks.set_wanted(filled, "lea", 1, 3)
    ben, cem = leases.claim(filled, "ben", "p"), leases.claim(filled, "cem", "p")
    assert ben is not None
    assert cem is not None
    assert ben.dialogue == cem.dialogue == "d0"
    tasks.set_wanted(filled, "lea", 1, 1)
    annotations.submit(filled, "ben", ben.task, ben.token, "ben")
    following = follower(filled)
    following.begin()
    assert wants(filled)["d0"] == 1
    leases.skip(filled, "cem", cem.task, cem.token, "is in Finnish")
    assert following.step() == FollowStep(False, Counter({Decision.ASK: 1}))
    assert wants(filled)["d0"] == 3


def test_training_and_other_projects_are_no_news(filled: Store, made: Any) -> None:
    answer(filled, made, "ann")
    following = follower(filled)
    following.begin()
    projects.create(filled, "lea", Project(id="q", codes=("C1",)))
    tasks.add(filled, "lea", "q", [NewTask(dialogue="d0")])
    lease = leases.claim(filled, "ben", "q")
    assert lease is not None
    annotations.submit(filled, "ben", lease.task, lease.token, "q")
    assert following.step() == NOTHING


def test_two_followers_and_a_one_off_run_end_at_what_a_fresh_run_says(filled: Store, made: Any) -> None:
    """Six people answer in any order, two followers and `update_overlap` run in between in any order."""
    shuffled = random.Random(5)
    pair = [follower(filled), follower(filled)]
    for one in pair:
        one.begin()
    everybody = ["ann", "ben", "cem", "dot", "rob", "ria"]
    yes = {who: {name for name in NAMES[:6] if shuffled.random() < 0.8} for who in everybody}
    for turn in itertools.count():
        who = shuffled.choice(everybody)
        if not answer(filled, made, who, yes[who], n=1) and turn > 60:
            break
        shuffled.choice(pair).step()
        if turn % 7 == 3:
            update_overlap(filled, "lea", CONFIG, TAXONOMY)
    for one in pair:
        one.step()
    settled = wants(filled)
    fresh = update_overlap(filled, "lea", CONFIG, TAXONOMY)
    assert fresh[Decision.ASK] == 0
    assert wants(filled) == settled
    assert [one.step() for one in pair] == [NOTHING, NOTHING]
    verify_each_answered_once(filled)


def verify_each_answered_once(store: Store) -> None:
    given = [(one.dialogue_id, one.labeler) for one in counted_annotations.iterate_counted(store, "lea", "p")]
    assert len(given) == len(set(given))
    assert Counter(dialogue for dialogue, _ in given) == wants(store)


def test_who_decided_from_fewer_answers_does_not_overwrite(filled: Store, made: Any) -> None:
    """Ben's answer came, and the task is to have a third, while somebody still decides from ann's alone."""
    answer(filled, made, "ann")
    old = filled.read(lambda transaction: list_answered_tasks(transaction, "p", ["d0"]))
    assert answer(filled, made, "ben", {"d0"}, n=1) == ["d0"]
    tasks.set_wanted(filled, "lea", 1, 3)
    assert decide(filled, "lea", OverlapRule(1, 3, 0.9), old, {("d0", None): TaskStatus(1.0, ())}) == {
        Decision.STOP: 1
    }
    assert wants(filled)["d0"] == 3
    new = filled.read(lambda transaction: list_answered_tasks(transaction, "p", ["d0"]))
    decide(filled, "lea", OverlapRule(1, 3, 0.9), new, {("d0", None): TaskStatus(1.0, ())})
    assert wants(filled)["d0"] == 2


def test_it_ends_after_the_task_at_hand(filled: Store, made: Any) -> None:
    """`rest` is asked before each of the 12 tasks and the fit; it raises before the sixth task."""
    for who in ("ann", "ben"):
        answer(filled, made, who, {name for name in NAMES if who == "ann"})
    calls = itertools.count()

    def rest(seconds: float) -> None:
        if next(calls) == 24 + 1 + 5:
            raise Ended

    with pytest.raises(Ended):
        next(follow(filled, "lea", CONFIG, TAXONOMY, rest))
    assert sorted(wants(filled).values()) == [2] * 7 + [3] * 5
    assert follower(filled).begin().decisions == {Decision.ASK: 12}
    assert set(wants(filled).values()) == {3}


def test_it_waits_only_where_there_is_nothing_more(
    filled: Store, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialint.labeling.store.counted_annotations.PAGE", 5)
    waited: list[float] = []
    done: list[FollowStep] = []

    def rest(seconds: float) -> None:
        if not waited:
            answer(filled, made, "ann")
        waited.append(seconds)
        if waited.count(CONFIG.every_s) == 2:
            raise Ended

    with pytest.raises(Ended):
        done.extend(follow(filled, "lea", CONFIG, TAXONOMY, rest))
    assert [len(done), sum(done[-1].decisions.values())] == [4, 12]
    assert waited[0] == waited[-1] == CONFIG.every_s
    assert set(waited[1:-1]) == {0.0}


def test_rights_are_asked_again(filled: Store, made: Any) -> None:
    with pytest.raises(NotAllowed):
        Follower(filled, "rob", CONFIG, TAXONOMY, go_on)
    following = follower(filled)
    following.begin()
    accounts.set_status(filled, "ada", "lea", "suspended")
    with pytest.raises(NotAllowed):
        following.step()


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_it_goes_on_when_the_database_comes_back(filled: Store, made: Any, postgres: Any) -> None:
    answer(filled, made, "ann")
    following = follower(filled)
    following.begin()
    answer(filled, made, "ben", {"d0"})
    postgres.kill()
    back = threading.Thread(target=lambda: (time.sleep(0.5), postgres.start()))
    back.start()
    assert sum(following.step().decisions.values()) == 12
    back.join()
    assert wants(filled)["d0"] == 3


def test_untouched_tasks_are_not_read(filled: Store, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for who in ("ann", "ben"):
        answer(filled, made, who, {"d0", "d1"})
    following = follower(filled)
    following.begin()
    seen: list[Any] = []
    real = adaptive_overlap.decide
    monkeypatch.setattr(
        "dialint.labeling.aggregation.adaptive_overlap.decide",
        lambda store, actor, rule, found, *more: seen.extend(found) or real(store, actor, rule, found, *more),
    )
    tasks.set_wanted(filled, "lea", 3, 3)
    answer(filled, made, "cem")
    following.step()
    assert [task.dialogue for task in seen] == ["d2"]
