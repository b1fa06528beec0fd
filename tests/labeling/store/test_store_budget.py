"""The cost of a project's answers, and the figures of its queue."""

from functools import partial

import make
import pytest
from answering import claim, make_project

from dialint.labeling.store import annotations, dialogues, leases, projects, task_view, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Lease, NewTask

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
    # with the training: ann's answer, ben's without a time, ben's in training
    assert projects.count_annotations(store, "lea", "p") == spending.answers
    assert (spending.answers, spending.seconds, spending.timed_answers) == (3, pytest.approx(65.0), 2)
    assert (spending.open_answers, spending.minutes_left) == (4, pytest.approx(4 * 65 / 2 / 60))
    projects.set_state(store, "lea", "p", "closed")
    closed = projects.list_spending(store, "lea")["p"]
    assert (closed.open_answers, closed.minutes_left) == (0, 0.0)
