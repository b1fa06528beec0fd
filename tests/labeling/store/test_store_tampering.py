"""Whatever is changed in the database past the operations is found: every column, a row less and a row more of
every table, every trigger and index, the chain computed anew, its end cut off.

The tables and objects are taken from the database itself: a new table that nothing is put into here fails.
"""

import getpass
import json
import random
import shutil
import socket
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import make
import pytest
from answering import answer, claim
from sqlalchemy import Connection, MetaData, Table, UniqueConstraint, inspect, select, text
from tampering import triggers, unlocked

from dialint.detector.errors import ConfigError
from dialint.detector.records import Dialogue, Label, Turn
from dialint.detector.taxonomy import PACKAGED
from dialint.labeling.store import (
    accounts,
    annotations,
    appeals,
    authentication,
    coaching,
    dialogues,
    documents,
    erasure,
    gold,
    history,
    leases,
    projects,
    rater_status,
    task_view,
    tasks,
)
from dialint.labeling.store.database import changes
from dialint.labeling.store.database.audit import START, AuditEntry, hash_entry
from dialint.labeling.store.database.backup import backup, restore
from dialint.labeling.store.database.changes import WORDS
from dialint.labeling.store.database.engine import open_engine, store_url
from dialint.labeling.store.database.schema import metadata
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import check_all, check_log, check_schema, verify
from dialint.labeling.store.records import Account, Gold, NewTask, Project, StoreDamaged

PASSWORD, OTHER = "correct horse battery", "another horse battery"
TABLES = (*sorted({*metadata.tables} - {"drafts"}), "alembic_version")
"""All but the drafts of answers, which are not signed."""
N = 4


def work_in(store: Store) -> None:
    """At least one row in every table."""
    accounts.create(store, "ada", Account(id="ag", role="labeler", agent="a1", skills=("es",)), PASSWORD)
    projects.create(store, "lea", Project(id="p", codes=("C1",)))
    projects.create(store, "lea", Project(id="q", codes=("C1",)))
    dialogues.add(store, "lea", [make.dialogue(f"d{i}", "a9" if i == 3 else "a1") for i in range(N)])
    dialogues.add_verdicts(store, "lea", [make.verdict(f"d{i}", make.finding()) for i in range(N - 1)])
    gold.set_gold(store, "eve", Gold(dialogue="d3", turn=1, code="C1", present=True, source="expert"))
    tasks.add(store, "lea", "p", [NewTask(dialogue=f"d{i}", turn=1) for i in range(N - 1)])
    tasks.add(store, "lea", "p", [NewTask(dialogue="d3", pool="control")])
    for name in ("ann", "ben"):
        lease = claim(store, name, "p")
        annotations.submit(store, name, lease.task, lease.token, name, [make.finding()], 3.5)
    held = claim(store, "cem", "p")
    leases.renew(store, "cem", held.task, held.token)
    task_view.save_draft(store, "cem", f"task:{held.task}", '{"begun": 1}', held.dialogue)
    label = Label(dialogue_id="d0", turn=1, code="C1", probability=0.9, method="crowd", n_labelers=2)
    dialogues.write_labels(store, "lea", [label])
    appeals.open_appeal(store, "ag", "d1", 1, "C1", "I did answer")
    rater_status.set_rules(store, "lea", rater_status.RaterRules(least=12))
    dialogues.read(store, "rob", "d0")
    gold.list_gold(store, "eve")
    authentication.link(
        store, "ada", authentication.Identity(issuer="https://id.example", subject="1"), "ann"
    )
    work_in_console(store)
    dialogues.add(store, "lea", [make.dialogue("gone")])
    erasure.erase(store, "ada", ["gone"], "The customer asked for it.")


def work_in_console(store: Store) -> None:
    """Write rows of all kinds beside answers, as people do in the console."""
    accounts.save_preferences(store, "rob", accounts.Preferences(language="es"))
    coaching.acknowledge_note(store, "ag", coaching.write_note(store, "lea", "a1", "Ask first.", "d0").id)
    text = PACKAGED.read_text(encoding="utf-8")
    documents.save_version(store, "lea", "taxonomy", "taxonomy", text, "as packaged", expected=0)
    documents.publish(store, "lea", "taxonomy", "taxonomy", 1)
    history.record_job(store, "lea", "create", "a" * 16)


