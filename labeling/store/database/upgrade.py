"""Bring a store to the newest version: a backup first, then all revisions in one transaction.

Killed at any statement, the store is the old version, whole; run again, it is done. No way back but the
backup. A store is verified before it is upgraded, and what the revisions made of its rows and its schema is
entered into the audit log after it, so that an upgrade covers up nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import text

from dialint.detector.artifacts import create_private, disk_errors, make_output_folder
from dialint.detector.errors import ConfigError
from dialint.labeling.store.database.audit import (
    BATCH,
    START,
    Entry,
    Head,
    append,
    canonical_json,
    lock_head,
    sign,
)
from dialint.labeling.store.database.backup import MANIFEST, backup
from dialint.labeling.store.database.catalog import list_objects
from dialint.labeling.store.database.changes import Changes, Replay
from dialint.labeling.store.database.engine import display_url, on_sqlite, open_engine, store_url
from dialint.labeling.store.database.keys import Key, make_key
from dialint.labeling.store.database.migrate import migrate, newest_revision
from dialint.labeling.store.database.transactions import Store, Transaction, read_version
from dialint.labeling.store.database.verify import check_log, check_schema, is_sealed

LOCK = 0x6469616C696E74
"""Key of PostgreSQL's advisory lock: one upgrade at a time."""


def upgrade(
    place: str | None = None, *, backup_to: Path | None = None, revisions: tuple[Path, ...] = ()
) -> tuple[str | None, Path | None]:
    """Make or upgrade the store at `place`; the version that was there, and the backup, if one was taken.

    A backup is taken of a store that holds an older version: into `backup_to`, else beside a SQLite file.
    `revisions` are further folders of alembic revisions.

    Raises:
        ConfigError: a PostgreSQL store with something to back up, and no `backup_to`; or a store newer
            than this code; or its key is missing.
        StoreDamaged: what is there is not what was written; nothing was changed.
        WorldError: it cannot be reached, or the disk is full.
    """
    url = store_url(place)
    if on_sqlite(url):
        _make_file(Path(str(url.database)))
    target = newest_revision(revisions)
    with Store(open_engine(url)) as store:
        before = store.read(read_version)
        if before == target:
            return before, None
        if before is not None and before > target:
            raise ConfigError(
                "E_STORE_VERSION", f"{display_url(url)}: version {before} is newer than {target}"
            )
        if on_sqlite(url):
            _close_to_others(Path(str(url.database)))
        saved = None
        if before is not None:
            saved = backup(store, backup_to or _beside(store, before))
        if not is_sealed(before):
            make_key(url)
        store.write(lambda transaction: _upgraded(transaction, revisions), repeatable=True)
        return before, saved


def _make_file(path: Path) -> None:
    """A file for its owner only, if there is none; what SQLite lays beside it gets its mode."""
    with disk_errors(path):
        make_output_folder(path.parent)
        with suppress(FileExistsError):
            os.close(create_private(path))


def _close_to_others(path: Path) -> None:
    """Take from others what an older version let them: it made files by the umask."""
    for name in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError, PermissionError):
            Path(f"{path}{name}").chmod(0o600)


def _beside(store: Store, revision: str) -> Path:
    url = store.engine.url
    if not on_sqlite(url):
        raise ConfigError("E_OPTION", "name a folder for the backup: --backup-to")
    path = Path(str(url.database))
    number = 1
    while ((folder := path.with_name(f"{path.stem}-before-{revision}-{number}")) / MANIFEST).exists():
        number += 1
    return folder


def _upgraded(transaction: Transaction, revisions: tuple[Path, ...]) -> None:
    connection, key = transaction.connection, transaction.store.key
    if not transaction.on_sqlite:
        transaction.run(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
    lock_head(connection)
    before = read_version(transaction)
    with Replay() as replay:
        if is_sealed(before):
            check_schema(connection, check_log(connection, key, replay)[2])
            migrate(connection, revisions=revisions)
        else:
            head = Head(0, START) if before is None else check_log(connection, None, replay)[0]
            migrate(connection, revisions=revisions)
            sign(connection, head, key)
        _enter(transaction, replay, key, "upgrade", version=read_version(transaction))


def rekey(store: Store, key: Key) -> None:
    """Verify the store and seal it with another key: all rows are entered into the audit log anew.

    Raises:
        StoreDamaged: what is there is not what was written; nothing was changed.
    """

    def sealed(transaction: Transaction) -> None:
        connection = transaction.connection
        lock_head(connection)
        with Replay() as replay:
            head, _, schema = check_log(connection, store.key, replay)
            check_schema(connection, schema)
            sign(connection, head, key)
            _enter(transaction, replay, key, "rekey", before=store.key.id, after=key.id)

    store.write(sealed)


def _enter(transaction: Transaction, replay: Replay, key: Key, action: str, **content: str | None) -> None:
    """Enter the schema and all rows into the audit log that are not as it has them."""

    def entered(action: str, changes: Changes, **content: Any) -> None:
        about = (transaction.now_ms, "system", action, "store", canonical_json(content))
        entry = Entry(*about, transaction.store.origin, changes.packed(key))
        append(transaction.connection, [entry], key)

    changes = Changes()
    for number, difference in enumerate(replay.differences(transaction.connection, key), start=1):
        changes.put(difference.change)
        if number % BATCH == 0:
            entered("seal", changes)
            changes = Changes()
    entered(action, changes, schema=list_objects(transaction.connection), **content)
