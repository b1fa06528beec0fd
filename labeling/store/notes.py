"""Notes of coaching: a lead writes to an agent, about the agent or one dialogue; the agent acknowledges
them.

Notes are read by leads and by the account of the agent they are about, by nobody else. They are never
changed: a further note says what has changed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Row, and_, bindparam, func, insert, or_, select, update

from dialint.labeling.store.database.schema import accounts, dialogues, notes
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.errors import NotAllowed, StoreRefused
from dialint.labeling.store.permissions import (
    get_account,
    has_permission,
    read_operation,
    require_permission,
    write_operation,
)
from dialint.labeling.store.records import Account

MAX_CHARACTERS = 4000
MAX_NOTES = 100
"""Notes that one call returns at most."""

_NOTE = select(notes).where(notes.c.id == bindparam("number"))
_AGENT_EXISTS = select(
    or_(
        select(dialogues.c.id).where(dialogues.c.agent == bindparam("agent")).exists(),
        select(accounts.c.id).where(accounts.c.agent == bindparam("agent")).exists(),
    )
)


class Note(NamedTuple):
    """A note on an `agent`, or on one of the agent's dialogues. Times are milliseconds since 1970; the last
    two are None until the agent has acknowledged it."""

    id: int
    agent: str
    dialogue: str | None
    author: str
    content: str
    at_ms: int
    acknowledged_by: str | None
    acknowledged_ms: int | None


@write_operation("plan", repeatable=False)
def write_note(
    transaction: Transaction, actor: str, agent: str, content: str, dialogue: str | None = None
) -> Note:
    """Write a note to an agent.

    Raises:
        StoreRefused: an empty or too long text, an agent nobody knows, or a dialogue that is not the agent's.
    """
    if not 0 < len(content.strip()) <= MAX_CHARACTERS or "\x00" in content:
        raise StoreRefused("E_NOTE", "a note has 1 to {most} characters", most=MAX_CHARACTERS)
    if "\x00" in agent or not transaction.run(_AGENT_EXISTS, {"agent": agent}).scalar_one():
        raise StoreRefused("E_NOTE", "no dialogue and no account has this agent")
    if dialogue is not None:
        own = and_(dialogues.c.id == dialogue, dialogues.c.agent == agent)
        if "\x00" in dialogue or transaction.run(select(dialogues.c.id).where(own)).one_or_none() is None:
            raise StoreRefused("E_NOTE", "the dialogue is not this agent's, or there is none")
    values = {
        "agent": agent, "dialogue": dialogue, "author": actor, "content": content.strip(),
        "at_ms": transaction.now_ms,
    }  # fmt: skip
    row = transaction.run(insert(notes).values(values).returning(notes)).one()
    transaction.log(actor, "note.write", f"note {row.id}", agent=agent, dialogue=dialogue)
    return _record(row)


@write_operation("label")
def acknowledge_note(transaction: Transaction, actor: str, number: int) -> Note:
    """The agent acknowledges a note; doing so again changes nothing.

    Raises:
        NotAllowed: it is not a note to the actor, or there is no such note.
    """
    account = get_account(transaction, actor)
    row = transaction.run(_NOTE.with_for_update(), {"number": number}).one_or_none()
    if row is None or account.agent is None or row.agent != account.agent:
        raise NotAllowed("E_RIGHT", "{actor} acknowledges notes to the own agent only", actor=actor)
    if row.acknowledged_ms is None:
        values = {"acknowledged_by": actor, "acknowledged_ms": transaction.now_ms}
        transaction.run(update(notes).where(notes.c.id == number).values(values))
        transaction.log(actor, "note.acknowledge", f"note {number}")
    return _record(transaction.run(_NOTE, {"number": number}).one())


@read_operation()
def list_notes(
    transaction: Transaction, actor: str, agent: str, before: int | None = None, n: int = MAX_NOTES
) -> tuple[Note, ...]:
    """The newest `n` notes to an agent, newest first; with `before`, those older than this note.

    Raises:
        NotAllowed: the actor neither plans nor is this agent.
    """
    require_reader(transaction, actor, agent)
    query = select(notes).where(notes.c.agent == agent)
    if before is not None:
        query = query.where(notes.c.id < before)
    rows = transaction.run(query.order_by(notes.c.id.desc()).limit(min(n, MAX_NOTES)))
    return tuple(_record(row) for row in rows)


@read_operation()
def count_open_notes(transaction: Transaction, actor: str, agent: str) -> int:
    """How many notes to an agent are not acknowledged.

    Raises:
        NotAllowed: as for `list_notes`.
    """
    require_reader(transaction, actor, agent)
    is_open = and_(notes.c.agent == agent, notes.c.acknowledged_ms.is_(None))
    return int(transaction.run(select(func.count()).where(is_open)).scalar_one())


def require_reader(transaction: Transaction, actor: str, agent: str) -> Account:
    """The acting account, if it may read what is for an agent: a lead, or the agent.

    Raises:
        NotAllowed: it may not.
    """
    account = require_permission(transaction, actor, "label")
    if not has_permission(account, "plan") and account.agent != agent:
        raise NotAllowed("E_RIGHT", "{actor} is neither a lead nor this agent", actor=actor)
    return account


def _record(row: Row[Any]) -> Note:
    return Note(**{name: getattr(row, name) for name in Note._fields})
