"""Annotations made elsewhere as rows of the store: each once, and no second answer by the same person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from dialint.labeling.annotation import Annotation
from dialint.labeling.store.database.transactions import Transaction, writing
from dialint.labeling.store.dialogues import MOST_PER_CALL
from dialint.labeling.store.errors import NotAllowed, StoreRefused
from dialint.labeling.store.exposure import is_own
from dialint.labeling.store.permissions import account_of, authorised, may
from dialint.labeling.store.projects import existing, still_open
from dialint.labeling.store.stored_annotations import answered, lock_dialogues, save, says, with_key

Fate = Literal[
    "new",
    "known",
    "an id again",
    "an answer of another project",
    "a second answer",
    "a code that is not asked",
    "an own dialogue",
]
"""What becomes of an annotation that comes from elsewhere; but for the first two, it is not taken."""


MOST_NAMED = 100
"""Names of others in the entry of the audit log, at most."""


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
    one is named. In the name of others only an admin imports, and the audit log says so; what a model
    said, by a name that is no account's, is in nobody's. Nobody's answer about a dialogue of their own comes
    in. With `once` nobody's second answer to a question comes in, not even by another import at
    the same moment: imports into the same dialogues wait for each other.

    Raises:
        NotAllowed: the actor does not plan; or is no admin, and there are answers of somebody else.
        StoreRefused: an unknown dialogue, or a project that is unknown or closed.
    """
    acting = authorised(transaction, actor, "plan")
    people = {name: account_of(transaction, name) for name in sorted({one.labeler for one in found})}
    named = {one.labeler for one in found if one.kind != "model" or people[one.labeler]}
    others = sorted(named - {actor})
    if others and not may(acting, "administer"):
        raise NotAllowed("E_RIGHT", f"{len(others)} labelers are not {actor}: an admin imports in their name")
    if project is not None:
        still_open(transaction, project)
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
        account = people[one.labeler]
        own = account is not None and is_own(transaction, account, (one.dialogue_id,))
        fates.append("an own dialogue" if own else _fate(transaction, values, asked, once))
        if fates[-1] == "new":
            at_ms = transaction.now_ms if one.at is None else round(one.at.timestamp() * 1000)
            save(transaction, actor, {**values, "seen_verdict": one.seen_verdict, "at_ms": at_ms})
    if "new" in fates:
        content = {"source": source, "project": project, "n_others": len(others)}
        subject = f"{fates.count('new')} annotations"
        transaction.log(actor, "annotations.import", subject, **content, in_the_name_of=others[:MOST_NAMED])
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
