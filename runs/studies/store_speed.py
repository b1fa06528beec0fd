"""How fast is a full store? ``python runs/studies/store_speed.py --dialogues 1000000 --store A
--empty B``.

Fills an empty store with dialogues, tasks and three annotations for each, then times what people wait
for: next task, submit, queue counts, the project page, and the import of 1,000 dialogues more as new tasks,
against the same into an empty store. Prints JSON with percentiles in milliseconds; keeps the store, which
``--filled`` times again. The filling goes past the operations, in bulk, so `verify` does not hold of it.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, TypeVar

import cyclopts
import numpy as np
from sqlalchemy import Table, insert, select, text

from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.labeling.store import (
    accounts,
    annotations,
    dialogues,
    gold,
    leases,
    projects,
    stored_annotations,
    task_view,
    tasks,
)
from dialint.labeling.store.database.engine import on_sqlite
from dialint.labeling.store.database.schema import annotation_rows
from dialint.labeling.store.database.schema import dialogues as dialogue_rows
from dialint.labeling.store.database.schema import leases as lease_rows
from dialint.labeling.store.database.schema import projects as project_rows
from dialint.labeling.store.database.schema import tasks as task_rows
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.records import Account, NewTask, Project

R = TypeVar("R")
PEOPLE = 20
ANSWERS = 3
BATCH = 5000
CONTROLS = 200
IMPORT, IMPORTS = 1000, 5
TEXT = "Thank you for waiting. I have looked into your order and it left our warehouse this morning. " * 2


def benchmark(
    *,
    store: str,
    empty: str,
    filled: bool = False,
    dialogues: int = 50_000,
    repeats: int = 300,
    control_share: float = 0.0,
) -> None:
    """Fill a store and time what people wait for.

    Parameters
    ----------
    store
        A place to fill: a SQLite file or a PostgreSQL URL.
    empty
        Another such place, left nearly empty: imports into both are compared.
    filled
        The store was filled by this benchmark before.
    dialogues
        How many dialogues, each with a task and three annotations.
    repeats
        How often each operation is timed.
    control_share
        Share of claims that are exchanged for one of `CONTROLS` control tasks.
    """
    upgrade(empty)
    if not filled:
        upgrade(store)
    with Store.open(store) as full, Store.open(empty) as other:
        filled_s = None if filled else _fill(full, dialogues, control_share)
        if not _projects(other):
            _people(other, control_share)
        figures = {name: _percentiles(times) for name, times in _timed(full, repeats).items()}
        imports = _imports(full, other)
    report = {
        "dialogues": dialogues,
        "annotations": dialogues * ANSWERS,
        "fill_s": filled_s,
        "milliseconds": figures,
        "import_of_1000": imports,
    }
    print(json.dumps(report, indent=2))


def _people(store: Store, control_share: float) -> None:
    accounts.create_first(store, "ada", "benchmark only")
    for number in range(PEOPLE):
        accounts.create(store, "ada", Account(id=f"w{number}", role="labeler"))
    accounts.create(store, "ada", Account(id="rob", role="reviewer", agent="a1"))
    for name in ("p", "other"):
        asked = Project(id=name, codes=("C1",), overlap=ANSWERS + 1, most=9, control_share=control_share)
        projects.create(store, "ada", asked)


def _dialogue(name: str) -> Dialogue:
    turns = tuple(Turn(index=i, role="agent" if i % 2 else "customer", text=TEXT) for i in range(8))
    return Dialogue(id=name, turns=turns, agent=f"a{hash(name) % 100}", team="t1", channel="chat")


def _control(number: int) -> Example:
    name = f"c{number}"
    label = Label(dialogue_id=name, turn=1, code="C1", probability=1.0, method="inject:benchmark")
    return Example(dialogue=_dialogue(name), labels=(label,), split="test")


def _imports(store: Store, empty: Store) -> dict[str, Any]:
    """Seconds of the import of `IMPORT` new dialogues as tasks, median; `ratio`, of pairs, median."""
    pairs = [(_import_s(store), _import_s(empty)) for _ in range(IMPORTS)]
    full, other = zip(*pairs, strict=True)
    ratio = float(np.median([a / b for a, b in pairs]))
    return {"full_s": round(median(full), 3), "empty_s": round(median(other), 3), "ratio": round(ratio, 3)}


def _import_s(store: Store) -> float:
    prefix = secrets.token_hex(4)
    found = [_dialogue(f"{prefix}-{number}") for number in range(IMPORT)]
    started_s = time.monotonic()
    dialogues.add(store, "ada", found)
    tasks.add(store, "ada", "p", [NewTask(dialogue=one.id) for one in found])
    return time.monotonic() - started_s


def _fill(store: Store, n: int, control_share: float) -> float:
    """A queue in which every task has three answers and wants a fourth: half of the people gave them.
    Seconds."""
    started_s = time.monotonic()
    _people(store, control_share)
    _fill_rows(store, n)
    if control_share:
        gold.import_synthetic(store, "ada", map(_control, range(CONTROLS)), "p")
    return round(time.monotonic() - started_s, 1)


def _fill_rows(store: Store, n: int) -> None:
    content = _dialogue("x").model_dump_json()
    for start in range(0, n, BATCH):
        numbers = range(start, min(n, start + BATCH))
        _bulk(store, dialogue_rows, (_dialogue_row(number, content) for number in numbers))
        _bulk(store, task_rows, (_task_row(number, n) for number in numbers))
        _bulk(store, lease_rows, (_lease_row(number, i) for number in numbers for i in range(ANSWERS)))
        _bulk(store, annotation_rows, (_answer_row(number, i) for number in numbers for i in range(ANSWERS)))
    if not on_sqlite(store.engine.url):
        with store.engine.begin() as connection:
            for table in ("tasks", "annotations"):
                sequence = f"pg_get_serial_sequence('{table}', 'id')"
                connection.execute(text(f"SELECT setval({sequence}, (SELECT max(id) FROM {table}))"))
    with store.engine.begin() as connection:
        connection.execute(text("ANALYZE"))


def _bulk(store: Store, table: Table, rows: Iterator[dict[str, Any]]) -> None:
    with store.engine.begin() as connection:
        connection.execute(insert(table), list(rows))


def _dialogue_row(number: int, content: str) -> dict[str, Any]:
    kept = {"id": f"d{number}", "agent": f"a{number % 100}", "team": "t1", "channel": "chat"}
    return {**kept, "created_ms": number, "sha256": "0" * 64, "content": content}


def _task_row(number: int, n: int) -> dict[str, Any]:
    return {
        "id": number + 1, "project": "p", "dialogue": f"d{number}", "turn": None, "pool": "main",
        "rank": -float(number % 10), "inclusion_probability": 1.0, "why": f"random: {n} of {n}",
        "state": "open", "wanted": ANSWERS + 1, "answered": ANSWERS, "token": ANSWERS, "created_ms": number,
    }  # fmt: skip


def _lease_row(number: int, i: int) -> dict[str, Any]:
    lease = {"task": number + 1, "account": f"w{(number + i) % (PEOPLE // 2)}", "token": i + 1}
    return {**lease, "state": "answered", "expires_ms": 0}


def _answer_row(number: int, i: int) -> dict[str, Any]:
    return {
        "id": number * ANSWERS + i + 1, "key": f"k{number}-{i}", "project": "p", "task": number + 1,
        "dialogue": f"d{number}", "turn": None, "labeler": f"w{(number + i) % (PEOPLE // 2)}",
        "kind": "crowd", "codes": '["C1"]', "findings": "[]", "seen_verdict": False, "seconds": 9.0,
        "at_ms": number, "supersedes": None,
    }  # fmt: skip


def _timed(store: Store, repeats: int) -> dict[str, list[float]]:
    """Seconds of each operation; half of the claims are by people who answered much, half by new ones. In
    the middle new tasks come, behind which everybody has searched already."""
    times: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[..., R], *given: Any) -> R:
        started_s = time.perf_counter()
        result = work(store, *given)
        times.setdefault(name, []).append(time.perf_counter() - started_s)
        return result

    for number in range(repeats):
        actor = f"w{number % PEOPLE}"
        if number == repeats // 2:
            _import_s(store)
        lease = timed("next task", leases.claim, actor, "p")
        assert lease is not None
        timed("look", task_view.view_task, actor, lease.task)
        timed("read a dialogue", dialogues.read, "rob", lease.dialogue)
        timed("read it again", dialogues.read, "rob", lease.dialogue)
        timed("submit", annotations.submit, actor, lease.task, lease.token, secrets.token_hex(8), [], 5.0)
        timed("queue counts", tasks.count_tasks, "ada", "p")
        timed("project page", _project_page)
        timed("page of annotations", _page)
    return times


def _projects(store: Store) -> list[str]:
    """Projects of a store that may have nobody in it yet."""
    return [
        row.id for row in store.read(lambda transaction: transaction.run(select(project_rows.c.id)).all())
    ]


def _project_page(store: Store) -> None:
    projects.list_projects(store, "ada")
    tasks.count_tasks(store, "ada", "p")


def _page(store: Store) -> None:
    """The first of `counting.PAGE`, as aggregation and export read them."""
    next(stored_annotations.iterate_counted(store, "ada", "p"))


def _percentiles(times: list[float]) -> dict[str, float]:
    p50, p95, worst = np.percentile(np.array(times) * 1000, [50, 95, 100])
    return {"p50": round(float(p50), 2), "p95": round(float(p95), 2), "max": round(float(worst), 2)}


if __name__ == "__main__":
    cyclopts.run(benchmark)
