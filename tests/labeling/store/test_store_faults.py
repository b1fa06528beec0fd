"""Faults of real processes on real databases: F4, F10, F17, F18. `DIALINT_CLAIMS=10000` is full size; by
themselves, `DIALINT_F4_WORKERS`, `DIALINT_F10_WRITES` and `DIALINT_F18_WRITES` (a second) set the load. Each
prints the load there was: see it with `-s`.
"""

import json
import os
import random
import signal
import time
import traceback
from pathlib import Path
from typing import Any

import make
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, event, inspect, text

from dialint.app.commands.verify import verify_path
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.labeling.store import accounts, annotations, dialogues, projects, tasks
from dialint.labeling.store.database.backup import backup, restore
from dialint.labeling.store.database.changes import WORDS
from dialint.labeling.store.database.engine import open_engine, store_url
from dialint.labeling.store.database.schema import VERSION, metadata
from dialint.labeling.store.database.transactions import Store, read_version
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import Account, NewTask, Project

CLAIMS = int(os.environ.get("DIALINT_CLAIMS", "400"))
FULL = CLAIMS >= 10_000
WORKERS = {"sqlite": 16, "postgresql": 64} if FULL else {"sqlite": 4, "postgresql": 4}
F10_WRITES = float(os.environ.get("DIALINT_F10_WRITES", "200" if FULL else "60"))
F18_WRITES = float(os.environ.get("DIALINT_F18_WRITES", "50" if FULL else "25"))
LONGEST_S = 2.0 if FULL else 10.0
"""In the suite the machine may be busy with something else."""
RECONNECT_S = 10.0 if FULL else 60.0
READING = {"SELECT", "PRAGMA", "SHOW", "DECLARE", "FETCH", "CLOSE"}
"""F17 skips statements that change nothing: killed before one of them is killed before the next that does."""


def fill(store: Store, n: int) -> None:
    for name in ("p", "warm"):
        projects.create(store, "lea", Project(id=name, codes=("C1",)))
    for start in range(0, n, 1000):
        ids = [f"d{i}" for i in range(start, min(n, start + 1000))]
        dialogues.add(store, "lea", [make.dialogue(name) for name in ids])
        tasks.add(store, "lea", "p", [NewTask(dialogue=name) for name in ids])


@pytest.mark.slow
def test_f4_every_task_is_claimed_once(store: Store, place: str, drivers: Any, record_property: Any) -> None:
    usual = WORKERS["postgresql" if "://" in place else "sqlite"]
    n_workers = int(os.environ.get("DIALINT_F4_WORKERS", usual))
    fill(store, CLAIMS)
    for number in range(n_workers):
        accounts.create(store, "ada", Account(id=f"w{number}", role="labeler"))
    workers = [drivers.start("claim", place, f"w{number}", CLAIMS) for number in range(n_workers)]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n", worker.stderr.read()
    started_s = time.monotonic()
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    results = [json.loads(worker.communicate(timeout=900)[0]) for worker in workers]
    seconds = time.monotonic() - started_s
    claimed = sorted(task for result in results for task in result["tasks"])
    assert claimed == sorted(range(1, CLAIMS + 1))
    assert sum(len(result["tasks"]) > 0 for result in results) == n_workers, "somebody starved"
    longest_s = max(result["longest_s"] for result in results)
    record_property("f4", f"{n_workers} workers, {CLAIMS / seconds:.0f} claims/s, longest {longest_s:.2f} s")
    print(f"\nF4 {n_workers} workers {CLAIMS} tasks {seconds:.1f} s longest wait {longest_s:.3f} s")
    assert longest_s < LONGEST_S
    verify(store)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_f10_postgresql_killed_under_writes(
    place: str, store: Store, drivers: Any, postgres: Any, tmp_path: Path
) -> None:
    names = ("rob", "ria", "eve", "emil")
    dialogues.add(store, "lea", [make.dialogue(f"d-{name}") for name in names])
    writers = [drivers.start("write", place, name, F10_WRITES / 4, tmp_path / name) for name in names]
    for name in names:
        drivers.read_acknowledged(tmp_path / name, at_least=max(20, int(F10_WRITES / 4)))  # a second's worth
    writes = [drivers.read_acknowledged(tmp_path / name) for name in names]
    postgres.kill()
    time.sleep(1.0)
    postgres.start()
    back_s = time.monotonic()
    print(f"\nF10 {sum(map(rate, writes)):.0f} writes a second of {F10_WRITES:.0f} asked before the kill")
    before = {name: len(drivers.read_acknowledged(tmp_path / name)) for name in names}
    for name in names:
        key, at_s = drivers.read_acknowledged(tmp_path / name, at_least=before[name] + 5)[before[name]]
        assert at_s - back_s < RECONNECT_S, key
    for writer in writers:
        writer.kill()
        writer.wait()
    for name in names:
        acknowledged = {key for key, _ in drivers.read_acknowledged(tmp_path / name)}
        keys = [row.key for row in rows(store, f"SELECT key FROM annotations WHERE dialogue = 'd-{name}'")]
        assert acknowledged <= set(keys)
        assert len(keys) == len(set(keys)) <= len(acknowledged) + 1, "one was stored and not yet told"
    verify(store)


