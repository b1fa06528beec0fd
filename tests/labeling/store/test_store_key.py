"""The key that a store is sealed with: where it is, who may read it, what happens without it, and stores from
before there was one."""

import hashlib
import os
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from dialint.app.commands import db
from dialint.app.store_session import StoreConfig
from dialint.detector.artifacts import fingerprint
from dialint.detector.errors import ConfigError
from dialint.detector.records import Dialogue
from dialint.labeling.store import accounts, dialogues
from dialint.labeling.store.annotations import list_own
from dialint.labeling.store.database import changes, verify
from dialint.labeling.store.database.audit import START, Entry, Head, canonical_json, hash_entry
from dialint.labeling.store.database.backup import backup, restore
from dialint.labeling.store.database.engine import open_engine, store_url
from dialint.labeling.store.database.keys import FILE_VARIABLE, SUFFIX, VARIABLE, Key, new_key, write_key
from dialint.labeling.store.database.migrate import migrate
from dialint.labeling.store.database.transactions import Store, read_version
from dialint.labeling.store.database.upgrade import rekey, upgrade
from dialint.labeling.store.errors import StoreDamaged
from dialint.labeling.store.records import Account


@pytest.fixture
def own_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """No key in the environment; where that of a store is instead."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "home"))
    return lambda place: tmp_path / "home" / "store.key" if "://" in place else Path(place + SUFFIX)


def test_a_new_store_gets_a_key_that_only_its_owner_reads(
    nowhere: str, own_key: Callable[[str], Path]
) -> None:
    upgrade(nowhere)
    path = own_key(nowhere)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text().strip()) == 64
    with Store.open(nowhere) as store:
        accounts.create_first(store, "ada", "correct horse battery")
        assert path.read_text().strip() not in f"{store.key!r} {store.__dict__}"
        verify.verify(store)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        Store.open(nowhere)
    path.unlink()
    with pytest.raises(ConfigError, match=f"missing; put the file back, or set {VARIABLE}"):
        Store.open(nowhere)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_the_key_may_be_in_a_file_of_ones_choosing(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "elsewhere" / "key"
    write_key(path, Key(bytes.fromhex(os.environ[VARIABLE])))
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    with Store.open(place) as store:
        verify.verify(store)
    path.write_text("no key\n")
    with pytest.raises(ConfigError, match="64 hexadecimal digits"):
        Store.open(place)


def test_with_another_key_nothing_is_written_or_called_whole(
    place: str, elsewhere: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = backup(store, tmp_path / "backup")
    key = store.key
    monkeypatch.setenv(VARIABLE, new_key().secret.hex())
    with Store.open(place) as other:
        for work in (
            lambda: accounts.create(other, "ada", Account(id="new", role="labeler")),
            lambda: verify.verify(other),
            lambda: restore(folder, elsewhere),
        ):
            with pytest.raises(ConfigError, match=f"sealed with the key {key.id}"):
                work()
    assert accounts.list_accounts(store, "ada")[-1].id != "new"


def test_the_key_is_in_no_backup(store: Store, tmp_path: Path) -> None:
    folder = backup(store, tmp_path / "backup")
    for path in folder.iterdir():
        content = path.read_bytes()
        assert store.key.secret not in content
        assert store.key.secret.hex().encode() not in content


def test_a_store_is_sealed_with_another_key(place: str, time_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialint.labeling.store.database.upgrade.BATCH", 3)
    with Store.open(place, time_.clock()) as store:
        before, key = verify.verify(store).head, new_key()
        rekey(store, key)
        with pytest.raises(ConfigError, match=f"sealed with the key {key.id}"):
            accounts.create(store, "ada", Account(id="new", role="labeler"))
        store.__dict__["key"] = key
        accounts.create(store, "ada", Account(id="new", role="labeler"))
        assert verify.verify(store, expect_head=before).head.number > before.number
        with store.engine.begin() as connection:
            connection.execute(text("UPDATE accounts SET role = 'admin' WHERE id = 'new'"))
        with pytest.raises(StoreDamaged, match="role was changed"):
            rekey(store, new_key())


def old_store(place: str) -> None:
    """A store of version 0004 with a log of three entries and an account."""
    Path(place).parent.mkdir(exist_ok=True) if "://" not in place else None
    with Store(open_engine(store_url(place))) as store, store.engine.begin() as connection:
        migrate(connection, "0004")
        connection.execute(text(
            "INSERT INTO accounts (id, role, status, skills, created_ms) VALUES ('ann', 'labeler', 'active', '[]', 1)"
        ))  # fmt: skip
        last = START
        for number in (1, 2, 3):
            entry = Entry(number, "ada", "account.create", "ann", "{}")
            last = hash_entry(last, number, entry)
            row = {"id": number, **entry._asdict(), "hash": last}
            connection.execute(text(
                "INSERT INTO audit (id, at_ms, account, action, subject, content, hash) "
                "VALUES (:id, :at_ms, :account, :action, :subject, :content, :hash)"
            ), row)  # fmt: skip
        connection.execute(text("UPDATE audit_head SET id = 3, hash = :hash"), {"hash": last})


def test_a_store_from_before_is_verified_and_then_sealed(nowhere: str, tmp_path: Path) -> None:
    old_store(nowhere)
    upgrade(nowhere, backup_to=tmp_path / "b")
    with Store.open(nowhere) as store:
        whole = verify.verify(store)
        assert whole.audit_entries == 4  # the upgrade enters the rows that were there
        for change in (
            "UPDATE accounts SET role = 'admin'", "DELETE FROM accounts", "UPDATE audit_head SET signature = NULL",
        ):  # fmt: skip
            with store.engine.connect() as connection, connection.begin() as transaction:
                connection.execute(text(change))
                with pytest.raises(StoreDamaged):
                    verify.check_all(connection, store.key)
                transaction.rollback()


def test_annotations_from_before_reasons_are_verified_and_upgraded(nowhere: str, tmp_path: Path) -> None:
    old_store(nowhere)
    columns = {
        "key": "k", "project": None, "task": None, "dialogue": "d", "turn": None, "labeler": "ann", "kind": "crowd",
        "codes": '["C1"]', "findings": "[]", "seen_verdict": False, "seconds": 1.5, "at_ms": 5, "supersedes": None,
    }  # fmt: skip
    sha256 = fingerprint(list(columns.values()))
    content = canonical_json(Dialogue(id="d", turns=()).model_dump(mode="json"))
    with Store(open_engine(store_url(nowhere))) as store, store.engine.begin() as connection:
        row = {
            "id": "d",
            "created_ms": 1,
            "content": content,
            "sha256": hashlib.sha256(content.encode()).hexdigest(),
        }
        for table, values in (("dialogues", row), ("annotations", {"id": 1, **columns, "sha256": sha256})):
            names = ", ".join(values)
            marks = ", ".join(f":{name}" for name in values)
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)
        last = connection.execute(text("SELECT hash FROM audit_head")).scalar_one()
        entry = Entry(4, "ann", "annotate", "annotation 1", canonical_json({"id": 1, "sha256": sha256}))
        last = hash_entry(last, 4, entry)
        connection.execute(text(
            "INSERT INTO audit (id, at_ms, account, action, subject, content, hash) "
            "VALUES (:id, :at_ms, :account, :action, :subject, :content, :hash)"
        ), {"id": 4, **entry._asdict(), "hash": last})  # fmt: skip
        connection.execute(text("UPDATE audit_head SET id = 4, hash = :hash"), {"hash": last})
    upgrade(nowhere, backup_to=tmp_path / "b")
    with Store.open(nowhere) as store:
        assert verify.verify(store).annotations == 1
        (answer,) = list_own(store, "ann")
        assert (answer.seconds, answer.rejections) == (1.5, ())


def test_a_store_from_before_that_is_damaged_is_not_sealed(nowhere: str, tmp_path: Path) -> None:
    old_store(nowhere)
    with Store(open_engine(store_url(nowhere))) as store:
        with store.engine.begin() as connection:
            connection.execute(text("UPDATE audit_head SET id = 4"))
        with pytest.raises(StoreDamaged, match="head does not agree"):
            upgrade(nowhere, backup_to=tmp_path / "b")
        assert store.read(read_version) == "0004"


NEXT = """
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "NEXT", "LAST", None, None

