"""Rows of ``annotations``: converting them to records, finding them by key, validating and inserting them.

The caller decides which row to save and checks permissions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite

from dialint.detector.errors import InputRefused
from dialint.detector.records import Finding
from dialint.labeling.annotation import Annotation, Rejection
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.derived import refresh
from dialint.labeling.store.database.schema import annotation_rows, dialogues
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.database.verify import hash_annotation
from dialint.labeling.store.dialogues import load_dialogue
from dialint.labeling.store.errors import DialogueMissing, StoreRefused

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
    """Whether a row holds these values."""
    return all(getattr(row, name) == value for name, value in _to_columns(values).items())


def has_answered(transaction: Transaction, values: dict[str, Any]) -> bool:
    """Whether the labeler has answered one of the questions before."""
    parameters = {"its_dialogue": values["dialogue"], "its_labeler": values["labeler"]}
    return any(
        None in (row.turn, values["turn"]) or row.turn == values["turn"]
        for row in transaction.run(_BY_PERSON, parameters)
        if not set(json.loads(row.codes)).isdisjoint(values["codes"])
    )


def _to_columns(values: dict[str, Any]) -> dict[str, Any]:
    """Convert values to those of the columns."""
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
    """Validate and insert an annotation; the audit log gets the row's hash.

    Raises:
        StoreRefused: an unknown dialogue or turn, a finding with a code or turn that was not asked, or a key
            that was used before.
    """
    _validate_key(values["key"])
    _validate(transaction, values)
    row = {"at_ms": transaction.now_ms, **_to_columns(values)}
    row["sha256"] = hash_annotation(row)
    saved = transaction.run(_INSERT[transaction.on_sqlite], row).one_or_none()
    if saved is None:
        raise StoreRefused("E_KEY", "this key was used for another answer")
    refresh(transaction, (saved.dialogue,))
    transaction.log(actor, "annotate", f"annotation {saved.id}", id=saved.id, sha256=row["sha256"])
    return to_annotation(saved)


def _validate(transaction: Transaction, values: dict[str, Any]) -> None:
    """Raise unless findings answer the questions and lie within the dialogue's turns."""
    dialogue = load_dialogue(transaction, values["dialogue"])
    if dialogue is None:
        raise StoreRefused("E_DIALOGUE", "there is no such dialogue")
    lengths = {turn.index: len(turn.text) for turn in dialogue.turns}
    if values["turn"] is not None and values["turn"] not in lengths:
        raise StoreRefused("E_FINDING", "there is no such turn")
    for finding in values["findings"]:
        is_asked = finding.code in values["codes"] and values["turn"] in (None, finding.turn)
        if not is_asked:
            raise StoreRefused(
                "E_FINDING", "{code} in turn {turn} was not asked", code=finding.code, turn=finding.turn
            )
        if finding.end > lengths.get(finding.turn, -1):
            raise StoreRefused("E_FINDING", "the evidence lies outside of turn {turn}", turn=finding.turn)
    for each in values["rejections"]:
        is_asked = each.code in values["codes"] and values["turn"] in (None, each.turn)
        if not is_asked or each.turn not in lengths:
            raise StoreRefused(
                "E_FINDING", "{code} in turn {turn} was not asked", code=each.code, turn=each.turn
            )
    seconds = values["seconds"]
    if seconds is not None and not 0.0 <= seconds < math.inf:  # NaN, too
        raise StoreRefused("E_SECONDS", "seconds are a number from 0")
    if "\x00" in values["labeler"]:
        raise InputRefused("E_ID", "a labeler's name holds a NUL character")


def lock_dialogue(transaction: Transaction, dialogue: str) -> None:
    """Lock a dialogue against concurrent writers, so that versions are compared with the last one.

    Raises:
        DialogueMissing: there is no such dialogue.
    """
    lock_dialogues(transaction, {dialogue})


def lock_dialogues(transaction: Transaction, names: Collection[str]) -> None:
    """As `lock_dialogue` for several dialogues, in an order that all writers share.

    Raises:
        DialogueMissing: there is no such dialogue.
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
