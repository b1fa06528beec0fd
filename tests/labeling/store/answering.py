"""A project with tasks, and claims and answers as people give them in the console."""

from collections.abc import Sequence
from typing import Any

from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation
from dialint.labeling.store import annotations, dialogues, leases, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Lease, NewTask, Project


def make_project(store: Store, made: Any, n: int = 3, **kept: Any) -> None:
    """A project `p` with tasks on dialogues d0, d1, ..., of rising age."""
    projects.create(store, "lea", Project(**{"id": "p", "codes": ("C1",), **kept}))
    dialogues.add(store, "lea", [made.dialogue(f"d{i}") for i in range(n)])
    tasks.add(store, "lea", "p", [NewTask(dialogue=f"d{i}") for i in range(n)])


def claim(store: Store, actor: str, project: str = "p", **options: Any) -> Lease:
    """The actor's next task; there must be one."""
    lease = leases.claim(store, actor, project, **options)
    assert lease is not None
    return lease


def answer(
    store: Store, actor: str, project: str, key: str, findings: Sequence[Finding] = (), **more: Any
) -> Annotation:
    """The actor's answer to the next task; there must be one."""
    lease = claim(store, actor, project)
    return annotations.submit(store, actor, lease.task, lease.token, key, findings, **more)