def upgrade():
    op.add_column("accounts", sa.Column("note", sa.Text, server_default="new"))
"""


@pytest.mark.parametrize("change", [
    "UPDATE accounts SET role = 'admin' WHERE id = 'ann'", "DROP INDEX tasks_dialogue", None,
])  # fmt: skip
def test_an_upgrade_covers_up_nothing(place: str, tmp_path: Path, change: str | None) -> None:
    from dialint.labeling.store.database.schema import VERSION

    (tmp_path / "next_version.py").write_text(NEXT.replace("LAST", VERSION))
    with Store(open_engine(store_url(place))) as store:
        if change is None:
            upgrade(place, backup_to=tmp_path / "b", revisions=(tmp_path,))
            verify.verify(store)
            return
        with store.engine.begin() as connection:
            connection.execute(text(change))
        with pytest.raises(StoreDamaged):
            upgrade(place, backup_to=tmp_path / "b", revisions=(tmp_path,))
        assert store.read(read_version) == VERSION


def test_the_commands_print_the_head_and_compare_it(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = StoreConfig(store=place)
    db.verify(config=here)
    head = capsys.readouterr().out.split("head: ")[1].strip()
    assert db.verify(config=here, expect_head=head) == db.backup(tmp_path / "b", config=here) == 0
    assert capsys.readouterr().out.count(f"head: {head}") == 2
    number, _, hashed = head.partition(":")
    for wrong in (f"{int(number) + 1}:{hashed}", f"{number}:{'0' * 64}"):
        with pytest.raises(StoreDamaged, match="is not in it"):
            db.verify(config=here, expect_head=wrong)
    with pytest.raises(ConfigError, match="ID:HASH"):
        db.verify(config=here, expect_head=hashed)
    assert Head.parse(head) == Head(int(number), hashed)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_store_is_verified_in_memory_that_does_not_grow(
    store: Store, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (verify, changes):
        monkeypatch.setattr(module, "BATCH", 10)
    monkeypatch.setattr("dialint.labeling.store.database.audit.BATCH", 10)
    verify.verify(store)  # compiles its statements
    peaks = []
    for start, stop in ((0, 600), (600, 1800)):  # up to 600 its buffers fill
        for first in range(start, stop, 100):
            dialogues.add(store, "lea", [made.dialogue(f"d{i}") for i in range(first, first + 100)])
        tracemalloc.start()
        verify.verify(store)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
