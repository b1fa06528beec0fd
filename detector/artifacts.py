"""Atomic writes, checksums and manifests: a file is complete or does not exist.

A file is written to a temporary one in the same folder, fsynced and renamed, and the folder is fsynced; the
manifest is written last, and readers trust nothing else. Only an `Appender` grows in place: its owner keeps a
journal of the complete part. The content of files is up to their owners.

Files have mode 0600 and folders 0700, whatever the umask: most of them contain dialogues or models trained on
them. To share an output, change its mode (``chmod -R g+rX``).

What a killed run left unfinished does not stand in the way of the next one: a file has a marker beside it
while it and its manifest are made, and what lies there with a marker is replaced; without one it is
somebody's, and refused. A new folder is made under another name.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, cast

from dialint.detector.errors import ConfigError, Message, OutputRefused, WorldError
from dialint.detector.manifests import Folder, Manifest, validate_fields

MANIFEST = "manifest.json"
"""The file that is written last into every folder of results: releases, models, data sets, backups."""
TEMPORARY_SUFFIX = ".tmp"
TEMPORARY = Message("a temporary file (TMPDIR says where)")
"""The name of temporary files in the messages of `disk_errors`."""


def create_private(path: Path | str, flags: int = os.O_WRONLY | os.O_CREAT | os.O_EXCL) -> int:
    """Return an open handle on a file that only its owner may read or write, whatever the umask; made by
    `flags` as `os.open` takes them. As an `opener` of `open`, too."""
    handle = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(handle, 0o600)
    except BaseException:
        os.close(handle)
        raise
    return handle


def make_output_folder(folder: Path, *, new: bool = False) -> None:
    """Make a folder, and its parents, that only their owner may enter; one that is there stays as it is.

    Raises:
        WorldError: it cannot be made, or is there and should be `new`.
    """
    if not new and folder.is_dir():
        return
    if not folder.parent.is_dir():
        make_output_folder(folder.parent)
    with disk_errors(folder):
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:  # somebody else made it in the meantime, or a file has the name
            if new or not folder.is_dir():
                raise


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(value: Any) -> str:
    """Hex SHA-256 of a JSON value, the same for any order of keys."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def fsync_folder(folder: Path) -> None:
    """Make renames and removals inside `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


SYSTEM_REASONS = (
    Message("No space left on device"), Message("Disk quota exceeded"), Message("Input/output error"),
    Message("Read-only file system"), Message("Permission denied"), Message("No such file or directory"),
    Message("Too many open files"),
)  # fmt: skip
"""The most frequent messages of an operating system, so that screens can translate them."""


def system_reason(error: OSError) -> Message:
    """Return why the operating system refused, in its own words."""
    return Message(error.strerror if error.strerror else str(error))


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a binary file that appears at `path`, complete and durable, or not at all.

    Raises:
        WorldError: the disk is full or failed; `path` is as it was, or complete.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
    try:
        with open(temporary, "xb", opener=create_private) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        fsync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise WorldError("E_WRITE", "{path}: {reason}", path=path, reason=system_reason(error)) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_once(path: Path, content: bytes) -> None:
    """Write a small file, complete and durable, unless there is one: of several processes the first's stays.

    Raises:
        WorldError: the disk is full or failed.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
    make_output_folder(path.parent)
    with disk_errors(path):
        try:
            with open(temporary, "xb", opener=create_private) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(temporary, path)
            except OSError:  # it is there, or the file system has no links
                if not path.exists():
                    temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        fsync_folder(path.parent)


def require_new(out: Path, marker: str = "", holds: str = "") -> None:
    """Refuse an output that is there: `out` itself, or a folder `out` with the file `marker`, which is
    written last and says that the folder `holds` a finished result.

    Raises:
        OutputRefused: E_EXISTS.
    """
    if marker and (out / marker).exists():
        raise OutputRefused(
            "E_EXISTS", "{path}: holds {what} already; name another folder", path=out, what=holds
        )
    if not marker and out.exists():
        raise OutputRefused("E_EXISTS", "{path}: exists already; name another one", path=out)


def require_new_files(*paths: Path | None) -> None:
    """Refuse outputs that are there, before the work is done; None is an output that is not requested.

    Raises:
        OutputRefused: E_EXISTS.
    """
    for path in paths:
        if path is not None:
            require_new(path)


