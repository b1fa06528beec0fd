"""Claims, expiry and answers of tasks: F5, F6 and the rules of the queue."""

from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import make
import pytest
from answering import answer_all, claim, make_project
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.labeling.store import accounts, annotations, dialogues, leases, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import (
    Account,
    Lease,
    NewTask,
    NotAllowed,
    Pool,
    Project,
    StaleLease,
    StoreRefused,
)
from dialint.labeling.store.task_view import count_waiting

project = partial(make_project, lease_s=60)


def answer(store: Store, actor: str, lease: Lease) -> None:
    annotations.submit(store, actor, lease.task, lease.token, f"{actor}-{lease.task}-{lease.token}")


def counts(store: Store) -> dict[str, int]:
    return {state: n for state, n in tasks.count_tasks(store, "rob", "p")["main"].items() if n}


def test_priority_then_age(store: Store) -> None:
    project(store, 3)
    dialogues.add(store, "lea", [make.dialogue("urgent")])
    assert claim(store, "ann").dialogue == "d0"
    tasks.add(store, "lea", "p", [NewTask(dialogue="urgent", priority=5.0)])
    order = [claim(store, "ann", at_once=9).dialogue for _ in range(3)]
    assert order == ["urgent", "d1", "d2"]
    assert leases.claim(store, "ann", "p", at_once=9) is None


def test_nobody_twice_on_an_item_and_overlap_is_kept(store: Store) -> None:
    project(store, 2, overlap=2)
    for actor in ("ann", "ben", "cem"):
        answer_all(store, actor)
    answers = [annotations.list_annotations(store, "rob", f"d{i}") for i in range(2)]
    assert [[one.labeler for one in each] for each in answers] == [["ann", "ben"]] * 2
    assert counts(store) == {"done": 2}


@pytest.mark.parametrize("second", ["ben", "ann"])
def test_f5_every_late_write_is_refused(store: Store, time_: Any, second: str) -> None:
    """Also by a lease that its own account has claimed anew."""
    project(store, 10)
    late = [claim(store, "ann", at_once=99) for _ in range(10)]
    time_.pass_s(61)
    again = [claim(store, second, at_once=99) for _ in range(10)]
    assert [a.task for a in again] == [a.task for a in late]
    assert all(new.token > old.token for new, old in zip(again, late, strict=True))
    for lease in late:
        with pytest.raises(StaleLease):
            answer(store, "ann", lease)
        with pytest.raises(StaleLease):
            leases.renew(store, "ann", lease.task, lease.token)
    for lease in again:
        answer(store, second, lease)
    answers = [annotations.list_annotations(store, "rob", f"d{i}") for i in range(10)]
    assert [[one.labeler for one in each] for each in answers] == [[second]] * 10
    assert counts(store) == {"done": 10}


@pytest.mark.parametrize("step_s", [3600, -3600])
def test_f6_a_stepped_clock_lets_nobody_answer_what_went_to_somebody_else(
    store: Store, time_: Any, step_s: int
) -> None:
    """Ahead, it ends leases early; back, it keeps them longer: the token tells who holds the task."""
    project(store, 1)
    lease = claim(store, "ann")
    time_.pass_s(step_s)
    if step_s < 0:
        assert leases.claim(store, "ben", "p") is None
        time_.pass_s(61 - step_s)
    assert claim(store, "ben").token > lease.token
    with pytest.raises(StaleLease):
        answer(store, "ann", lease)


def test_a_renewed_lease_lives_on(store: Store, time_: Any) -> None:
    project(store, 1)
    lease = claim(store, "ann")
    for _ in range(5):
        time_.pass_s(50)
        leases.renew(store, "ann", lease.task, lease.token)
    assert leases.claim(store, "ben", "p") is None
    answer(store, "ann", lease)


def test_late_but_nobody_else_has_it(store: Store, time_: Any) -> None:
    project(store, 1)
    lease = claim(store, "ann")
    time_.pass_s(600)
    answer(store, "ann", lease)
    assert counts(store) == {"done": 1}


def test_what_waits_for_an_agent_leaves_out_own_dialogues(store: Store) -> None:
    accounts.create(store, "ada", Account(id="agnes", role="labeler", agent="a1"))
    project(store, 1)
    dialogues.add(store, "lea", [make.dialogue("other", agent="a2")])
    tasks.add(store, "lea", "p", [NewTask(dialogue="other")])
    assert [count_waiting(store, name, "p") for name in ("agnes", "ann")] == [1, 2]
    answer(store, "agnes", claim(store, "agnes"))
    assert count_waiting(store, "agnes", "p") == 0
    assert leases.claim(store, "agnes", "p") is None


