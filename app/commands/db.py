"""``dialint db upgrade|verify|backup|restore|rekey|erase``: maintenance of the label store, for the database
owner; erasing for an admin."""

from __future__ import annotations

from pathlib import Path

from dialint.app.output import print_line
from dialint.app.store_session import DEFAULT_SESSION, DEFAULT_STORE, Session, StoreOption


def upgrade(*, config: StoreOption = DEFAULT_STORE, backup_to: Path | None = None) -> int:
    """Create the label store, or migrate it to this version; an existing store is backed up first.

    Parameters
    ----------
    backup_to
        Folder for the backup; without it a new one beside a SQLite file. PostgreSQL needs it.
    """
    from dialint.labeling.store import api

    before, backup_folder = api.upgrade(config.store, backup_to=backup_to)
    if backup_folder is not None:
        print_line(f"backup: {backup_folder}")
    if before == api.VERSION:
        print_line(f"the store is at version {api.VERSION} already")
    else:
        earlier = "made" if before is None else f"at {before}"
        print_line(f"the store was {earlier}, is at version {api.VERSION} now")
    return 0


def verify(*, config: StoreOption = DEFAULT_STORE, expect_head: str | None = None) -> int:
    """Check that nothing in the store was tampered with, and print the head of the audit log.

    Parameters
    ----------
    expect_head
        A head that was printed before and kept elsewhere, as ID:HASH. An older copy of the store, or one
        whose newest entries were cut off, does not hold it.
    """
    from dialint.labeling.store import api

    expected = None if expect_head is None else api.Head.parse(expect_head)
    with api.Store.open(config.store, interface="command line") as store:
        summary = api.verify(store, expected)
    print_line(
        f"whole: {summary.audit_entries} audit entries, {summary.annotations} annotations, "
        f"{summary.dialogues} dialogues, {summary.verdicts} verdicts"
    )
    print_line(f"head: {summary.head}")
    return 0


def backup(folder: Path, *, config: StoreOption = DEFAULT_STORE) -> int:
    """Copy the store while work goes on, without its key, and print the head of the audit log in the copy.

    Parameters
    ----------
    folder
        Where the backup goes: a folder that is empty or not there yet.
    """
    from dialint.labeling.store import api

    with api.Store.open(config.store, interface="command line") as store:
        print_line(f"backup: {api.backup(store, folder)}")
    print_line(f"head: {api.read_head(folder)}")
    return 0


def restore(folder: Path, *, config: StoreOption = DEFAULT_STORE) -> int:
    """Put a backup into an empty store, and verify it. It needs the key of the store it is of.

    Parameters
    ----------
    folder
        The backup, as dialint db backup wrote it.
    """
    from dialint.labeling.store import api

    api.restore(folder, config.store)
    api.upgrade(config.store, backup_to=folder.with_name(f"{folder.name}-restored"))
    with api.Store.open(config.store, interface="command line") as store:
        head = api.verify(store).head
    print_line(f"restored and verified: {folder}")
    print_line(f"head: {head}")
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
    from dialint.labeling.store import api

    with api.Store.open(config.store, interface="command line") as store:
        api.write_key(new_key, api.new_key())
        key = api.read_key(new_key)
        api.rekey(store, key)
    print_line(f"sealed with the key {key.id}, which is in {new_key}")
    return 0


def erase(
    *dialogues: str,
    reason: str,
    proof: Path,
    rewrite: bool = True,
    dry_run: bool = False,
    session: Session = DEFAULT_SESSION,
) -> int:
    """Delete dialogues everywhere in the store, for good, and write the proof. Needs the rights of an admin.

    What a roll-out on this machine scored aside goes, too. Backups, exported files and folders of scored logs
    are outside of the store: the proof says so.

    Parameters
    ----------
    dialogues
        Ids of up to 1,000 dialogues.
    reason
        Why; kept in the audit log, so name a ticket and not the customer.
    proof
        File for the proof (.json); must not exist.
    rewrite
        Rewrite the database's files, in which bytes of deleted rows would remain.
    dry_run
        Only show what would be deleted.
    """
    from dialint.app.output import print_table
    from dialint.detector.artifacts import atomic_file, require_new_files
    from dialint.labeling.store import erasure

    require_new_files(proof)
    with session.open() as (store, actor):
        if dry_run:
            counts = erasure.preview(store, actor, dialogues)
        else:
            erased = erasure.erase(store, actor, dialogues, reason)
            with atomic_file(proof) as file:
                file.write(erased.model_dump_json(indent=2).encode())
            counts = erased.counts
            if rewrite:
                erased = erased.model_copy(update={"scrubbed": erasure.scrub(store, actor)})
                with atomic_file(proof) as file:
                    file.write(erased.model_dump_json(indent=2).encode())
    print_table(("table", "rows"), ((name, f"{n:,}") for name, n in counts.items()))
    if dry_run:
        print_line("nothing was deleted (dry run)")
    else:
        print_line(f"erased; the proof is in {proof}, its head: {erased.head}")
    return 0
