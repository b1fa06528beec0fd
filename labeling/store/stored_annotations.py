"""Rows of ``annotations``: converting them to records, finding them by key, validating and inserting them;
and those that count, which aggregation, exports and reports read.

The caller decides which row to save and checks permissions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Row, Select, and_, bindparam, func, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from dialint.detector.errors import InputRefused
from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation, Rejection
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.derived import refresh
from dialint.labeling.store.database.schema import accounts, annotation_rows, dialogues, tasks
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.dialogues import MAX_PER_CALL, load_dialogue
from dialint.labeling.store.exposure import is_own, record_bulk_read
from dialint.labeling.store.permissions import (
    find_account,
    get_account,
    has_permission,
    read_operation,
    write_operation,
)
from dialint.labeling.store.projects import get_project, require_open
from dialint.labeling.store.records import DialogueMissing, NotAllowed, Pool, StoreRefused

_INSERT = {
    is_sqlite: into(annotation_rows).on_conflict_do_nothing(index_elements=["key"]).returning(annotation_rows)
    for is_sqlite, into in ((True, sqlite.insert), (False, postgresql.insert))
}
_BY_KEY = select(annotation_rows).where(annotation_rows.c.key == bindparam("key"))
_BY_PERSON = select(annotation_rows.c.turn, annotation_rows.c.codes).where(
    annotation_rows.c.dialogue == bindparam("its_dialogue"),
    annotation_rows.c.labeler == bindparam("its_labeler"),
)
_LOCK = (
    select(dialogues.c.id)
    .where(dialogues.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(dialogues.c.id)
    .with_for_update(key_share=True)
)


def find_same(transaction: Transaction, values: dict[str, Any]) -> Annotation | None:
    """The annotation that was saved under this key with the same values, or none.

    Raises:
        StoreRefused: it has other values, or the key is empty or too long.
    """
    row = find_by_key(transaction, values["key"])
    if row is None:
        return None
    if not has_values(row, values):
        raise StoreRefused("E_KEY", "this key was used for another answer")
    return to_annotation(row)


def find_by_key(transaction: Transaction, key: str) -> Row[Any] | None:
    """The row that was saved under this key, or none.

    Raises:
        StoreRefused: the key is empty or too long.
    """
    _validate_key(key)
    return transaction.run(_BY_KEY, {"key": key}).one_or_none()


def _validate_key(key: str) -> None:
    if not key or len(key) > 200 or "\x00" in key:
        raise StoreRefused("E_KEY", "expected a key of 1 to 200 characters")


def has_values(row: Row[Any], values: dict[str, Any]) -> bool:
    """Returns whether a row holds these values."""
    return all(getattr(row, name) == value for name, value in _to_columns(values).items())


def has_answered(transaction: Transaction, values: dict[str, Any]) -> bool:
    """Returns whether the labeler has answered one of the questions before."""
    parameters = {"its_dialogue": values["dialogue"], "its_labeler": values["labeler"]}
    return any(
        None in (row.turn, values["turn"]) or row.turn == values["turn"]
        for row in transaction.run(_BY_PERSON, parameters)
        if not set(json.loads(row.codes)).isdisjoint(values["codes"])
    )


def _to_columns(values: dict[str, Any]) -> dict[str, Any]:
    findings = [finding.model_dump(mode="json") for finding in values["findings"]]
    rejections = [each.model_dump(mode="json") for each in values["rejections"]]
    seconds = None if values["seconds"] is None else float(values["seconds"])
    return {
        **values,
        "codes": canonical_json(values["codes"]),
        "findings": canonical_json(findings),
        "seconds": seconds,
        "rejections": canonical_json(rejections) if rejections else None,
    }


def save(transaction: Transaction, actor: str, values: dict[str, Any]) -> Annotation:
    """Validate and insert an annotation.

    Raises:
        StoreRefused: an unknown dialogue or turn, a finding with a code or turn that was not asked, or a key
            that was used before.
    """
    _validate_key(values["key"])
    _validate(transaction, values)
    row = {"at_ms": transaction.now_ms, **_to_columns(values)}
    saved = transaction.run(_INSERT[transaction.on_sqlite], row).one_or_none()
    if saved is None:
        raise StoreRefused("E_KEY", "this key was used for another answer")
    refresh(transaction, (saved.dialogue,))
    transaction.log(actor, "annotate", f"annotation {saved.id}")
    return to_annotation(saved)


def _validate(transaction: Transaction, values: dict[str, Any]) -> None:
    """Raise unless findings answer the questions and lie within the dialogue's turns."""
    dialogue = load_dialogue(transaction, values["dialogue"])
    if dialogue is None:
        raise StoreRefused("E_DIALOGUE", "there is no such dialogue")
    lengths = {turn.index: turn.n_places for turn in dialogue.turns}
    if values["turn"] is not None and values["turn"] not in lengths:
        raise StoreRefused("E_FINDING", "there is no such turn")
    for each in (*values["findings"], *values["rejections"]):
        is_requested = each.code in values["codes"] and values["turn"] in (None, each.turn)
        if not is_requested or each.turn not in lengths:
            raise StoreRefused(
                "E_FINDING", "{code} in turn {turn} was not asked", code=each.code, turn=each.turn
            )
    for finding in values["findings"]:
        if finding.end > lengths[finding.turn]:
            raise StoreRefused("E_FINDING", "the evidence lies outside of turn {turn}", turn=finding.turn)
    seconds = values["seconds"]
    if seconds is not None and not 0.0 <= seconds < math.inf:  # NaN, too
        raise StoreRefused("E_SECONDS", "seconds are a number from 0")
    if "\x00" in values["labeler"]:
        raise InputRefused("E_ID", "a labeler's name holds a NUL character")