def rate(acknowledged: list[tuple[str, float]]) -> float:
    """Writes a second of one writer, from its second one on."""
    return (len(acknowledged) - 2) / (acknowledged[-1][1] - acknowledged[1][1])


def rows(store: Store, question: str) -> list[Any]:
    return store.read(lambda transaction: transaction.run(text(question)).all())


NEXT = """
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "NEXT", "LAST", None, None

def upgrade():
    op.add_column("accounts", sa.Column("note", sa.Text))
    op.create_table("extra", sa.Column("id", sa.Integer, primary_key=True))
    op.execute("UPDATE accounts SET note = 'moved'")
    op.create_index("extra_id", "extra", ["id"])
"""


def killed_before(statement: int, place: str, folder: Path) -> bool:
    """Upgrade in a process that kills itself before a statement; whether it came that far."""
    child = os.fork()
    if child == 0:
        left = statement

        def before(_connection: object, _cursor: object, sql: str, *_: object) -> None:
            nonlocal left
            left -= FULL or sql.split(maxsplit=1)[0].upper() not in READING
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(Engine, "before_cursor_execute", before)
        try:
            upgrade(place, backup_to=folder / f"backup-{statement}", revisions=(folder,))
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status != 0


@pytest.mark.slow
def test_f17_killed_at_each_statement_of_an_upgrade(place: str, store: Store, tmp_path: Path) -> None:
    (tmp_path / "next_version.py").write_text(NEXT.replace("LAST", VERSION))
    before = tables_of(store)
    statement, after_backup = 1, 0
    while killed_before(statement, place, tmp_path):
        assert (store.read(read_version), tables_of(store)) == (VERSION, before), "the old version still runs"
        verify(store)
        after_backup += (tmp_path / f"backup-{statement}" / "manifest.json").exists()
        statement += 1
    assert (tmp_path / f"backup-{statement}" / "manifest.json").exists()
    assert store.read(read_version) == "NEXT"
    assert {row.note for row in rows(store, "SELECT note FROM accounts")} == {"moved"}
    assert after_backup > 5, "it was killed among the statements of the revision, too"
    verify(store)
    with pytest.raises(ConfigError, match="version NEXT"):
        Store.open(place)


@pytest.mark.slow
def test_a_store_that_was_being_made_is_made_again(nowhere: str, tmp_path: Path) -> None:
    """Killed at some of the statements that create the tables."""
    statement = 1
    while killed_before(statement, nowhere, tmp_path):
        with Store(open_engine(store_url(nowhere))) as store:
            assert (store.read(read_version), tables_of(store)) == (None, {})
        statement += 1 if FULL else 8
    with Store.open(nowhere) as store:
        verify(store)


def tables_of(store: Store) -> dict[str, list[str]]:
    with store.engine.connect() as connection:
        inspector = inspect(connection)
        return {
            name: [column["name"] for column in inspector.get_columns(name)]
            for name in inspector.get_table_names()
        }


