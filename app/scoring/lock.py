"""One process at a time in a job's folder, and the folder's removal, which must not race with the next one.

The lock is the kernel's and dies with its process, however that dies. Knows nothing of jobs.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from dialint.detector.artifacts import create_private, disk_errors, fsync_folder
from dialint.detector.errors import ConfigError, OutputRefused

OF_THE_WORLD = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Why a folder cannot be made though it was named well."""


def locked(folder: Path, out: Path) -> int:
    """An open, locked handle; taken again if the folder was removed while we waited at its door.

    Raises:
        ConfigError: `out` is where nothing can be written.
        OutputRefused: another process has the lock.
        WorldError: the disk is full or failed.
    """
    path = folder / "lock"
    while True:
        with disk_errors(out):
            try:
                handle = _opened(path)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = os.read(handle, 20).decode(errors="replace").strip() or "?"
                os.close(handle)
                raise OutputRefused(
                    "E_LOCKED",
                    f"{out}: another dialint (process {pid}) is writing it; wait or stop it",
                ) from None
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                os.ftruncate(handle, 0)
                os.write(handle, f"{os.getpid()}\n".encode())
                return handle
            os.close(handle)


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        _refuse(path.parent, error)
    try:
        return create_private(path, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        raise
    except OSError as error:
        _refuse(path, error)


def _refuse(path: Path, error: OSError) -> NoReturn:
    if error.errno in OF_THE_WORLD:
        raise error
    raise ConfigError("E_OPTION", f"--out: cannot write {path}: {error.strerror or error}") from None


def remove(folder: Path) -> None:
    """Remove the job folder, its lock last."""
    with disk_errors(folder):
        for path in sorted(folder.iterdir()):
            if path.name != "lock":
                path.unlink()
        (folder / "lock").unlink()
        with suppress(OSError):  # the next process may be inside already
            folder.rmdir()
        fsync_folder(folder.parent)
