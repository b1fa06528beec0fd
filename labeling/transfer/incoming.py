"""Annotations made elsewhere as rows of the store: each once, and no second answer by the same person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from labeling.annotation import Annotation
from labeling.store.database.refusals import StoreRefused
from labeling.store.database.transactions import Transaction, writing
from labeling.store.dialogues import MOST_PER_CALL
from labeling.store.projects import existing
from labeling.store.rights import authorised
from labeling.store.saving import answered, lock_dialogues, save, says, with_key

Fate = Literal[
    "new",
    "known",
    "an id again",
    "an answer of another project",
    "a second answer",
    "a code that is not asked",
]
"""What becomes of an annotation that comes from elsewhere; but for the first two, it is not taken."""


@writing(repeatable=True)
def bring_in(
    transaction: Transaction,
    actor: str,
    found: Sequence[Annotation],
    source: str,
    project: str | None = None,
    *,
    once: bool = False,
) -> tuple[Fate, ...]:
    """Import up to 1,000 annotations made elsewhere, by people or models; what became of each. `source`
    names where from and, with their ids, makes them unique. They are answers to what `project` asks, if
    one is named. With `once` nobody's second answer to a question comes in, not even by another import at
    the same moment: imports into the same dialogues wait for each other.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: an unknown dialogue or project.
    """
    authorised(transaction, actor, "plan")
    if len(found) > MOST_PER_CALL:
        raise StoreRefused("E_BATCH", f"{len(found)} in one call, at most {MOST_PER_CALL}")
    asked = None if project is None else frozenset(existing(transaction, project).codes)
    lock_dialogues(transaction, {one.dialogue_id for one in found})
    fates: list[Fate] = []
    for one in found:
        values = {
            "key": f"{source}:{one.id}", "project": project, "task": None, "dialogue": one.dialogue_id,
            "turn": one.turn, "labeler": one.labeler, "kind": one.kind, "codes": one.codes,
            "findings": one.findings, "seconds": one.seconds, "supersedes": None,
        }  # fmt: skip
        fates.append(_fate(transaction, values, asked, once))
        if fates[-1] == "new":
            at_ms = transaction.now_ms if one.at is None else round(one.at.timestamp() * 1000)
            save(transaction, actor, {**values, "seen_verdict": one.seen_verdict, "at_ms": at_ms})
    return tuple(fates)


def _fate(transaction: Transaction, values: dict[str, Any], asked: frozenset[str] | None, once: bool) -> Fate:
    row = with_key(transaction, values["key"])
    if row is not None:
        if says(row, values):
            return "known"
        elsewhere = says(row, {**values, "project": row.project})
        return "an answer of another project" if elsewhere else "an id again"
    if asked is not None and not asked.issuperset(values["codes"]):
        return "a code that is not asked"
    return "a second answer" if once and answered(transaction, values) else "new"
