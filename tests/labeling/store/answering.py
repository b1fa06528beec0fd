"""A project with tasks, and claims and answers as people give them in the console."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import make

from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation
from dialint.labeling.store import annotations, dialogues, leases, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Lease, NewTask, Project


def make_project(
    store: Store, names: int | Iterable[str] = 3, turn: int | None = None, **fields: Any
) -> None:
    """A project `p` with tasks on these dialogues, or on d0, d1, ..., of rising age; or on a turn of each."""
    names = [f"d{i}" for i in range(names)] if isinstance(names, int) else list(names)
    project = Project(**{"id": "p", "codes": ("C1",), **fields})
    projects.create(store, "lea", project)
    dialogues.add(store, "lea", [make.dialogue(name) for name in names])
    tasks.add(store, "lea", project.id, [NewTask(dialogue=name, turn=turn) for name in names])


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


def answer_all(
    store: Store, actor: str, marked: Collection[str] = (), project: str = "p", n: int = 99, **more: Any
) -> list[str]:
    """The actor's answers to the next `n` tasks, a C1 in the dialogues `marked`; these dialogues in order."""
    answered: list[str] = []
    while len(answered) < n and (lease := leases.claim(store, actor, project)):
        findings = [make.finding()] if lease.dialogue in marked else []
        key = f"{actor} {project} {lease.task}"
        annotations.submit(store, actor, lease.task, lease.token, key, findings, **more)
        answered.append(lease.dialogue)
    return answered