@contextmanager
def disk_errors(path: Path | str) -> Iterator[None]:
    """Convert an operating system error about `path` to a one-line `WorldError`.

    Raises:
        WorldError: the disk is full, failed, or does not let us.
        BrokenPipeError: nobody reads any more.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WorldError("E_WRITE", "{path}: {reason}", path=path, reason=system_reason(error)) from error


class Appender:
    """A file that grows in place. After an error or a kill its end may hold part of a piece: the owner
    opens it again with `keep`, the number of bytes that are complete.

    Raises:
        WorldError: from every method, when the disk is full or failed.
    """

    def __init__(self, path: Path, keep: int) -> None:
        self.path = path
        self.size = keep
        with disk_errors(path):
            self._handle = create_private(path, os.O_RDWR | os.O_CREAT)
            os.ftruncate(self._handle, keep)
            os.lseek(self._handle, 0, os.SEEK_END)

    def write(self, piece: bytes) -> None:
        """Append `piece`, without waiting for the disk."""
        with disk_errors(self.path):
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(self._handle, rest) :]
        self.size += len(piece)

    def sync(self) -> None:
        """Write everything to the disk before returning."""
        with disk_errors(self.path):
            os.fsync(self._handle)

    def close(self) -> None:
        os.close(self._handle)


def to_json_bytes(value: Any) -> bytes:
    """Return a JSON document as it is written to files: keys in their order, two spaces, a line end."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode(errors="backslashreplace") + b"\n"


def json_line(value: Any) -> bytes:
    """Return a value as one line of JSON. Lone surrogates, as in names of files that are no UTF-8, are
    escaped."""
    return json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


def read_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file; None if there is none."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def write_json(path: Path, value: Any) -> None:
    """Write one JSON document atomically, keys in the order given."""
    with atomic_file(path) as file:
        file.write(to_json_bytes(value))


def remove_orphans(path: Path) -> int:
    """Remove temporary files that killed writers of `path` left behind. Returns their number."""
    orphans = list(path.parent.glob(f".{glob.escape(path.name)}.*{TEMPORARY_SUFFIX}"))
    for orphan in orphans:
        orphan.unlink(missing_ok=True)
    return len(orphans)


def package_versions(*packages: str) -> dict[str, str]:
    """Installed versions of `packages`, with Python's own; absent ones are left out."""
    results = {"python": sys.version.split()[0]}
    for package in packages:
        try:
            results[package] = version(package)
        except PackageNotFoundError:
            continue
    return results


def file_entry(path: Path, rows: int | None = None) -> dict[str, Any]:
    """Return a file's entry in a manifest: name, bytes, sha256, and rows where it has any."""
    entry: dict[str, Any] = {"name": path.name, "bytes": path.stat().st_size, "sha256": sha256_file(path)}
    return entry if rows is None else {**entry, "rows": rows}


def write_manifest(path: Path, content: Mapping[str, Any]) -> None:
    """Write a manifest atomically, sealed with a checksum of itself so that no bit of it may flip. The seal
    is no signature: it does not show who wrote the manifest.

    Raises:
        OutputRefused: E_MANIFEST, it lists a file that `read_manifest` would refuse.
    """
    validate_fields(content, Manifest, path)
    write_json(path, {**content, "seal": fingerprint(content)})


def read_manifest(path: Path, command: str = "", expected: Any = Manifest) -> dict[str, Any]:
    """Return a manifest's content, its seal verified; every byte counts, also those JSON does not care about.
    `command` is the command that makes what it describes, `expected` the TypedDict of its fields.

    Raises:
        OutputRefused: missing, not JSON, changed since it was written, or with fields of other types or names
            of files that are none of its folder.
    """
    try:
        if path.is_symlink():
            raise OutputRefused("E_MANIFEST", "{path}: a link; a manifest is a file", path=path)
        raw = path.read_bytes()
    except FileNotFoundError:
        problem = Message("{path}: no manifest, so the output is not complete", path=path)
        if command:
            hint = Message("`{command}` makes it", command=command)
            raise OutputRefused("E_MANIFEST", "{problem}; {hint}", problem=problem, hint=hint) from None
        raise OutputRefused(
            "E_MANIFEST", "{problem}: name another, or make it again", problem=problem
        ) from None
    except OSError as error:
        raise OutputRefused(
            "E_MANIFEST", "{path}: {reason}", path=path, reason=system_reason(error)
        ) from None
    try:
        content = json.loads(raw)
        seal = content["seal"]
        whole = raw == to_json_bytes(content)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise OutputRefused(
            "E_MANIFEST", "{path}: not a manifest, or changed since it was written", path=path
        ) from None
    del content["seal"]
    if not whole or seal != fingerprint(content):
        raise OutputRefused("E_MANIFEST", "{path}: changed since it was written", path=path)
    validate_fields(content, expected, path)
    return cast(dict[str, Any], content)


