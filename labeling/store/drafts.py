"""Drafts of answers that are not submitted yet, stored so that a lost connection loses nothing.

One per account and item, which the caller names; only its owner can read it. It goes with its
dialogue. Drafts decide nothing and change at every click, so the audit log does not record them.
"""

from __future__ import annotations

from sqlalchemy import bindparam, delete, select

from dialint.labeling.store.database.schema import drafts
from dialint.labeling.store.database.transactions import Transaction, upsert
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.permissions import read_operation, write_operation
from dialint.labeling.store.records import Draft
from dialint.labeling.store.stored_annotations import lock_dialogues

MAX_BYTES = 1 << 20


def name_of_task(task: int) -> str:
    """The item of a draft of the answer to a task."""
    return f"task:{task}"


_OWN = (drafts.c.account == bindparam("actor"), drafts.c.item == bindparam("its_item"))
_LOAD = select(drafts).where(*_OWN, drafts.c.dialogue == bindparam("its_dialogue"))
_DELETE = delete(drafts).where(*_OWN)


@write_operation("label")
def save_draft(transaction: Transaction, actor: str, item: str, content: str, dialogue: str) -> None:
    """Save the actor's draft of an item of a dialogue, replacing an earlier one.

    Raises:
        DialogueMissing: the dialogue was erased, and the item with it; nothing of it is stored again.
        StoreRefused: the draft is over 1 MiB.
    """
    if len(content.encode()) > MAX_BYTES or len(item) > 200 or "\x00" in item + content:
        raise StoreRefused("E_DRAFT", "a draft is at most 1 MiB of text, its item at most 200 characters")
    lock_dialogues(transaction, {dialogue})
    row = {"account": actor, "item": item, "dialogue": dialogue, "content": content}
    upsert(transaction, drafts, {**row, "at_ms": transaction.now_ms})


@read_operation("label")
def load_draft(transaction: Transaction, actor: str, item: str, dialogue: str) -> Draft | None:
    """The actor's draft of an item of a dialogue, or none."""
    return find_draft(transaction, actor, item, dialogue)


def find_draft(transaction: Transaction, actor: str, item: str, dialogue: str) -> Draft | None:
    """As `load_draft`; permissions are checked by the caller. The number in an item's name does not make it
    that of the dialogue: SQLite gives the numbers of erased rows again."""
    key = {"actor": actor, "its_item": item, "its_dialogue": dialogue}
    row = transaction.run(_LOAD, key).one_or_none()
    return None if row is None else Draft(item=item, content=row.content, at_ms=row.at_ms)


@write_operation("label")
def delete_draft(transaction: Transaction, actor: str, item: str) -> None:
    """Delete the actor's draft of an item, if there is one."""
    drop_draft(transaction, actor, item)


def drop_draft(transaction: Transaction, actor: str, item: str) -> None:
    """As `delete_draft`; permissions are checked by the caller."""
    transaction.run(_DELETE, {"actor": actor, "its_item": item})