@pytest.fixture(scope="module", params=("sqlite", "postgresql"))
def worked_in(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    copied: Callable[[str, Path], str],
) -> Callable[[], str]:
    """Makes copies of a store with something in every table."""
    place = copied(request.param, tmp_path_factory.mktemp("worked"))
    with Store.open(place) as store:
        work_in(store)

    def copy() -> str:
        if "://" in place:
            return str(request.getfixturevalue("postgres").new(place.rsplit("/", 1)[1]))
        return str(shutil.copyfile(place, tmp_path_factory.mktemp("copy") / "store.sqlite"))

    return copy


@pytest.fixture
def worked(worked_in: Callable[[], str]) -> Iterator[Store]:
    """A store with something in every table."""
    with Store.open(worked_in()) as store:
        yield store


@pytest.fixture(scope="module")
def shared(worked_in: Callable[[], str]) -> Iterator[Store]:
    """The same, for tests that commit nothing."""
    with Store.open(worked_in()) as store:
        yield store


def assert_detected(store: Store, *changes: tuple[Any, Any]) -> None:
    """Each of these statements, by itself, makes the store damaged, and not only by the triggers that are gone
    for it; none of them stays. A list of statements is one change."""
    for statements, what in changes:
        with store.engine.connect() as connection, connection.begin() as transaction:
            unlocked(connection)
            for statement in statements if isinstance(statements, list) else [statements]:
                done = connection.execute(statement)
            assert done.rowcount, what
            with pytest.raises((StoreDamaged, ConfigError)) as damage:
                check_all(connection, store.key)
            assert damage.value.code != "E_SCHEMA", what
            transaction.rollback()
    verify(store)


def other(value: Any, kind: Any) -> Any:
    """Another value of a column's type."""
    python = kind.python_type
    if python is bool:
        return not value
    if python is str:
        return f"{value or ''}x"
    return (value or 0) + (1000 if python is int else 0.125)


def table_of(store: Store, name: str) -> tuple[Table, list[Any]]:
    """A table as the database has it, and its rows."""
    with store.engine.connect() as connection:
        table = Table(name, MetaData(), autoload_with=connection)
        rows = connection.execute(select(table)).all()
    assert rows, f"nothing in {name}: put something into it in `work_in`"
    return table, rows


def unique_columns(table: Table) -> set[str]:
    """The columns whose values differ from row to row by a constraint of their own."""
    constraints = (each.columns.keys() for each in table.constraints if isinstance(each, UniqueConstraint))
    return {names[0] for names in constraints if len(names) == 1}


def this(table: Table, row: Any) -> list[Any]:
    return [column == row._mapping[column.name] for column in table.primary_key]


