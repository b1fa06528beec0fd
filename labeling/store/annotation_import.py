"""Imports annotations made elsewhere into the store: permissions, uniqueness and rejections.

Reads no files; `labeling.exchange.store_import` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from dialint.labeling.annotation import Annotation
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.dialogues import MAX_PER_CALL
from dialint.labeling.store.errors import NotAllowed, StoreRefused
from dialint.labeling.store.exposure import is_own
from dialint.labeling.store.permissions import (
    find_account,
    get_account,
    has_permission,
    write_operation,
)
from dialint.labeling.store.projects import get_project, require_open
from dialint.labeling.store.stored_annotations import (
    find_by_key,
    has_answered,
    has_values,
    lock_dialogues,
    save,
)

ImportOutcome = Literal[
    "new",
    "known",
    "an id again",
    "an answer of another project",
    "a second answer",
    "a code that is not asked",
    "an own dialogue",
]
"""Result of importing one annotation; all but the first two are rejections."""


MAX_LOGGED_NAMES = 100
"""Labelers that one entry of the audit log names at most."""


@write_operation("plan")
def import_annotations(
    transaction: Transaction,
    actor: str,
    imported: Sequence[Annotation],
    source: str,
    project: str | None = None,
    *,
    once: bool = False,
) -> tuple[ImportOutcome, ...]:
    """Import up to 1,000 annotations made elsewhere, by people or models, and return the outcome of each.

    `source` names their origin and, with their ids, makes them unique. With `project` they answer that
    project's questions. Only an admin imports annotations of other people, and the audit log records it;
    an annotation of a model whose name is no account's belongs to nobody. An annotation of a dialogue in
    which its labeler spoke is rejected. With `once` a second answer of a labeler to a question is rejected,
    also one of a concurrent import: imports into the same dialogues wait for each other.

    Raises:
        NotAllowed: the actor does not plan; or is no admin, and there are answers of somebody else.
        StoreRefused: an unknown dialogue, or a project that is unknown or closed.
    """
    account_of_actor = get_account(transaction, actor)
    people = {name: find_account(transaction, name) for name in sorted({one.labeler for one in imported})}
    credited = {one.labeler for one in imported if one.kind != "model" or people[one.labeler]}
    others = sorted(credited - {actor})
    if others and not has_permission(account_of_actor, "administer"):
        raise NotAllowed(
            "E_RIGHT",
            "{n} labelers are not {actor}: an admin imports in their name",
            n=len(others),
            actor=actor,
        )
    if project is not None:
        require_open(transaction, project)
    if len(imported) > MAX_PER_CALL:
        raise StoreRefused("E_BATCH", "{n} in one call, at most {most}", n=len(imported), most=MAX_PER_CALL)
    codes = None if project is None else frozenset(get_project(transaction, project).codes)
    lock_dialogues(transaction, {one.dialogue_id for one in imported})
    outcomes: list[ImportOutcome] = []
    for one in imported:
        values = {
            "key": f"{source}:{one.id}", "project": project, "task": None, "dialogue": one.dialogue_id,
            "turn": one.turn, "labeler": one.labeler, "kind": one.kind, "codes": one.codes,
            "findings": one.findings, "seconds": one.seconds, "supersedes": None,
            "rejections": one.rejections,
        }  # fmt: skip
        account = people[one.labeler]
        own = account is not None and is_own(transaction, account, (one.dialogue_id,))
        outcomes.append("an own dialogue" if own else _outcome(transaction, values, codes, once))
        if outcomes[-1] == "new":
            at_ms = transaction.now_ms if one.at is None else round(one.at.timestamp() * 1000)
            save(transaction, actor, {**values, "seen_verdict": one.seen_verdict, "at_ms": at_ms})
    if "new" in outcomes:
        content = {"source": source, "project": project, "n_others": len(others)}
        subject = f"{outcomes.count('new')} annotations"
        transaction.log(
            actor, "annotations.import", subject, **content, in_the_name_of=others[:MAX_LOGGED_NAMES]
        )
    return tuple(outcomes)


def _outcome(
    transaction: Transaction, values: dict[str, Any], codes: frozenset[str] | None, once: bool
) -> ImportOutcome:
    row = find_by_key(transaction, values["key"])
    if row is not None:
        if has_values(row, values):
            return "known"
        elsewhere = has_values(row, {**values, "project": row.project})
        return "an answer of another project" if elsewhere else "an id again"
    if codes is not None and not codes.issuperset(values["codes"]):
        return "a code that is not asked"
    return "a second answer" if once and has_answered(transaction, values) else "new"