def lock_dialogues(transaction: Transaction, names: Collection[str]) -> None:
    """Lock dialogues against concurrent writers, in an order that all share, so that versions are compared
    with the last ones.

    Raises:
        DialogueMissing: one of them is not there.
    """
    if len(transaction.run(_LOCK, {"ids": sorted(names)}).all()) < len(names):
        raise DialogueMissing("E_DIALOGUE", "there is no such dialogue; it may have been erased")


def to_annotation(row: Row[Any]) -> Annotation:
    """The record of a row of ``annotations``; its id is the row's number."""
    return Annotation(
        id=str(row.id),
        dialogue_id=row.dialogue,
        labeler=row.labeler,
        kind=row.kind,
        codes=tuple(json.loads(row.codes)),
        turn=row.turn,
        findings=tuple(Finding.model_validate(finding) for finding in json.loads(row.findings)),
        seen_verdict=row.seen_verdict,
        seconds=row.seconds,
        at=datetime.fromtimestamp(row.at_ms / 1000, UTC),
        rejections=tuple(Rejection.model_validate(each) for each in json.loads(row.rejections or "[]")),
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
    an annotation of a model whose name is no account's has no owner. An annotation of a dialogue in
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


PAGE = 1000
"""Annotations in one read transaction."""

_LATER = annotation_rows.alias()


def _select_counted(*pools: Pool) -> Select[Any]:
    """Select the annotations after the number `after` and up to `upto` that count, as of `upto`: answers to
    tasks in `main` or one of `pools`, and annotations that answer no task.

    Subqueries are compared as values: for an EXISTS, PostgreSQL would hash all tasks for every page.
    """
    banned = select(accounts.c.id).where(
        accounts.c.id == annotation_rows.c.labeler, accounts.c.status == "banned"
    )
    newer = select(_LATER.c.id).where(
        _LATER.c.supersedes == annotation_rows.c.id, _LATER.c.id <= bindparam("upto")
    )
    again = select(_LATER.c.id).where(
        _LATER.c.dialogue == annotation_rows.c.dialogue,
        _LATER.c.id > annotation_rows.c.id,
        _LATER.c.id <= bindparam("upto"),
        _LATER.c.labeler == annotation_rows.c.labeler,
        _LATER.c.task.is_(None),
        _LATER.c.codes == annotation_rows.c.codes,
        or_(
            _LATER.c.turn == annotation_rows.c.turn,
            and_(_LATER.c.turn.is_(None), annotation_rows.c.turn.is_(None)),
        ),
    )
    pool = select(tasks.c.pool).where(tasks.c.id == annotation_rows.c.task)
    return (
        select(annotation_rows)
        .where(annotation_rows.c.id > bindparam("after"), annotation_rows.c.id <= bindparam("upto"))
        .where(~banned.exists(), newer.scalar_subquery().is_(None))
        .where(
            or_(
                and_(annotation_rows.c.task.is_(None), ~again.exists()),
                pool.scalar_subquery().in_(("main", *pools)),
            )
        )
        .order_by(annotation_rows.c.id)
    )


def iterate_counted(
    store: Store, actor: str, project: str | None = None, *, controls: bool = False
) -> Iterator[Annotation]:
    """Yield the annotations that are aggregated into labels, oldest first, of one project or of all.

    Left out are superseded annotations, those of banned accounts, and answers to training, exam and, without
    `controls`, control tasks. Of annotations that answer no task, the newest by each person to the same
    questions counts. They are read in pages, each in a short transaction, as of the call: later answers are
    not included, and answers that are being saved during the call may or may not be.

    Raises:
        StoreRefused: there is no such project.
    """
    query = _select_counted("control") if controls else _select_counted()
    if project is not None:
        query = query.where(annotation_rows.c.project == project)
    after, upto = 0, _load_last(store, actor, project)
    while rows := _load_page(store, actor, query.limit(PAGE), {"after": after, "upto": upto}):
        yield from map(to_annotation, rows)
        after = rows[-1].id


@read_operation("review")
def _load_last(transaction: Transaction, actor: str, project: str | None) -> int:
    if project is not None:
        get_project(transaction, project)
    record_bulk_read(transaction, actor, project, "answers")
    return int(transaction.run(select(func.coalesce(func.max(annotation_rows.c.id), 0))).scalar_one())


@read_operation("review")
def _load_page(
    transaction: Transaction, actor: str, query: Select[Any], parameters: dict[str, int]
) -> Sequence[Row[Any]]:
    return transaction.run(query, parameters).all()