def test_the_matrix_knows_every_table(shared: Store) -> None:
    assert set(inspect(shared.engine).get_table_names()) - {*WORDS, "drafts"} == set(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_a_changed_value_is_found_in_every_column(shared: Store, name: str) -> None:
    table, rows = table_of(shared, name)
    changes = []
    for column in table.columns:
        row = rows[-1]
        value = other(row._mapping[column.name], column.type)
        for foreign in column.foreign_keys:  # another row that there is, or it would be found by that alone
            with shared.engine.connect() as connection:
                there = sorted(connection.execute(select(foreign.column)).scalars(), reverse=True)
                value = next(one for one in there if one != row._mapping[column.name])
        change: list[Any] = [table.update().where(*this(table, row)).values({column.name: value})]
        if column.foreign_keys and column.name in unique_columns(table):  # in place of the row that has it
            change.insert(0, table.delete().where(column == value))
        changes.append((change, column.name))
    assert_detected(shared, *changes)


@pytest.mark.parametrize("name", TABLES)
def test_a_row_less_is_found(shared: Store, name: str) -> None:
    table, rows = table_of(shared, name)
    assert_detected(shared, *((table.delete().where(*this(table, row)), row) for row in (rows[0], rows[-1])))


@pytest.mark.parametrize("name", TABLES)
def test_a_row_more_is_found(shared: Store, name: str) -> None:
    table, rows = table_of(shared, name)
    row = {
        column.name: rows[-1]._mapping[column.name]
        if column.foreign_keys and column.name not in unique_columns(table)
        else other(rows[-1]._mapping[column.name], column.type)
        for column in table.columns
    }
    keys = list(table.primary_key)
    if all(column.foreign_keys for column in keys):
        existing = {tuple(one._mapping[column.name] for column in keys) for one in rows}
        with shared.engine.connect() as connection:
            parents = [
                connection.execute(select(next(iter(column.foreign_keys)).column)).scalars().all()
                for column in keys
            ]
        free = next(place for place in product(*parents) if place not in existing)
        row |= {column.name: value for column, value in zip(keys, free, strict=True)}
    assert_detected(shared, (table.insert().values(row), row))


def test_every_trigger_and_index_is_missed(shared: Store) -> None:
    with shared.engine.connect() as connection:
        inspector = inspect(connection)
        drops = [f"DROP TRIGGER {name}" for name in triggers(connection)]
        assert len(drops) == (4 if "sqlite" in shared.engine.name else 3)
        for table in inspector.get_table_names():
            drops += [
                f"DROP INDEX {index['name']}"
                for index in inspector.get_indexes(table)
                if "duplicates_constraint" not in index
            ]
    if "sqlite" not in shared.engine.name:
        drops += [f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in ("annotations", "audit", "leases")]
        drops += [
            "ALTER TABLE leases DROP CONSTRAINT leases_account_fkey",
            "CREATE RULE quiet AS ON DELETE TO drafts DO INSTEAD NOTHING",
            "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RETURN NULL; END $$",
        ]
    drops += ["ALTER TABLE accounts ADD COLUMN note TEXT", "CREATE TABLE extra (id INTEGER PRIMARY KEY)"]
    with shared.engine.connect() as connection, changes.Replay() as replay:
        written = check_log(connection, shared.key, replay)[1]
    for place, statement in enumerate(drops):
        with shared.engine.connect() as connection, connection.begin() as transaction:
            connection.exec_driver_sql(statement)
            with pytest.raises(
                StoreDamaged
            ) as damage:  # the first time by checking everything, which is slow
                check_schema(connection, {**written}) if place else check_all(connection, shared.key)
            assert damage.value.code == "E_SCHEMA", statement
            transaction.rollback()
    verify(shared)


def test_a_newer_server_writes_definitions_in_its_own_way(
    worked: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then only what there is counts, until the schema is noted anew."""
    objects = changes.list_objects

    def written_otherwise(connection: Connection) -> dict[str, str]:
        return {name: f"{sql}'" for name, sql in objects(connection).items()} | {changes.SERVER: "99"}

    monkeypatch.setattr(changes, "list_objects", written_otherwise)
    verify(worked)
    with worked.engine.connect() as connection, connection.begin() as transaction:
        connection.exec_driver_sql(f"DROP TRIGGER {triggers(connection)[0]}")
        with pytest.raises(StoreDamaged, match="is missing"):
            check_all(connection, worked.key)
        transaction.rollback()


def computed_anew(connection: Connection, upto: int) -> None:
    """The chain as somebody without the key can make it, up to an entry."""
    last = START
    connection.execute(text("DELETE FROM audit WHERE id > :upto"), {"upto": upto})
    for row in connection.execute(text("SELECT * FROM audit ORDER BY id")).all():
        entry = AuditEntry(*(row._mapping[name] for name in AuditEntry._fields))
        last = hash_entry(last, row.id, entry)
        connection.execute(text("UPDATE audit SET hash = :hash WHERE id = :id"), {"hash": last, "id": row.id})
    connection.execute(text("UPDATE audit_head SET id = :id, hash = :hash"), {"id": upto, "hash": last})


@pytest.mark.parametrize("damage", [
    "UPDATE audit SET account = 'eve' WHERE id = 3", "UPDATE audit SET changes = NULL WHERE id = 3",
    "UPDATE audit SET origin = '{}', changes = NULL", None,
])  # fmt: skip
def test_a_chain_computed_anew_or_cut_is_not_signed(shared: Store, damage: str | None) -> None:
    n = verify(shared).audit_entries
    with shared.engine.connect() as connection, connection.begin() as transaction:
        unlocked(connection)
        if damage:
            connection.execute(text(damage))
        computed_anew(connection, n if damage else n - 3)
        with pytest.raises(StoreDamaged, match="not signed") as raised:
            check_all(connection, shared.key)
        assert raised.value.code == "E_AUDIT"
        transaction.rollback()


def test_every_row_of_a_large_insert_is_in_the_log(worked: Store) -> None:
    """More rows than the driver sends at once."""
    turns = (Turn(index=0, role="customer", text="hi"), Turn(index=1, role="agent", text="ok", author="a2"))
    many = [Dialogue(id=f"many {n}", turns=turns, agent="a1") for n in range(700)]
    dialogues.add(worked, "ada", many)
    verify(worked)


def test_the_hash_of_an_entry_by_hand() -> None:
    """sha256sum of 64 zeros, a line end, and [1,5,"ada","make","x","{}","{}",null]."""
    entry = AuditEntry(5, "ada", "make", "x", "{}", "{}")
    assert hash_entry(START, 1, entry) == "89c2afb65120ddba9198f98c71c902e11c1807778fcc31cc3e444b529d282e42"


@pytest.mark.parametrize(("damage", "message"), [
    ("UPDATE audit SET account = 'eve' WHERE id IN (7, 9)", "entry 7 "), ("DELETE FROM audit WHERE id = 5", "entry 5 "),
    ("DELETE FROM audit", "head does not agree"), ("DELETE FROM audit_head", "head does not agree"),
])  # fmt: skip
def test_the_first_broken_entry_is_named(shared: Store, damage: str, message: str) -> None:
    with shared.engine.connect() as connection, connection.begin() as transaction:
        unlocked(connection)
        connection.execute(text(damage))
        with pytest.raises(StoreDamaged, match=message):
            check_all(connection, shared.key)
        transaction.rollback()


@pytest.mark.parametrize("worked_in", ["sqlite"], indirect=True)
def test_a_damaged_file_is_no_crash(worked_in: Callable[[], str]) -> None:
    place, places = worked_in(), random.Random(3)
    with open(place, "r+b") as file:
        size = file.seek(0, 2)
        for _ in range(200):
            file.seek(places.randrange(4096, size))
            file.write(bytes([places.randrange(256)]))
    with Store(open_engine(store_url(place))) as store, pytest.raises(StoreDamaged):
        verify(store)


def test_nothing_is_signed_on_top_of_a_forged_chain(worked: Store) -> None:
    n = verify(worked).audit_entries
    with worked.engine.begin() as connection:
        unlocked(connection)
        connection.execute(text("UPDATE audit SET account = 'eve' WHERE id = 3"))
        computed_anew(connection, n)
    with pytest.raises(StoreDamaged, match="not signed"):
        accounts.set_skills(worked, "ada", "ann", ("fr",))


def test_an_older_copy_is_found_by_a_head_that_was_noted(
    worked: Store, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    sqlite = "sqlite" in worked.engine.name
    older = str(tmp_path / "older.sqlite") if sqlite else request.getfixturevalue("postgres").new()
    before = verify(worked).head
    folder = backup(worked, tmp_path / "backup")
    accounts.set_status(worked, "ada", "ann", "banned")
    noted = verify(worked, expect_head=before).head
    assert verify(worked, expect_head=noted).head == noted
    restore(folder, older)
    with Store.open(older) as store:
        assert verify(store, expect_head=before).head == before
        with pytest.raises(StoreDamaged, match="is not in it"):
            verify(store, expect_head=noted)


@pytest.mark.parametrize(("column", "value"), [("role", "admin"), ("agent", "a2")])
def test_an_operation_on_a_changed_row_does_not_vouch_for_the_change(
    worked: Store, column: str, value: str
) -> None:
    """The row is changed by its owner afterwards: only what the operation sets is entered."""
    with worked.engine.begin() as connection:
        connection.execute(text(f"UPDATE accounts SET {column} = '{value}' WHERE id = 'ag'"))
    authentication.choose_password(worked, "ag", PASSWORD, OTHER)
    with pytest.raises(StoreDamaged, match=rf"accounts \(ag\): {column} was changed since entry \d+"):
        verify(worked)


def test_a_number_that_was_counted_on_is_found(worked: Store) -> None:
    """A count computed from a manipulated number is recorded; it does not agree with the leases."""
    change = (
        "UPDATE tasks SET answered = answered + 1 WHERE id = (SELECT task FROM leases WHERE account = 'cem')"
    )
    with worked.engine.begin() as connection:
        connection.execute(text(change))
    answer(worked, "cem", "p", "cem", [])
    with pytest.raises(StoreDamaged, match="agree"):
        verify(worked)


def test_an_entry_says_who_where_and_how(worked: Store) -> None:
    place = worked.engine.url.render_as_string(hide_password=False)
    place = place if "postgresql" in place else str(worked.engine.url.database)
    with Store.open(place, interface="console") as store:
        accounts.set_skills(store, "ada", "ann", ("fr",))
        with store.engine.connect() as connection:
            origin = connection.execute(
                text("SELECT origin FROM audit ORDER BY id DESC LIMIT 1")
            ).scalar_one()
    assert json.loads(origin) == {"user": getpass.getuser(), "host": socket.gethostname(), "way": "console"}


def test_no_text_and_no_password_hash_is_in_the_log(shared: Store) -> None:
    with shared.engine.connect() as connection:
        log = str(connection.execute(text("SELECT * FROM audit")).all())
    of_console = ("Ask first.", "parcel", "penalty", "monday.jsonl", "nothing new")
    for secret in ("argon2", "I did answer", "Anything", "begun", *of_console, shared.key.secret.hex()):
        assert secret not in log, secret
