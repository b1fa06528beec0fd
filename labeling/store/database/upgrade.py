"""Upgrades a store to the newest version: a backup first, then all revisions in one transaction.

If it is interrupted at any statement, the store keeps the old version, and the upgrade can be repeated. The
only downgrade is the backup. A store is verified before it is upgraded, and the changes that the revisions
made to its rows and schema are recorded in the audit log afterwards, so that an upgrade hides no
manipulation.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import text

from dialint.detector.artifacts import MANIFEST, create_private, disk_errors, make_output_folder
from dialint.detector.errors import ConfigError
from dialint.labeling.store.database.audit import (
    BATCH,
    START,
    AuditEntry,
    Head,
    StoreKey,
    append,
    canonical_json,
    lock_head,
    make_key,
    sign,
)
from dialint.labeling.store.database.backup import backup
from dialint.labeling.store.database.changes import Changes, Replay, list_objects
from dialint.labeling.store.database.derived import rebuild
from dialint.labeling.store.database.engine import display_url, on_sqlite, open_engine, store_url
from dialint.labeling.store.database.migrations import migrate, newest_revision
from dialint.labeling.store.database.transactions import Store, Transaction, read_version
from dialint.labeling.store.database.verify import check_log, check_schema

LOCK = 0x6469616C696E74
"""Key of PostgreSQL's advisory lock: one upgrade at a time."""


def upgrade(
    location: str | None = None, *, backup_to: Path | None = None, revisions: tuple[Path, ...] = ()
) -> tuple[str | None, Path | None]:
    """Create or upgrade the store at `location`; return the previous version and the backup, or none.

    A store of an older version is backed up: into `backup_to`, else beside a SQLite file. `revisions` are
    further folders of alembic revisions.

    Raises:
        ConfigError: a PostgreSQL store with something to back up, and no `backup_to`; or a store newer
            than this code; or its key is missing.
        StoreDamaged: the store was manipulated or is damaged; nothing was changed.
        WorldError: it cannot be reached, or the disk is full.
    """
    url = store_url(location)
    if on_sqlite(url):  # SQLite's journal files inherit the mode of the file, 0600
        path = Path(str(url.database))
        with disk_errors(path):
            make_output_folder(path.parent)
            with suppress(FileExistsError):
                os.close(create_private(path))
    target = newest_revision(revisions)
    with Store(open_engine(url)) as store:
        before = store.read(read_version)
        if before == target:
            return before, None
        if before is not None and before > target:
            raise ConfigError(
                "E_STORE_VERSION", f"{display_url(url)}: version {before} is newer than {target}"
            )
        backup_folder = None
        if before is not None:
            backup_folder = backup(store, backup_to or _backup_path(store, before))
        else:
            make_key(url)
        store.write(lambda transaction: _upgrade(transaction, revisions), repeatable=True)
        return before, backup_folder


def _backup_path(store: Store, revision: str) -> Path:
    url = store.engine.url
    if not on_sqlite(url):
        raise ConfigError("E_OPTION", "name a folder for the backup: --backup-to")
    path = Path(str(url.database))
    number = 1
    while ((folder := path.with_name(f"{path.stem}-before-{revision}-{number}")) / MANIFEST).exists():
        number += 1
    return folder


def _upgrade(transaction: Transaction, revisions: tuple[Path, ...]) -> None:
    connection, key = transaction.connection, transaction.store.key
    if not transaction.on_sqlite:
        transaction.run(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
    lock_head(connection)
    before = read_version(transaction)
    with Replay() as replay:
        if before is not None:
            check_schema(connection, check_log(connection, key, replay)[1])
        migrate(connection, revisions=revisions)
        if before is None:
            sign(connection, Head(0, START), key, is_first=True)
        rebuild(connection)
        _record_rows(transaction, replay, key, "upgrade", version=read_version(transaction))


def rekey(store: Store, key: StoreKey) -> None:
    """Verify the store and seal it with another key, by recording all rows in the audit log again.

    Raises:
        StoreDamaged: the store was manipulated or is damaged; nothing was changed.
    """

    def seal(transaction: Transaction) -> None:
        connection = transaction.connection
        lock_head(connection)
        with Replay() as replay:
            head, schema = check_log(connection, store.key, replay)
            check_schema(connection, schema)
            sign(connection, head, key)
            _record_rows(transaction, replay, key, "rekey", before=store.key.id, after=key.id)

    store.write(seal)


def _record_rows(
    transaction: Transaction, replay: Replay, key: StoreKey, action: str, **content: str | None
) -> None:
    """Record the schema, and all rows that differ from the audit log, in the audit log."""

    def add_entry(action: str, changes: Changes, **content: Any) -> None:
        fields = (transaction.now_ms, "system", action, "store", canonical_json(content))
        entry = AuditEntry(*fields, transaction.store.origin, changes.pack(key))
        append(transaction.connection, [entry], key)

    changes = Changes()
    for number, difference in enumerate(replay.differences(transaction.connection, key), start=1):
        changes.put(difference.change)
        if number % BATCH == 0:
            add_entry("seal", changes)
            changes = Changes()
    add_entry(action, changes, schema=list_objects(transaction.connection), **content)
