"""F19: one flipped bit in each of 100 places of the audit log and of what it vouches for is found."""

import random
from typing import Any

import pytest
from answering import claim
from sqlalchemy import text
from tampering import unlocked

from dialint.labeling.store import annotations, dialogues, projects, tasks
from dialint.labeling.store.database.audit import START, Entry, hash_entry
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import check_all, verify
from dialint.labeling.store.records import NewTask, Project, StoreDamaged

N = 8
COLUMNS = {
    "audit": ("id", "at_ms", "account", "action", "subject", "content", "hash", "changes", "origin"),
    "audit_head": ("id", "hash", "signature"),
    "annotations": (
        *("id", "key", "project", "labeler", "kind", "codes", "findings", "seconds", "at_ms"),
        *("seen_verdict", "turn"),
    ),
    "dialogues": ("content", "sha256"),
    "verdicts": ("content", "sha256"),
}


def worked(store: Store, made: Any) -> None:
    projects.create(store, "lea", Project(id="p", codes=("C1",)))
    dialogues.add(store, "lea", [made.dialogue(f"d{i}") for i in range(N)])
    dialogues.add_verdicts(store, "lea", [made.verdict(f"d{i}", made.finding()) for i in range(N)])
    tasks.add(store, "lea", "p", [NewTask(dialogue=f"d{i}", turn=1) for i in range(N)])
    for i in range(N):
        lease = claim(store, "ann", "p")
        annotations.submit(store, "ann", lease.task, lease.token, 3 * chr(97 + 2 * i), [made.finding()], 3.5)


def flipped(value: Any, places: random.Random) -> Any:
    """`value` with one bit changed; for text the lowest of a character, so that it stays text."""
    if isinstance(value, bool) or value is None:
        return not value if value is not None else 0
    if isinstance(value, float):
        return value * (1 + 2**-52)
    if isinstance(value, int):
        return value ^ 1 << places.randrange(12, 30)  # onto no other row's number
    at = places.randrange(len(value))
    return value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1 :]


def test_the_hash_of_an_entry_by_hand() -> None:
    """sha256sum of 64 zeros, a line end, and [1,5,"ada","make","x","{}","{}",null]."""
    entry = Entry(5, "ada", "make", "x", "{}", "{}")
    assert hash_entry(START, 1, entry) == "89c2afb65120ddba9198f98c71c902e11c1807778fcc31cc3e444b529d282e42"


def test_f19_each_flipped_bit_is_found(store: Store, made: Any) -> None:
    worked(store, made)
    whole = verify(store)
    assert (whole.annotations, whole.dialogues, whole.verdicts) == (N, N, N)
    places, found = random.Random(7), 0
    targets = [(table, column) for table, columns in COLUMNS.items() for column in columns]
    for number in range(100):
        table, column = targets[number % len(targets)]
        with store.engine.connect() as connection, connection.begin() as transaction:
            unlocked(connection)
            key = "one" if table == "audit_head" else "dialogue" if table == "verdicts" else "id"
            keys = [row[0] for row in connection.execute(text(f"SELECT {key} FROM {table} ORDER BY 1"))]
            one = {"key": places.choice(keys)}
            value = connection.execute(text(f"SELECT {column} FROM {table} WHERE {key} = :key"), one).scalar()
            value = bool(value) if column == "seen_verdict" else value
            change = text(f"UPDATE {table} SET {column} = :value WHERE {key} = :key")
            connection.execute(change, {**one, "value": flipped(value, places)})
            with pytest.raises(StoreDamaged) as damage:
                check_all(connection, store.key)
            found += damage.value.code != "E_SCHEMA"  # the triggers are gone, too
            transaction.rollback()
    assert found == 100
    verify(store)


@pytest.mark.parametrize("damage", [
    "DELETE FROM audit WHERE id = 5", "DELETE FROM audit WHERE id = (SELECT max(id) FROM audit)",
    "DELETE FROM annotations WHERE id = 3", "DELETE FROM audit_head",
    "DELETE FROM audit",
])  # fmt: skip
@pytest.mark.damaged
def test_what_was_taken_away_is_missed(store: Store, made: Any, damage: str) -> None:
    worked(store, made)
    with store.engine.connect() as connection, connection.begin():
        unlocked(connection)
        connection.execute(text(damage))
    with pytest.raises(StoreDamaged):
        verify(store)


@pytest.mark.damaged
def test_the_first_broken_entry_is_named(store: Store, made: Any) -> None:
    worked(store, made)
    with store.engine.connect() as connection, connection.begin():
        unlocked(connection)
        connection.execute(text("UPDATE audit SET account = 'eve' WHERE id IN (7, 9)"))
    with pytest.raises(StoreDamaged, match="entry 7 "):
        verify(store)


@pytest.mark.damaged
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_damaged_file_is_no_crash(store: Store, place: str, made: Any) -> None:
    worked(store, made)
    with store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    places = random.Random(3)
    with open(place, "r+b") as file:
        size = file.seek(0, 2)
        for _ in range(200):
            file.seek(places.randrange(4096, size))
            file.write(bytes([places.randrange(256)]))
    with pytest.raises(StoreDamaged):
        verify(store)
