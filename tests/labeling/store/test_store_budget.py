"""The cap on a project's time, and what its answers are paid."""

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from dialint.labeling.store import (
    annotations,
    audit_log,
    control_tasks,
    dialogues,
    erasure,
    gold,
    leases,
    own_work,
    projects,
    tasks,
    time_cap,
)
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.records import Gold, Lease, NewTask, Pay, Project

PAY = Pay(amount=Decimal("0.125"), currency="EUR")


def project(store: Store, made: Any, n: int = 6, **kept: Any) -> None:
    """A project `p` with tasks on dialogues d0, d1, ..., of rising age."""
    projects.create(store, "lea", Project(id="p", codes=("C1",), lease_s=60, **kept))
    dialogues.add(store, "lea", [made.dialogue(f"d{i}") for i in range(n)])
    tasks.add(store, "lea", "p", [NewTask(dialogue=f"d{i}") for i in range(n)])


def claimed(store: Store, actor: str, **options: Any) -> Lease:
    lease = leases.claim(store, actor, "p", **options)
    assert lease is not None
    return lease


def answer(store: Store, actor: str, seconds: float | None, lease: Lease | None = None) -> int:
    lease = lease or claimed(store, actor)
    key = f"{actor}-{lease.task}"
    return int(annotations.submit(store, actor, lease.task, lease.token, key, seconds=seconds).id)


def limits(store: Store, actor: str = "lea", **changed: Any) -> Project:
    values = {
        "overlap": 1, "most": 5, "fair_share": None, "control_share": 0.0, "deadline": None, "max_minutes": None,
    }  # fmt: skip
    return projects.change_limits(store, actor, "p", **{**values, **changed})


def used(store: Store) -> float:
    return store.read(lambda transaction: time_cap.sum_seconds(transaction, "p"))


def is_used_up(store: Store, actor: str = "ann") -> bool:
    return own_work.is_time_used_up(store, actor, "p")


def test_no_task_is_claimed_when_the_time_is_used_up_and_held_ones_are_answered(
    store: Store, made: Any
) -> None:
    project(store, made, max_minutes=1)
    answer(store, "ann", 30.0)
    held = claimed(store, "ben")
    answer(store, "ann", 29.9)
    assert not is_used_up(store)
    assert own_work.count_waiting(store, "cem", "p") == 3
    answer(store, "ann", 0.1)
    assert is_used_up(store)
    assert leases.claim(store, "ann", "p") is None
    assert leases.claim(store, "cem", "p") is None
    assert own_work.count_waiting(store, "cem", "p") == 0
    assert claimed(store, "ben") == held, "what one holds is found again"
    answer(store, "ben", 5.0, held)
    assert leases.claim(store, "ben", "p") is None
    assert used(store) == pytest.approx(65.0)


def test_the_number_of_waiting_tasks_tells_no_control_task(store: Store, made: Any) -> None:
    project(store, made, 12, control_share=0.5)
    assert own_work.count_waiting(store, "ann", "p") == 20
    answer(store, "ann", 1.0)
    answer(store, "ann", 1.0)
    assert own_work.count_waiting(store, "ann", "p") == 10
    assert own_work.count_waiting(store, "ben", "p") == 10, "of ten tasks"


def test_a_lead_raises_the_cap_or_lifts_it(store: Store, made: Any) -> None:
    project(store, made, max_minutes=1)
    answer(store, "ann", 60.0)
    assert leases.claim(store, "ann", "p") is None
    assert limits(store, max_minutes=2).max_minutes == 2
    answer(store, "ann", 60.0)
    assert leases.claim(store, "ann", "p") is None
    assert limits(store).max_minutes is None
    assert claimed(store, "ann")
    entries = audit_log.list_entries(store, "ada").entries
    logged = [each.content["max_minutes"] for each in entries if each.action == "project.limits"]
    assert logged == [None, 2]
    with pytest.raises(StoreRefused, match="max_minutes"):
        limits(store, max_minutes=0)
    verify(store)


def test_time_is_that_of_answers_with_their_corrections_in_the_main_queue(store: Store, made: Any) -> None:
    """A correction's seconds go on from those of the answer. Answers without seconds take none."""
    project(store, made, max_minutes=10)
    first = answer(store, "ann", 20.0)
    second = annotations.correct(store, "ann", first, "again", seconds=25.0)
    assert used(store) == pytest.approx(25.0)
    annotations.correct(store, "ann", int(second.id), "and again", seconds=None)
    answer(store, "ben", None)
    assert used(store) == pytest.approx(25.0)
    dialogues.add(store, "lea", [made.dialogue("t0")])
    tasks.add(store, "lea", "p", [NewTask(dialogue="t0", pool="training")])
    answer(store, "ben", 40.0, claimed(store, "ben", pool="training"))
    assert used(store) == pytest.approx(25.0)
    spending = projects.list_spending(store, "lea")["p"]
    assert spending.capped_seconds == pytest.approx(25.0)
    assert spending.paid_answers == 2
    # with the training: ann's answer, ben's without a time, ben's in training
    assert (spending.answers, spending.seconds, spending.timed_answers) == (3, pytest.approx(65.0), 2)


