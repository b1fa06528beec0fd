"""Drafts of answers that are not submitted yet, stored so that a lost connection loses nothing.

One per account and item, whose name the screen chooses; only its owner can read it.
"""

from __future__ import annotations

from sqlalchemy import delete, select

from dialint.labeling.store.database.schema import drafts
from dialint.labeling.store.database.transactions import Transaction, read_operation, upsert, write_operation
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.records import Draft

MAX_BYTES = 1 << 20


@write_operation(repeatable=True)
def save_draft(transaction: Transaction, actor: str, item: str, content: str) -> None:
    """Save the actor's draft of an item, replacing an earlier one.

    Raises:
        StoreRefused: the draft is over 1 MiB.
    """
    require_permission(transaction, actor, "label")
    if len(content.encode()) > MAX_BYTES or len(item) > 200 or "\x00" in item + content:
        raise StoreRefused("E_DRAFT", "a draft is at most 1 MiB of text, its item at most 200 characters")
    upsert(
        transaction,
        drafts,
        {"account": actor, "item": item, "content": content, "at_ms": transaction.now_ms},
    )
    transaction.log(actor, "draft.keep", item)


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
