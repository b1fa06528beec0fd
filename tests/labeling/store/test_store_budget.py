"""What a project's answers cost and are paid."""

from decimal import Decimal
from functools import partial
from types import SimpleNamespace

import make
import pytest
from answering import claim, make_project
from pydantic import ValidationError

from dialint.labeling.store import annotations, dialogues, gold, leases, projects, task_view, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import Gold, Lease, NewTask, Pay, Project

PAY = Pay(amount=Decimal("0.125"), currency="EUR")


project = partial(make_project, lease_s=60)


def answer(store: Store, actor: str, seconds: float | None, lease: Lease | None = None) -> int:
    lease = lease or claim(store, actor)
    key = f"{actor}-{lease.task}"
    return int(annotations.submit(store, actor, lease.task, lease.token, key, seconds=seconds).id)


def test_the_number_of_waiting_tasks_tells_no_control_task(store: Store) -> None:
    project(store, 12, control_share=0.5)
    assert task_view.count_waiting(store, "ann", "p") == 20
    answer(store, "ann", 1.0)
    answer(store, "ann", 1.0)
    assert task_view.count_waiting(store, "ann", "p") == 10
    assert task_view.count_waiting(store, "ben", "p") == 10, "of ten tasks"


def test_time_is_that_of_answers_with_their_corrections_in_the_main_queue(store: Store) -> None:
    """A correction's seconds go on from those of the answer. Answers without seconds take none."""
    project(store, 6)
    first = answer(store, "ann", 20.0)
    second = annotations.correct(store, "ann", first, "again", seconds=25.0)
    annotations.correct(store, "ann", int(second.id), "and again", seconds=None)
    answer(store, "ben", None)
    dialogues.add(store, "lea", [make.dialogue("t0")])
    tasks.add(store, "lea", "p", [NewTask(dialogue="t0", pool="training")])
    answer(store, "ben", 40.0, claim(store, "ben", pool="training"))
    lease = claim(store, "ann")
    leases.skip(store, "ann", lease.task, lease.token, "not mine")
    spending = projects.list_spending(store, "lea")["p"]
    assert spending.paid_answers == 2
    assert [task_view.count_own_answers(store, who, "p") for who in ("ann", "ben")] == [1, 1]
    # with the training: ann's answer, ben's without a time, ben's in training
    assert (spending.answers, spending.seconds, spending.timed_answers) == (3, pytest.approx(65.0), 2)


def test_control_tasks_are_paid_like_those_they_replace(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever an answer was to, the counter goes up by one."""
    project(store, 4, pay=PAY, control_share=0.5)
    dialogues.add(store, "lea", [make.dialogue(f"g{i}") for i in range(8)])
    rows = [Gold(dialogue=f"g{i}", turn=1, code="C1", present=True, source="expert") for i in range(8)]
    gold.import_gold(store, "eve", rows)
    tasks.add_control_tasks(store, "lea", "p")
    draws = iter((0.9, 0.1, 0.1, 0.9, 0.1))
    monkeypatch.setattr(tasks, "RNG", SimpleNamespace(random=lambda: next(draws)))
    met = []
    for n in range(1, 6):
        lease = claim(store, "ann")
        met.append(lease.dialogue[0])
        assert lease.pool == "main"
        answer(store, "ann", 10.0, lease)
        assert task_view.count_own_answers(store, "ann", "p") == n
    assert met == ["d", "g", "g", "d", "g"]
    assert task_view.count_own_answers(store, "ben", "p") == 0
    assert projects.list_spending(store, "lea")["p"].paid_answers == 5


def test_pay_is_stored_exactly(store: Store) -> None:
    project(store, 6, pay=PAY)
    longer = Pay(amount=Decimal("0.1250"), currency="EUR")
    same = Project(id="p", codes=("C1",), lease_s=60, pay=longer)
    assert projects.create(store, "lea", same) == same, "equal amounts are one text"
    (read, _state) = projects.list_projects(store, "ann")[0]
    assert read.pay == PAY
    limits = {"overlap": 2, "most": 5, "fair_share": None, "control_share": 0.0, "deadline": None}
    assert projects.change_limits(store, "lea", "p", **limits).pay == PAY
    verify(store)


@pytest.mark.parametrize(
    ("amount", "currency"),
    [("0", "EUR"), ("-1", "EUR"), ("NaN", "EUR"), ("Infinity", "EUR"), ("0.00001", "EUR"), ("1", "eur"), ("1", "EURO")],
)  # fmt: skip
def test_pay_that_cannot_be(amount: str, currency: str) -> None:
    with pytest.raises(ValidationError):
        Pay(amount=Decimal(amount), currency=currency)
