"""``dialint db upgrade|verify|backup|restore|rekey``: maintenance of the label store, for the database
owner."""

from __future__ import annotations

from pathlib import Path

from dialint.app.output import print_line
from dialint.app.store_session import DEFAULT_STORE, StoreOption


def upgrade(*, config: StoreOption = DEFAULT_STORE, backup_to: Path | None = None) -> int:
    """Create the label store, or migrate it to this version; an existing store is backed up first.

    Parameters
    ----------
    backup_to
        Folder for the backup; without it a new one beside a SQLite file. PostgreSQL needs it.
    """
    from dialint.labeling.store.database.schema import VERSION
    from dialint.labeling.store.database.upgrade import upgrade as upgrade_store

    before, saved = upgrade_store(config.store, backup_to=backup_to)
    if saved is not None:
        print_line(f"backup: {saved}")
    if before == VERSION:
        print_line(f"the store is at version {VERSION} already")
    else:
        print_line(
            f"the store was {'made' if before is None else f'at {before}'}, is at version {VERSION} now"
        )
    return 0


def verify(*, config: StoreOption = DEFAULT_STORE, expect_head: str | None = None) -> int:
    """Check that nothing in the store was tampered with, and print the head of the audit log.

    Parameters
    ----------
    expect_head
        A head that was printed before and kept elsewhere, as ID:HASH. An older copy of the store, or one
        whose newest entries were cut off, does not hold it.
    """
    from dialint.labeling.store.database.audit import Head
    from dialint.labeling.store.database.transactions import Store
    from dialint.labeling.store.database.verify import verify as verify_store

    expected = None if expect_head is None else Head.parse(expect_head)
    with Store.open(config.store, interface="command line") as store:
        whole = verify_store(store, expected)
    print_line(
        f"whole: {whole.audit_entries} audit entries, {whole.annotations} annotations, "
        f"{whole.dialogues} dialogues, {whole.verdicts} verdicts"
    )
    print_line(f"head: {whole.head}")
    return 0


def backup(folder: Path, *, config: StoreOption = DEFAULT_STORE) -> int:
    """Copy the store while work goes on, without its key, and print the head of the audit log in the copy.

    Parameters
    ----------
    folder
        Where the backup goes: a folder that is empty or not there yet.
    """
    from dialint.labeling.store.database.backup import backup as back_up
    from dialint.labeling.store.database.backup import read_head
    from dialint.labeling.store.database.transactions import Store

    with Store.open(config.store, interface="command line") as store:
        print_line(f"backup: {back_up(store, folder)}")
    print_line(f"head: {read_head(folder)}")
    return 0


def restore(folder: Path, *, config: StoreOption = DEFAULT_STORE) -> int:
    """Put a backup into an empty store, and verify it. It needs the key of the store it is of.

    Parameters
    ----------
    folder
        The backup, as dialint db backup wrote it.
    """
    from dialint.labeling.store.database.backup import restore as put_back
    from dialint.labeling.store.database.transactions import Store
    from dialint.labeling.store.database.upgrade import upgrade as upgrade_store
    from dialint.labeling.store.database.verify import verify as verify_store

    put_back(folder, config.store)
    upgrade_store(config.store, backup_to=folder.with_name(f"{folder.name}-restored"))
    with Store.open(config.store, interface="command line") as store:
        whole = verify_store(store)
    print_line(f"restored and verified: {folder}")
    print_line(f"head: {whole.head}")
    return 0


def rekey(new_key: Path, *, config: StoreOption = DEFAULT_STORE) -> int:
    """Verify the store and seal it with another key. Stop all consoles and commands on it before, and give
    them the new key after.

    Parameters
    ----------
    new_key
        A file with the new key; where there is none, it is made. Put it where the old one was, or set
        DIALINT_STORE_KEY_FILE to it.
    """
    from dialint.labeling.store.database.keys import new_key as generate_key
    from dialint.labeling.store.database.keys import read_key, write_key
    from dialint.labeling.store.database.transactions import Store
    from dialint.labeling.store.database.upgrade import rekey as rekey_store

    with Store.open(config.store, interface="command line") as store:
        write_key(new_key, generate_key())
        key = read_key(new_key)
        rekey_store(store, key)
    print_line(f"sealed with the key {key.id}, which is in {new_key}")
    return 0