def test_skip_is_for_good_release_is_not(store: Store) -> None:
    project(store, 1)
    lease = claim(store, "ann")
    leases.release(store, "ann", lease.task, lease.token)
    lease = claim(store, "ann")
    with pytest.raises(StoreRefused, match="E_SKIP"):
        leases.skip(store, "ann", lease.task, lease.token, "  ")
    leases.skip(store, "ann", lease.task, lease.token, "not my language")
    assert leases.claim(store, "ann", "p") is None
    assert claim(store, "ben").token > lease.token


def test_a_task_that_opens_again_is_found_by_who_searched_past_it(store: Store) -> None:
    project(store, 4)
    first = claim(store, "ann")
    assert [claim(store, "ben", at_once=9).dialogue for _ in range(2)] == ["d1", "d2"]
    leases.release(store, "ann", first.task, first.token)
    assert claim(store, "ben", at_once=9).dialogue == "d0"
    tasks.set_wanted(store, "lea", first.task, 2)
    assert claim(store, "cem").dialogue == "d0"


def test_fair_share(store: Store) -> None:
    project(store, 10, fair_share=0.3)
    for _ in range(3):
        answer(store, "ann", claim(store, "ann"))
    assert leases.claim(store, "ann", "p") is None
    assert claim(store, "ben").dialogue == "d3"


@pytest.mark.parametrize(
    ("status", "fair_share", "n"), [("active", None, 10), ("active", 0.3, 3), ("training", None, 2)]
)
def test_as_many_tasks_wait_as_claims_give(
    store: Store, status: Literal["active", "training"], fair_share: float | None, n: int
) -> None:
    """Also to who is in training, and as the task in hand is found again."""
    project(store, 10, fair_share=fair_share)
    pools: tuple[Pool, ...] = ("training", "exam")
    dialogues.add(store, "lea", [make.dialogue(pool) for pool in pools])
    tasks.add(store, "lea", "p", [NewTask(dialogue=pool, pool=pool) for pool in pools])
    accounts.set_status(store, "lea", "ann", status)
    for waiting in range(n, 0, -1):
        assert count_waiting(store, "ann", "p") == waiting
        lease = claim(store, "ann")
        assert count_waiting(store, "ann", "p") == waiting - 1
        assert leases.find_held(store, "ann", "p") == lease
        answer(store, "ann", lease)
    assert leases.claim(store, "ann", "p") is None


def test_skills_pools_and_closed_projects(store: Store, time_: Any) -> None:
    with pytest.raises(StoreRefused, match="no account has german"):
        project(store, 2, skills=("german",))
    accounts.set_skills(store, "lea", "ben", ("german",))
    project(store, 2, skills=("german",))
    with pytest.raises(NotAllowed, match="E_SKILL"):
        leases.claim(store, "ann", "p")
    accounts.set_skills(store, "lea", "ann", ("german", "chat"))
    answer(store, "ann", claim(store, "ann"))
    accounts.set_status(store, "lea", "ann", "training")
    with pytest.raises(NotAllowed, match="E_POOL"):
        leases.claim(store, "ann", "p", pool="main")
    assert leases.claim(store, "ann", "p", pool="training") is None
    assert leases.claim(store, "ann", "p") is None, "in training: nothing of the main pool"
    accounts.set_status(store, "lea", "ann", "active")
    projects.set_state(store, "lea", "p", "closed")
    with pytest.raises(StoreRefused, match="closed"):
        leases.claim(store, "ann", "p")
    deadline = datetime.fromtimestamp(time_.wall_ms / 1000 + 100, UTC)
    projects.create(store, "lea", Project(id="q", codes=("C1",), deadline=deadline))
    assert leases.claim(store, "ann", "q") is None
    time_.pass_s(101)
    with pytest.raises(StoreRefused, match="deadline"):
        leases.claim(store, "ann", "q")


def test_a_banned_accounts_tasks_go_back(store: Store) -> None:
    project(store, 2)
    lease = claim(store, "ann")
    accounts.set_status(store, "lea", "ann", "banned")
    assert counts(store) == {"open": 2}
    with pytest.raises(NotAllowed):
        answer(store, "ann", lease)


