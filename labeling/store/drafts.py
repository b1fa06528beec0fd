"""Drafts: what somebody has begun and not sent, kept so that a lost connection loses nothing.

One per account and item (any name of the screen's choosing). Seen by its owner only.
"""

from __future__ import annotations

from sqlalchemy import delete, select

from dialint.labeling.store.database.schema import drafts
from dialint.labeling.store.database.transactions import Transaction, read_operation, upsert, write_operation
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.records import Draft

MOST_BYTES = 1 << 20


@write_operation(repeatable=True)
def save_draft(transaction: Transaction, actor: str, item: str, content: str) -> None:
    """Keep the actor's draft of an item, in the place of the one before.

    Raises:
        StoreRefused: over 1 MiB.
    """
    require_permission(transaction, actor, "label")
    if len(content.encode()) > MOST_BYTES or len(item) > 200 or "\x00" in item + content:
        raise StoreRefused("E_DRAFT", "a draft is at most 1 MiB of text, its item at most 200 characters")
    upsert(
        transaction,
        drafts,
        {"account": actor, "item": item, "content": content, "at_ms": transaction.now_ms},
    )
    transaction.log(actor, "draft.keep", item)


@read_operation
def load_draft(transaction: Transaction, actor: str, item: str) -> Draft | None:
    """The actor's draft of an item, if there is one."""
    require_permission(transaction, actor, "label")
    query = select(drafts).where(drafts.c.account == actor, drafts.c.item == item)
    row = transaction.run(query).one_or_none()
    return None if row is None else Draft(item=item, content=row.content, at_ms=row.at_ms)


@write_operation(repeatable=True)
def delete_draft(transaction: Transaction, actor: str, item: str) -> None:
    """Throw the actor's draft of an item away, if there is one."""
    require_permission(transaction, actor, "label")
    if transaction.run(delete(drafts).where(drafts.c.account == actor, drafts.c.item == item)).rowcount:
        transaction.log(actor, "draft.drop", item)
