"""Notes of coaching, on both databases: who writes, reads and acknowledges them, and what the log keeps."""

from typing import Any

import pytest
from sqlalchemy import select

from dialint.labeling.store import accounts, dialogues
from dialint.labeling.store.coaching import MAX_CHARACTERS, acknowledge_note, list_notes, write_note
from dialint.labeling.store.database.schema import audit
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account, NotAllowed, StoreRefused


@pytest.fixture
def coached(store: Store, made: Any) -> Store:
    """Agents a1 (agnes) and a2 (arno, also a reviewer), one dialogue of each."""
    accounts.create(store, "ada", Account(id="agnes", role="labeler", agent="a1"))
    accounts.create(store, "ada", Account(id="arno", role="reviewer", agent="a2"))
    dialogues.add(store, "lea", [made.dialogue("d1"), made.dialogue("d2", agent="a2")])
    return store


def actions(store: Store) -> list[tuple[str, str, str]]:
    rows = select(audit.c.account, audit.c.action, audit.c.subject).where(audit.c.action.like("note.%"))
    return store.read(lambda transaction: [tuple(row) for row in transaction.run(rows.order_by(audit.c.id))])


def test_a_lead_writes_and_the_agent_acknowledges(coached: Store) -> None:
    first = write_note(coached, "lea", "a1", " Ask for the order number first. ")
    second = write_note(coached, "ada", "a1", "See turn 1.", "d1")
    assert (first.content, first.dialogue, second.dialogue) == (
        "Ask for the order number first.", None, "d1",
    )  # fmt: skip
    assert list_notes(coached, "agnes", "a1") == list_notes(coached, "lea", "a1") == (second, first)
    assert list_notes(coached, "agnes", "a1", n=1) == (second,)
    done = acknowledge_note(coached, "agnes", first.id)
    assert (done.acknowledged_by, done.acknowledged_ms is None) == ("agnes", False)
    assert acknowledge_note(coached, "agnes", first.id) == done, "a second time changes nothing"
    with pytest.raises(NotAllowed):
        acknowledge_note(coached, "agnes", 7)
    assert actions(coached) == [
        ("lea", "note.write", "note 1"),
        ("ada", "note.write", "note 2"),
        ("agnes", "note.acknowledge", "note 1"),
    ]


@pytest.mark.parametrize(
    ("agent", "content", "dialogue"),
    [
        ("a1", "  ", None), ("a1", "x" * (MAX_CHARACTERS + 1), None), ("a1", "a\x00b", None), ("a9", "To whom?", None),
        ("a1\x00", "To whom?", None), ("a1", "Not hers.", "d2"), ("a1", "Which?", "d9"), ("a1", "Which?", "d1\x00"),
    ],
)  # fmt: skip
def test_notes_that_are_refused(coached: Store, agent: str, content: str, dialogue: str | None) -> None:
    with pytest.raises(StoreRefused, match=r"note|agent"):
        write_note(coached, "lea", agent, content, dialogue)
    assert actions(coached) == []
