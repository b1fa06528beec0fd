"""The pay counter of a labeler."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from dialint.labeling.store import accounts, annotations, leases, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NewTask, Pay, Project

Open = Callable[..., Any]


@pytest.fixture
def paid(store: Store) -> None:
    """The two projects of the store are closed; `paid` has three tasks, and `reviewed` three, with findings."""
    for name in ("to label", "to review"):
        projects.set_state(store, "lea", name, "closed")
    pay = Pay(amount=Decimal("0.125"), currency="EUR")
    projects.create(store, "lea", Project(id="paid", codes=("C1",), overlap=2, pay=pay))
    review = Project(id="reviewed", codes=("C1", "T1"), purpose="review", prelabelled=True, pay=pay)
    projects.create(store, "lea", review)
    for name in ("paid", "reviewed"):
        tasks.add(store, "lea", name, [NewTask(dialogue=each) for each in ("d1", "d2", "d3")])


def work(store: Store, actor: str, project: str, seconds: float) -> None:
    """An answer given elsewhere."""
    lease = leases.claim(store, actor, project)
    assert lease is not None
    annotations.submit(
        store, actor, lease.task, lease.token, f"{actor} {lease.task} elsewhere", seconds=seconds
    )


def words(page: Any) -> str:
    return str(page.words).replace("\\", "")


def say_no(page: Any) -> Any:
    return page.send("label", {"kind": "say", "code": "C1", "present": False}, {"kind": "save"})


@pytest.mark.usefixtures("paid")
def test_a_labeler_sees_the_own_pay_and_nobody_elses(open_page: Open, store: Store) -> None:
    work(store, "ben", "paid", 5.0)
    page = open_page("ann")
    assert "Your pay in this project, which only you see: 0 × €0.125 = €0.00." in words(page)
    page.start()
    assert "0 × €0.125 = €0.00." in words(page)
    say_no(page)
    assert "1 × €0.125 = €0.125." in words(page)
    page.act("reopen", "label")
    say_no(page)
    assert "1 × €0.125 = €0.125." in words(page), "a correction is no further answer"
    accounts.save_preferences(store, "ben", accounts.Preferences(language="es"))
    assert "1 × 0,125 € = 0,125 €" in words(open_page("ben")).replace("\xa0", " ")


def test_where_nothing_is_paid_there_is_no_counter(open_page: Open) -> None:
    page = open_page("ann")
    assert "Your pay" not in words(page)
    page.start()
    assert "Your pay" not in words(page)
