"""Drafts of answers that are not submitted yet, stored so that a lost connection loses nothing.

One per account and item; only its owner can read it. An item is of a stored dialogue: ``task:N`` and
``case:N`` by the number of a task, ``answer:N`` by that of an annotation, anything else ``KIND:DIALOGUE``,
with more after another colon. `erasure` deletes drafts by these names, so a draft is saved under no other.
"""

from __future__ import annotations

from sqlalchemy import bindparam, delete, select

from dialint.labeling.store.database.schema import annotation_rows, drafts, tasks
from dialint.labeling.store.database.transactions import Transaction, read_operation, upsert, write_operation
from dialint.labeling.store.errors import DialogueMissing, StoreRefused
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.records import Draft
from dialint.labeling.store.stored_annotations import lock_dialogue

MAX_BYTES = 1 << 20
MAX_DIGITS = 18

_BY_TASK = select(tasks.c.dialogue).where(tasks.c.id == bindparam("number"))
_BY_ANSWER = select(annotation_rows.c.dialogue).where(annotation_rows.c.id == bindparam("number"))
_DIALOGUE = {"task": _BY_TASK, "case": _BY_TASK, "answer": _BY_ANSWER}


@write_operation(repeatable=True)
def save_draft(transaction: Transaction, actor: str, item: str, content: str, dialogue: str) -> None:
    """Save the actor's draft of an item of a dialogue, replacing an earlier one.

    Raises:
        DialogueMissing: the dialogue was erased, and the item with it; nothing of it is stored again.
        StoreRefused: the draft is over 1 MiB.
    """
    require_permission(transaction, actor, "label")
    if len(content.encode()) > MAX_BYTES or len(item) > 200 or "\x00" in item + content:
        raise StoreRefused("E_DRAFT", "a draft is at most 1 MiB of text, its item at most 200 characters")
    lock_dialogue(transaction, dialogue)
    if not _is_of(transaction, item, dialogue):  # SQLite gives the number of an erased task again
        raise DialogueMissing("E_DRAFT", "this item is not of the dialogue any more; it may have been erased")
    upsert(
        transaction,
        drafts,
        {"account": actor, "item": item, "content": content, "at_ms": transaction.now_ms},
    )
    transaction.log(actor, "draft.keep", item)


def _is_of(transaction: Transaction, item: str, dialogue: str) -> bool:
    """Whether the item is one of the dialogue."""
    kind, _, rest = item.partition(":")
    if kind not in _DIALOGUE:
        return rest == dialogue or rest.startswith(f"{dialogue}:")
    if not (rest.isascii() and rest.isdigit() and len(rest) <= MAX_DIGITS):
        return False
    return bool(transaction.run(_DIALOGUE[kind], {"number": int(rest)}).scalar_one_or_none() == dialogue)


@read_operation
def load_draft(transaction: Transaction, actor: str, item: str) -> Draft | None:
    """The actor's draft of an item, or none."""
    require_permission(transaction, actor, "label")
    query = select(drafts).where(drafts.c.account == actor, drafts.c.item == item)
    row = transaction.run(query).one_or_none()
    return None if row is None else Draft(item=item, content=row.content, at_ms=row.at_ms)


@write_operation(repeatable=True)
def delete_draft(transaction: Transaction, actor: str, item: str) -> None:
    """Delete the actor's draft of an item, if there is one."""
    require_permission(transaction, actor, "label")
    if transaction.run(delete(drafts).where(drafts.c.account == actor, drafts.c.item == item)).rowcount:
        transaction.log(actor, "draft.drop", item)