def test_sums_are_kept_and_right(store: Store, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that were summed are not read again, until an erasure takes some of them away."""
    monkeypatch.setattr(time_cap, "UNSETTLED", 2)
    project(store, made, 12, max_minutes=100)
    numbers, total = [], 0
    for n in range(8):
        numbers.append(answer(store, "ann", 2.0**n))
        total += 2**n
        assert used(store) == total
    annotations.correct(store, "ann", numbers[0], "again", seconds=1.5)
    assert used(store) == total + 0.5
    kept = time_cap._SUMS[store]["p"]
    assert kept.upto >= numbers[5]
    assert kept.seconds == sum(2**n for n, number in enumerate(numbers) if number <= kept.upto)
    erasure.erase(store, "ada", ["d1", "d7"], "why")
    assert used(store) == total + 0.5 - 2 - 128
    time_cap._SUMS.pop(store)
    assert used(store) == total + 0.5 - 2 - 128


def test_control_tasks_take_time_and_are_paid_like_those_they_replace(
    store: Store, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever an answer was to, the counter goes up by one, and the time by its seconds."""
    project(store, made, 4, max_minutes=1, pay=PAY, control_share=0.5)
    dialogues.add(store, "lea", [made.dialogue(f"g{i}") for i in range(8)])
    rows = [Gold(dialogue=f"g{i}", turn=1, code="C1", present=True, source="expert") for i in range(8)]
    gold.import_gold(store, "eve", rows)
    control_tasks.add_control_tasks(store, "lea", "p")
    draws = iter((0.9, 0.1, 0.1, 0.9, 0.1))
    monkeypatch.setattr(control_tasks, "RNG", SimpleNamespace(random=lambda: next(draws)))
    met = []
    for n in range(1, 6):
        lease = claimed(store, "ann")
        met.append(lease.dialogue[0])
        assert lease.pool == "main"
        answer(store, "ann", 10.0, lease)
        assert own_work.count_own_answers(store, "ann", "p") == n
        assert used(store) == pytest.approx(10.0 * n)
    assert met == ["d", "g", "g", "d", "g"]
    assert own_work.count_own_answers(store, "ben", "p") == 0
    assert projects.list_spending(store, "lea")["p"].paid_answers == 5


def test_the_counter_is_of_answers_in_the_main_queue(store: Store, made: Any) -> None:
    project(store, made, pay=PAY)
    first = answer(store, "ann", 9.0)
    annotations.correct(store, "ann", first, "again", seconds=12.0)
    lease = claimed(store, "ann")
    leases.skip(store, "ann", lease.task, lease.token, "not mine")
    dialogues.add(store, "lea", [made.dialogue("t0")])
    tasks.add(store, "lea", "p", [NewTask(dialogue="t0", pool="training")])
    answer(store, "ann", 9.0, claimed(store, "ann", pool="training"))
    assert own_work.count_own_answers(store, "ann", "p") == 1


def test_projects_without_cap_and_pay_are_stored_as_before(store: Store, made: Any) -> None:
    project(store, made)
    plain = Project(id="p", codes=("C1",), lease_s=60)
    stored = canonical_json(plain.model_dump(mode="json"))
    assert "max_minutes" not in stored
    assert "pay" not in stored
    assert projects.list_spending(store, "lea")["p"].capped_seconds is None
    assert not is_used_up(store)


def test_pay_is_stored_exactly(store: Store, made: Any) -> None:
    project(store, made, pay=PAY, max_minutes=5)
    longer = Pay(amount=Decimal("0.1250"), currency="EUR")
    same = Project(id="p", codes=("C1",), lease_s=60, max_minutes=5, pay=longer)
    assert projects.create(store, "lea", same) == same, "equal amounts are one text"
    (read, _state) = projects.list_projects(store, "ann")[0]
    assert read.pay == PAY
    changed = limits(store, max_minutes=7)
    assert (changed.pay, changed.max_minutes) == (PAY, 7)
    verify(store)


@pytest.mark.parametrize(
    ("amount", "currency"),
    [("0", "EUR"), ("-1", "EUR"), ("NaN", "EUR"), ("Infinity", "EUR"), ("0.00001", "EUR"), ("1", "eur"), ("1", "EURO")],
)  # fmt: skip
def test_pay_that_cannot_be(amount: str, currency: str) -> None:
    with pytest.raises(ValidationError):
        Pay(amount=Decimal(amount), currency=currency)
