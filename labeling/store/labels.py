"""Labels: one for each turn, code and method, as aggregation last wrote it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select

from dialint.detector.records import Label
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import labels
from dialint.labeling.store.database.transactions import Transaction, upsert
from dialint.labeling.store.dialogues import MAX_PER_CALL, compute_sha256
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.exposure import record_read
from dialint.labeling.store.permissions import (
    get_account,
    read_operation,
    write_operation,
)


@write_operation("plan")
def write_labels(transaction: Transaction, actor: str, new_labels: Sequence[Label]) -> None:
    """Write up to 1,000 labels, replacing earlier ones of the same turn, code and method.

    Raises:
        StoreRefused: too many labels.
    """
    if len(new_labels) > MAX_PER_CALL:
        raise StoreRefused("E_BATCH", "{n} in one call, at most {most}", n=len(new_labels), most=MAX_PER_CALL)
    rows = [label.model_dump() for label in new_labels]
    for row in rows:
        row |= {"dialogue": row.pop("dialogue_id"), "at_ms": transaction.now_ms}
        upsert(transaction, labels, row)
    transaction.log(actor, "labels.put", f"{len(rows)} labels", sha256=compute_sha256(canonical_json(rows)))


@read_operation("review")
def list_labels(transaction: Transaction, actor: str, dialogue: str) -> tuple[Label, ...]:
    """The labels of a dialogue, by turn, code and method; for reviewers and up."""
    account = get_account(transaction, actor)
    stored = load_labels(transaction, dialogue)
    if stored:
        record_read(transaction, account, dialogue, "labels")
    return stored


def load_labels(transaction: Transaction, dialogue: str) -> tuple[Label, ...]:
    """As `list_labels`, without recording the reading; permissions are checked by the caller."""
    rows = select(labels).where(labels.c.dialogue == dialogue)
    names = ("turn", "code", "probability", "method", "n_labelers", "start", "end")
    return tuple(
        Label(dialogue_id=dialogue, **{name: getattr(row, name) for name in names})
        for row in transaction.run(rows.order_by(labels.c.turn, labels.c.code, labels.c.method))
    )


def list_labelled_codes(transaction: Transaction, dialogues: Collection[str]) -> set[tuple[str, int, str]]:
    """Dialogue, turn and code of every label of these dialogues, by any method; permissions are checked by
    the caller."""
    columns = (labels.c.dialogue, labels.c.turn, labels.c.code)
    rows = transaction.run(select(*columns).where(labels.c.dialogue.in_(dialogues)))
    return {(row.dialogue, row.turn, row.code) for row in rows}