ACTORS = ("ann", "ben", "cem")
MOVES = st.tuples(st.sampled_from(ACTORS), st.sampled_from(("claim", "answer", "release", "skip", "late")))


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@settings(max_examples=15)
@given(moves=st.lists(MOVES, max_size=40), number=st.integers(0, 10**9))
def test_any_order_of_moves_keeps_the_books(
    store: Store, time_: Any, moves: list[tuple[str, str]], number: int
) -> None:
    name = f"p{number}-{time_.wall_ms}"
    project(store, [f"{name}-{i}" for i in range(4)], id=name, overlap=2)
    held: dict[str, Lease | None] = dict.fromkeys(ACTORS)
    done: set[tuple[str, int]] = set()
    for actor, move in moves:
        lease = held[actor]
        if move == "late":
            time_.pass_s(61)
            held = dict.fromkeys(ACTORS)
            leases.claim(store, "dot", name)  # takes away what ran out
            time_.pass_s(61)
        elif move == "claim":
            held[actor] = leases.claim(store, actor, name)
            assert held[actor] is None or (actor, held[actor].task) not in done
        elif lease is not None:
            if move == "answer":
                answer(store, actor, lease)
            else:
                end = {"release": leases.release, "skip": lambda *a: leases.skip(*a, "no")}[move]
                end(store, actor, lease.task, lease.token)
            if move != "release":
                done.add((actor, lease.task))
            held[actor] = None
    verify(store)  # among other things: counts agree with tasks
    for actor in ACTORS:
        time_.pass_s(61)
        while lease := leases.claim(store, actor, name):
            assert (actor, lease.task) not in done
            done.add((actor, lease.task))
            answer(store, actor, lease)
    counts = tasks.count_tasks(store, "rob", name)["main"]
    assert counts["full"] == 0
    assert sum(counts.values()) == 4


def review_project(store: Store, **fields: Any) -> None:
    """A project `p` to review verdicts in, with a task on d0; d1 is in the store, too."""
    project(store, 1, **{"purpose": "review", "prelabelled": True, **fields})
    dialogues.add(store, "lea", [make.dialogue("d1")])


@pytest.mark.parametrize("name", ["d0", "d1"], ids=["queued", "not queued"])
def test_a_reviewer_claims_a_dialogue_of_choice(store: Store, time_: Any, name: str) -> None:
    """By a lease like any other: once, fenced, given to the next when it ran out or was given back."""
    review_project(store)
    lease = leases.claim_dialogue(store, "rob", "p", name)
    assert lease == leases.claim_dialogue(store, "rob", "p", name) == leases.claim(store, "rob", "p")
    with pytest.raises(StoreRefused, match="somebody else"):
        leases.claim_dialogue(store, "ria", "p", name)
    time_.pass_s(61)
    newer = leases.claim_dialogue(store, "ria", "p", name)
    assert (newer.task, newer.dialogue, newer.token > lease.token) == (lease.task, name, True)
    with pytest.raises(StaleLease):
        answer(store, "rob", lease)
    leases.skip(store, "ria", newer.task, newer.token, "a mistake")
    answer(store, "ria", leases.claim_dialogue(store, "ria", "p", name))
    assert leases.claim(store, "rob", "p") is None or name == "d1", "one answer was wanted"
    again = leases.claim_dialogue(store, "rob", "p", name)
    answer(store, "rob", again)
    with pytest.raises(StoreRefused, match="answered"):
        leases.claim_dialogue(store, "rob", "p", name)
    answers = annotations.list_annotations(store, "eve", name)
    assert [one.labeler for one in answers] == ["ria", "rob"]


def test_what_is_not_claimed_by_choice(store: Store) -> None:
    """In a project for labels, a blind one, one of others, a closed one; and one's own dialogue."""
    accounts.create(store, "ada", Account(id="own", role="reviewer", agent="a1"))
    kinds: dict[str, dict[str, Any]] = {
        "label": {"purpose": "label"}, "blind": {"prelabelled": False}, "others": {"members": ("ria",)}, "own": {},
        "closed": {"deadline": datetime(2020, 1, 1, tzinfo=UTC)},
    }  # fmt: skip
    for kind, fields in kinds.items():
        review_project(store, id=kind, **fields)
        for name in ("d0", "d1", "unknown"):
            with pytest.raises((NotAllowed, StoreRefused)) as refused:
                leases.claim_dialogue(store, "own" if kind == "own" else "rob", kind, name)
            assert name == "unknown" or isinstance(refused.value, NotAllowed) == (kind in ("others", "own"))
        assert tasks.count_tasks(store, "ria", kind)["main"]["open"] == 1
