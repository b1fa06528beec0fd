"""Backups: a folder with the whole store as of one moment, its manifest written last.

SQLite is copied by its online backup, which does not block writers; PostgreSQL by COPY of every table in one
snapshot, which needs no pg_dump of a matching version. The store's key is not included. A backup is restored
into an empty store only, after every byte of it was verified.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from sqlalchemy import Connection, MetaData, Table, func, inspect, select, text

from dialint.detector.artifacts import (
    MANIFEST,
    atomic_file,
    create_private,
    disk_errors,
    file_entry,
    fsync_folder,
    make_output_folder,
    making_files,
    package_versions,
    read_manifest,
    remove_orphans,
    verify_files,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused, WorldError
from dialint.detector.manifests import Count, Folder
from dialint.labeling.store.database.audit import Head, find_key
from dialint.labeling.store.database.engine import display_url, on_sqlite, open_engine, store_url
from dialint.labeling.store.database.transactions import Store

if TYPE_CHECKING:
    from psycopg import Copy, Cursor

KIND = "store backup"
MARKER = ".unfinished"
SQLITE_COPY = "store.sqlite"
TABLE_COPY = ".copy"
CHUNK = 1 << 20
_COPIES = r"store\.sqlite(-journal|-wal|-shm)?|[a-z_]+\.copy"
_BACKUP_FILE = re.compile(rf"\A\.?({_COPIES}|manifest\.json)(\.[0-9a-f]+\.tmp)?")
_VERSION, _HEAD = "SELECT version_num FROM alembic_version", "SELECT * FROM audit_head"


class Backup(Folder):
    """The manifest of a backup."""

    database: Literal["sqlite", "postgresql"]
    store_version: str
    audit_entries: Count
    audit_head: str
    key: str | None


def backup(store: Store, folder: Path) -> Path:
    """Copy the store into `folder`, which must not hold a backup, and return `folder`.

    The backup has everything that was committed before the call; writers are not blocked.

    Raises:
        OutputRefused: the folder holds something.
        WorldError: the disk is full or failed, or the store cannot be reached.
    """
    with making_files(marker=folder / MARKER) as is_left:
        with disk_errors(folder):
            _clear_folder(folder, is_left=is_left)
        started_s = time.monotonic()
        is_file = on_sqlite(store.engine.url)
        content = _copy_file(store, folder) if is_file else _copy_tables(store, folder)
        with disk_errors(folder):
            fsync_folder(folder)
        manifest = {
            "kind": KIND,
            "database": "sqlite" if is_file else "postgresql",
            **content,
            "versions": package_versions("dialint", "SQLAlchemy", "alembic"),
            "seconds": round(time.monotonic() - started_s, 3),
        }
        write_manifest(folder / MANIFEST, manifest)
    return folder


def read_head(folder: Path) -> Head:
    """The head of the audit log in a backup."""
    manifest = read_manifest(folder / MANIFEST, "dialint db backup", Backup)
    return Head(manifest["audit_entries"], manifest["audit_head"])


def _clear_folder(folder: Path, *, is_left: bool) -> None:
    """Delete what an interrupted backup left, with `is_left` a whole one, too; raise if the folder holds
    anything else."""
    existing = [path for path in folder.iterdir() if path.name != MARKER]
    others = [path for path in existing if not _BACKUP_FILE.fullmatch(path.name)]
    if others or (folder / MANIFEST in existing and not is_left):
        raise OutputRefused("E_BACKUP", f"{folder}: not empty; a backup needs a folder of its own")
    for path in existing:
        path.unlink()


def restore(folder: Path, location: str | None = None) -> None:
    """Restore a backup into the empty store at `location`, of the same kind of database; verify it
    afterwards.

    An older version is restored as it is: `upgrade` comes next.

    Raises:
        OutputRefused: the backup is incomplete or damaged.
        ConfigError: the store is not empty, or of the other database; or the key is missing or another one.
        WorldError: the disk is full or failed, or the database cannot be reached.
    """
    manifest = read_manifest(folder / MANIFEST, "dialint db backup", Backup)
    if manifest.get("kind") != KIND:
        raise OutputRefused("E_BACKUP", f"{folder}: not a backup of a store")
    verify_files(folder, manifest["files"])
    url = store_url(location)
    if on_sqlite(url) != (manifest["database"] == "sqlite"):
        raise ConfigError(
            "E_RESTORE", f"{folder}: a backup of {manifest['database']}, not for {display_url(url)}"
        )
    if (key := manifest.get("key")) and key != find_key(url).id:
        raise ConfigError("E_STORE_KEY", f"{folder}: sealed with the key {key}, another one than is set")
    if on_sqlite(url):
        path = Path(str(url.database))
        if path.exists():
            raise ConfigError("E_RESTORE", f"{path}: exists; a backup is restored into nothing")
        make_output_folder(path.parent)
        remove_orphans(path)
        with open(folder / SQLITE_COPY, "rb") as source, atomic_file(path) as target:
            shutil.copyfileobj(source, target, CHUNK)
        return
    with Store(open_engine(url)) as store:
        if store.read(lambda transaction: inspect(transaction.connection).get_table_names()):
            raise ConfigError(
                "E_RESTORE", f"{display_url(url)}: not empty; a backup is restored into nothing"
            )
        _restore_tables(store, folder, manifest)


def _copy_file(store: Store, folder: Path) -> dict[str, Any]:
    path = folder / SQLITE_COPY
    with disk_errors(path):
        os.close(create_private(path))  # SQLite's journal files inherit the mode
    with disk_errors(path), closing(sqlite3.connect(str(store.engine.url.database))) as source:
        source.execute("PRAGMA busy_timeout = 10000")
        with closing(sqlite3.connect(path)) as target:
            try:
                source.backup(target)  # all pages in one step: one snapshot that writers do not restart
                target.execute("PRAGMA journal_mode = DELETE")  # one file, no log beside it
                target.row_factory = sqlite3.Row
                version, head = (dict(target.execute(query).fetchone()) for query in (_VERSION, _HEAD))
            except sqlite3.Error as error:
                raise WorldError("E_BACKUP", f"{path}: {error}") from error
        with open(path, "rb") as file:
            os.fsync(file.fileno())
    return {**_manifest_fields(version, head), "files": [file_entry(path)]}


def _manifest_fields(version: dict[str, Any], head: dict[str, Any]) -> dict[str, Any]:
    return {
        "store_version": version["version_num"],
        "audit_entries": head["id"],
        "audit_head": head["hash"],
        "key": head.get("key"),
    }


def _copy_tables(store: Store, folder: Path) -> dict[str, Any]:
    with store.engine.connect() as plain:
        connection = plain.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            version, head = (
                dict(connection.execute(text(query)).one()._mapping) for query in (_VERSION, _HEAD)
            )
            files = []
            for table in _tables(connection):
                rows = connection.execute(select(func.count()).select_from(table)).scalar_one()
                path, command = folder / f"{table.name}{TABLE_COPY}", f"COPY {_with_columns(table)} TO STDOUT"
                with atomic_file(path) as file, _open_copy(connection, command) as copy:
                    for block in copy:
                        file.write(block)
                files.append(file_entry(path, rows))
    return {**_manifest_fields(version, head), "files": files}


def _tables(connection: Connection) -> list[Table]:
    """Reflect the tables, which differ from `schema` in an older store; parents first."""
    metadata = MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name != "alembic_version"]


def _with_columns(table: Table) -> str:
    columns = ", ".join(f'"{column.name}"' for column in table.columns)
    return f"{table.name} ({columns})"


@contextmanager
def _open_copy(connection: Connection, command: str) -> Iterator[Copy]:
    cursor = cast("Cursor", connection.connection.cursor())
    with cursor, cursor.copy(command) as copy:
        yield copy


def _restore_tables(store: Store, folder: Path, manifest: dict[str, Any]) -> None:
    from dialint.labeling.store.database.migrations import migrate

    with store.engine.begin() as connection:
        migrate(connection, manifest["store_version"])
        connection.execute(text("DELETE FROM audit_head"))
        for table in _tables(connection):
            path, command = folder / f"{table.name}{TABLE_COPY}", f"COPY {_with_columns(table)} FROM STDIN"
            with open(path, "rb") as file, _open_copy(connection, command) as copy:
                while block := file.read(CHUNK):
                    copy.write(block)
            if table.autoincrement_column is not None:
                sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
                next_id = f"SELECT coalesce(max(id), 0) + 1 FROM {table.name}"
                connection.execute(text(f"SELECT setval({sequence}, ({next_id}), false)"))