def data_fingerprint(path: Path) -> str:
    """Return the hash of a data set: of its manifest's files for a folder, of its bytes for a file.

    Raises:
        ConfigError: E_OPTION, there is no such file or folder.
        OutputRefused: the folder has no manifest.
    """
    if not path.exists():
        raise ConfigError("E_OPTION", "{path}: there is no such file or folder", path=path)
    if path.is_dir():
        files = read_manifest(path / MANIFEST, expected=Folder)["files"]
        return fingerprint([(file["name"], file["sha256"]) for file in files])
    return sha256_file(path)


def verify_files(folder: Path, entries: list[dict[str, Any]]) -> None:
    """Compare the files in `folder` with their entries in a manifest of `read_manifest`; none is a link.

    Raises:
        OutputRefused: a file is missing or its bytes differ; the message names it.
    """
    for entry in entries:
        path = folder / entry["name"]
        inside = path.relative_to(folder)
        if any((folder / part).is_symlink() for part in (inside, *inside.parents) if part.name):
            raise OutputRefused("E_CHECKSUM", "{path}: a link; only files can be vouched for", path=path)
        if not path.is_file():
            raise OutputRefused("E_CHECKSUM", "{path}: missing", path=path)
        if path.stat().st_size != entry["bytes"] or sha256_file(path) != entry["sha256"]:
            raise OutputRefused("E_CHECKSUM", "{path}: its bytes are not those of the manifest", path=path)


def verify_whole(folder: Path, entries: list[dict[str, Any]], beside: frozenset[str] = frozenset()) -> None:
    """Like `verify_files`, and nothing else is in `folder`: no link, and no file but the listed ones and, by
    their first part, those of `beside`.

    Raises:
        OutputRefused: a file is missing, its bytes differ, or it does not belong there; the message names it.
    """
    listed = {str(entry["name"]) for entry in entries}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_symlink():
            raise OutputRefused("E_CHECKSUM", "{path}: a link; only files can be vouched for", path=path)
        if not path.is_dir() and str(inside) not in listed and inside.parts[0] not in beside:
            raise OutputRefused("E_CHECKSUM", "{path}: the manifest does not name it", path=path)
    verify_files(folder, entries)


@contextmanager
def making_files(*files: Path, marker: Path | None = None) -> Iterator[bool]:
    """Make new files, the first of which gives the output its name; whether a killed run left some, which are
    removed then. Of a folder, which clears itself, only the `marker`. One process at a time.

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
            if not os.fstat(handle).st_nlink:  # the process that removed it may have a successor
                raise BlockingIOError
        except OSError:
            raise OutputRefused(
                "E_LOCKED", "{path}: another process makes this output", path=marker
            ) from None
        has_lock = True
        with disk_errors(marker):
            if is_left := os.fstat(handle).st_size > 0:
                sys.stderr.write(f"{files[0] if files else marker.parent}: replaces what a killed run left\n")
            for path in files:
                if is_left and not path.is_dir():  # a folder there is whole
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
def filling_folder(out: Path, holds: str) -> Iterator[None]:
    """Fill a folder whose manifest is written last and says that it `holds` a finished result, one process at
    a time. It is removed if it stays empty.

    Raises:
        OutputRefused: E_EXISTS, it is finished; E_LOCKED, another process fills it.
    """
    require_new(out, MANIFEST, holds)
    try:
        with making_files(marker=out / ".unfinished"):
            require_new(out, MANIFEST, holds)
            yield
    except BaseException:
        with suppress(OSError):
            out.rmdir()
        raise


@contextmanager
def making_folder(out: Path) -> Iterator[Path]:
    """Yield a folder to fill that becomes `out`, complete, in one rename; what a killed run left of it is
    replaced.

    Raises:
        OutputRefused: E_EXISTS, `out` is there; E_LOCKED, another process makes it.
    """
    part = out.with_name(f".{out.name}.making")
    with making_files(out):
        with disk_errors(out):
            if part.exists():
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
