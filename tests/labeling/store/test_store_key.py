"""The key that a store is sealed with: where it is, who may read it, what happens without it, and stores from
before there was one; and `dialint db`, as a person types it."""

import os
import re
import stat
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import make
import pytest
from sqlalchemy import text

from dialint.app.commands import db
from dialint.app.commands.verify import verify_path
from dialint.app.store_session import StoreConfig
from dialint.detector.errors import ConfigError, DialintError
from dialint.labeling.store import accounts, dialogues
from dialint.labeling.store.database import changes, verify
from dialint.labeling.store.database.audit import (
    FILE_VARIABLE,
    SUFFIX,
    VARIABLE,
    StoreKey,
    new_key,
    write_key,
)
from dialint.labeling.store.database.backup import backup, restore
from dialint.labeling.store.database.engine import open_engine, store_url
from dialint.labeling.store.database.schema import VERSION
from dialint.labeling.store.database.transactions import Store, read_version
from dialint.labeling.store.database.upgrade import rekey, upgrade
from dialint.labeling.store.records import Account, StoreDamaged


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
    write_key(path, StoreKey(bytes.fromhex(os.environ[VARIABLE])))
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
    with Store.open(place, time_.clock) as store:
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


NEXT = """
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "NEXT", "LAST", None, None

def upgrade():
    op.add_column("accounts", sa.Column("note", sa.Text, server_default="new"))
"""


@pytest.mark.parametrize(
    "change", ["UPDATE accounts SET role = 'admin' WHERE id = 'ann'", "DROP INDEX tasks_dialogue", None]
)
def test_an_upgrade_covers_up_nothing(place: str, tmp_path: Path, change: str | None) -> None:
    (tmp_path / "next_version.py").write_text(NEXT.replace("LAST", VERSION))
    with Store(open_engine(store_url(place))) as store:
        if change is not None:
            with store.engine.begin() as connection:
                connection.execute(text(change))
        with pytest.raises(StoreDamaged) if change else nullcontext():
            upgrade(place, backup_to=tmp_path / "b", revisions=(tmp_path,))
        assert store.read(read_version) == (VERSION if change else "NEXT")
        if change is None:
            verify.verify(store)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_store_is_verified_in_memory_that_does_not_grow(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (verify, changes):
        monkeypatch.setattr(module, "BATCH", 10)
    monkeypatch.setattr("dialint.labeling.store.database.audit.BATCH", 10)
    verify.verify(store)  # compiles its statements
    peaks = []
    for start, stop in ((0, 600), (600, 1800)):  # up to 600 its buffers fill
        for first in range(start, stop, 100):
            dialogues.add(store, "lea", [make.dialogue(f"d{i}") for i in range(first, first + 100)])
        tracemalloc.start()
        verify.verify(store)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_the_commands_make_verify_back_up_restore_and_compare_heads(
    nowhere: str, tmp_path: Path, request: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    here = StoreConfig(store=nowhere)
    with pytest.raises(ConfigError, match="dialint db upgrade"):
        db.verify(config=here)
    assert db.upgrade(config=here) == db.verify(config=here) == db.backup(tmp_path / "b", config=here) == 0
    lines = capsys.readouterr().out.splitlines()
    head = lines[-1]
    assert re.fullmatch("head: 1:[0-9a-f]{64}", head)
    assert lines == [
        f"the store was made, is at version {VERSION} now",
        "whole: 1 audit entries, 0 annotations, 0 dialogues, 0 verdicts",
        head,
        f"backup: {tmp_path / 'b'}",
        head,
    ]
    with pytest.raises(ConfigError, match="E_RESTORE"):
        db.restore(tmp_path / "b", config=here)
    new = str(tmp_path / "new.sqlite")
    if "://" in nowhere:
        new = request.getfixturevalue("postgres").new()
    assert db.restore(tmp_path / "b", config=StoreConfig(store=new)) == 0
    assert db.verify(config=StoreConfig(store=new)) == 0
    assert verify_path(tmp_path / "b") == len(list((tmp_path / "b").iterdir())) - 1
    head = head.removeprefix("head: ")
    assert db.verify(config=here, expect_head=head) == 0
    number, _, hashed = head.partition(":")
    for wrong in (f"{int(number) + 1}:{hashed}", f"{number}:{'0' * 64}"):
        with pytest.raises(StoreDamaged, match="is not in it"):
            db.verify(config=here, expect_head=wrong)
    with pytest.raises(ConfigError, match="ID:HASH"):
        db.verify(config=here, expect_head=hashed)


@pytest.mark.parametrize(
    "place", ["mysql://u:secret@h/d", "postgresql://", "://", "postgresql://u:secret@127.0.0.1:1/x"]
)
def test_a_place_that_cannot_be(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialint.labeling.store.database.transactions.PATIENCE_S", 0.0)
    with pytest.raises(DialintError) as refused:
        Store.open(place)
    assert "secret" not in str(refused.value)
