"""Outputs that a killed run left unfinished do not stand in the way of the next one.

A file has a marker beside it while it and its manifest are made: what lies there with a marker is a killed
run's, and is replaced; without one it is somebody's, and refused. A new folder is made under another name.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dialint.detector.artifacts import (
    create_private,
    disk_errors,
    fsync_folder,
    make_output_folder,
    remove_orphans,
    require_new,
)
from dialint.detector.errors import OutputRefused


@contextmanager
def making_files(*files: Path, marker: Path | None = None) -> Iterator[bool]:
    """Make new files, the first of which gives the output its name; whether a killed run left some, which are
    removed then. Of a folder, which clears itself, only the `marker`.

    Raises:
        OutputRefused: E_EXISTS, one is there and finished; E_LOCKED, another process makes them.
    """
    marker = marker or files[0].with_name(f".{files[0].name}.unfinished")
    with disk_errors(marker):
        make_output_folder(marker.parent)
        handle = create_private(marker, os.O_RDWR | os.O_CREAT)
    has_lock = is_left = is_started = is_done = False
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputRefused("E_LOCKED", f"{marker}: another process makes this output") from None
        has_lock = True
        with disk_errors(marker):
            if is_left := os.fstat(handle).st_size > 0:
                sys.stderr.write(f"{files[0] if files else marker.parent}: replaces what a killed run left\n")
            for path in files:
                if is_left:
                    path.unlink(missing_ok=True)
                    remove_orphans(path)
                require_new(path)
            os.write(handle, b"1")
            fsync_folder(marker.parent)
        is_started = True
        yield is_left
        is_done = True
    finally:
        is_unfinished = (is_left or is_started) and any(path.exists() for path in files)
        if has_lock and (is_done or not is_unfinished):
            marker.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def making_folder(out: Path) -> Iterator[Path]:
    """Yield a folder to fill that becomes `out`, complete, in one rename; what a killed run left of it is
    replaced.

    Raises:
        OutputRefused: E_EXISTS, `out` is there.
    """
    require_new(out)
    part = out.with_name(f".{out.name}.making")
    with disk_errors(out):
        if part.exists():
            sys.stderr.write(f"{out}: replaces what a killed run left\n")
            shutil.rmtree(part)
        make_output_folder(part, new=True)
    try:
        yield part
        with disk_errors(out):
            part.rename(out)
            fsync_folder(out.parent)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