def test_the_migrations_make_what_the_schema_says(nowhere: str) -> None:
    def is_compared(name: str | None, kind: str, parents: Any) -> bool:
        """Not the full-text index, which SQLAlchemy cannot describe; `verify` checks its schema."""
        return (name if kind == "table" else parents.get("table_name")) not in WORDS

    assert upgrade(nowhere) == (None, None)
    assert upgrade(nowhere) == (VERSION, None)
    with Store.open(nowhere) as store, store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": is_compared})
        assert compare_metadata(context, metadata) == []
        assert verify(store).audit_entries == 1


@pytest.mark.damaged
def test_a_store_of_another_version_is_not_opened(place: str, store: Store, tmp_path: Path) -> None:
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ConfigError, match=f"version 9999, expected {VERSION}"):
        Store.open(place)
    with pytest.raises(ConfigError, match="newer"):
        upgrade(place, backup_to=tmp_path / "b")


def test_f18_backup_under_writes_then_restore(
    place: str, elsewhere: str, store: Store, drivers: Any, tmp_path: Path
) -> None:
    dialogues.add(store, "lea", [make.dialogue("d-rob")])
    writer = drivers.start("write", place, "rob", F18_WRITES, tmp_path / "told")
    drivers.read_acknowledged(tmp_path / "told", at_least=20)
    before = {key for key, _ in drivers.read_acknowledged(tmp_path / "told")}
    folder = backup(store, tmp_path / "backup")
    drivers.read_acknowledged(tmp_path / "told", at_least=len(before) + 3)
    writer.kill()
    writer.wait()
    print(
        f"\nF18 {rate(drivers.read_acknowledged(tmp_path / 'told')):.0f} writes a second of {F18_WRITES:.0f} asked"
    )
    restore(folder, elsewhere)
    with Store.open(elsewhere) as restored:
        verify(restored)
        keys = [one.key for one in rows(restored, "SELECT key FROM annotations ORDER BY id")]
        assert keys == [f"rob-{number}" for number in range(len(keys))], "no hole"
        assert before <= set(keys), "acknowledged before the backup began"
        saved = annotations.review(restored, "ria", "d-rob", "next", ["C1"], expected=len(keys))
        assert int(saved.id) == len(keys) + 1
    with pytest.raises(ConfigError, match="restored into nothing"):
        restore(folder, elsewhere)


def test_f19_one_bit_of_a_backup_is_found(place: str, elsewhere: str, store: Store, tmp_path: Path) -> None:
    folder = backup(store, tmp_path / "backup")
    paths = sorted(path for path in folder.iterdir() if path.stat().st_size)
    places = random.Random(1)
    for _ in range(100):
        path = places.choice(paths)
        whole = path.read_bytes()
        at = places.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << places.randrange(8)]) + whole[at + 1 :])
        with pytest.raises(OutputRefused):
            restore(folder, elsewhere)
        path.write_bytes(whole)
    restore(folder, elsewhere)


def test_what_a_killed_backup_left_is_no_hindrance_but_anything_else_is(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    folder.mkdir()
    name = "store.sqlite" if "sqlite" in store.engine.name else ".audit.copy.77ab.tmp"
    (folder / name).write_text("half")
    backup(store, folder)
    assert verify_path(folder) > 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("half")
    for target in (folder, tmp_path / "mine"):
        with pytest.raises(OutputRefused, match="not empty"):
            backup(store, target)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_backup_of_the_other_database_is_refused(store: Store, tmp_path: Path) -> None:
    folder = backup(store, tmp_path / "backup")
    with pytest.raises(ConfigError, match="a backup of postgresql"):
        restore(folder, str(tmp_path / "new.sqlite"))


def test_store_and_backups_are_for_their_owner_only(nowhere: str, tmp_path: Path) -> None:
    """Also what SQLite lays beside its file, whatever the umask."""
    before = os.umask(0)
    saved = tmp_path / "backups" / "one"
    try:
        upgrade(nowhere)
        with Store.open(nowhere) as store:
            accounts.create_first(store, "ada", "correct horse battery")
            seen = {path.name for path in tmp_path.rglob("*") if path.is_file()}
            backup(store, saved)
            modes = {path: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    finally:
        os.umask(before)
    assert "://" in nowhere or {"store.sqlite", "store.sqlite-wal", "store.sqlite-shm"} <= seen
    assert saved / "manifest.json" in modes
    assert {path: mode for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}
