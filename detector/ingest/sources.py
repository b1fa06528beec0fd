"""Resolves the user's arguments to log files: paths, patterns, folders, archives, objects (``s3://``),
standard input; refuses unsafe paths.

Opens only standard input and objects (both spooled to temporary files without a name) and reads no content:
that is `streams`. The signature taken here reveals a file that changes while it is read.
"""

from __future__ import annotations

import codecs
import glob
import json
import os
import shutil
import stat
import sys
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from dialint.detector.artifacts import TEMPORARY, disk_errors, system_reason
from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.archives import LOGS, archive_kind, is_beside, is_log, open_archive
from dialint.detector.ingest.object_store import copy_object, is_object, list_objects
from dialint.detector.ingest.outcomes import file_error

DESCRIPTORS = Path("/proc/self/fd")
"""The folder in which Linux lists a process's open files, also those without a name."""
Signature = tuple[int, int, int, int]
JSON_LINES = (".jsonl", ".ndjson")
TAIL_BYTES = 1 << 16


@dataclass(eq=False)
class Position:
    """The number of bytes of a file on disk that its reader has consumed."""

    at: int = 0


@dataclass(frozen=True)
class Source:
    """One log file. `name` is as the user wrote it, `size` in bytes. `label` is its shortest unique name of
    at least `depth` parts, those below the folder, pattern or archive that was named, so that no log that is
    added there changes it; without a compression ending unless two logs differ only by that. Records without
    an id are named after it. `beside` names the files of its folder or archive that are no logs, if it is the
    first log there;
    `is_member`: others stand there too. `grows`: somebody may append to it; no more than `size` is read."""

    name: str
    path: Path
    size: int
    signature: Signature
    label: str = ""
    depth: int = 0
    beside: tuple[str, ...] = ()
    is_member: bool = False
    grows: bool = False
    position: Position = field(default_factory=Position, repr=False, compare=False)

    def check_unchanged(self) -> None:
        """Raises:
        InputRefused: E_CHANGED, the file is not the one that was opened first.
        """
        try:
            now = _signature(self.path.stat())
        except OSError:
            raise file_error("E_CHANGED", self.name, "the file went away while it was read") from None
        is_longer = now[:2] == self.signature[:2] and now[2] >= self.size
        if now != self.signature and not (self.grows and is_longer):
            raise file_error("E_CHANGED", self.name, "the file changed while it was read; run the job again")


def open_logs(patterns: Sequence[str], *, growing: bool = False) -> list[Source]:
    """Resolves `patterns` to files, in order: globs expanded and sorted, ``-`` for standard input,
    ``s3://BUCKET/KEY`` for objects, ``s3://BUCKET/PREFIX/`` for all logs below it, each file once. With
    `growing` the logs of JSON lines may be appended to meanwhile: an incomplete last line is left out, and so
    are files without a complete one.

    Raises:
        InputRefused: E_PATH for a path that is missing, not a plain file, or a link out of its folder.
        ConfigError, WorldError: E_S3, a store refuses, or does not answer.
    """
    sources = _add_labels([one for source in list_files(patterns) for one in _unpack(source)])
    return [each for each in map(_complete, sources) if each.size] if growing else sources


def list_files(patterns: Sequence[str]) -> list[Source]:
    """The files of `patterns`, as in `open_logs`; archives as they are, no file is opened."""
    results: dict[str, Source] = {}
    for pattern in patterns:
        if pattern == "-":
            copy = partial(shutil.copyfileobj, sys.stdin.buffer, length=1 << 20)
            results.setdefault("-", spool("-", "stdin", copy))
            continue
        if is_object(pattern):
            names = list_objects(pattern)
            names = list(filter(is_log, names)) if pattern.endswith("/") else names
            if not names:
                raise file_error("E_PATH", pattern, "there is no such object")
            for name in names:
                if name not in results:
                    depth = name.removeprefix(pattern).count("/") + 1 if pattern.endswith("/") else 0
                    results[name] = replace(spool(name, "", partial(copy_object, name)), depth=depth)
            continue
        for path in _expand(pattern):
            root = _fixed_folder(pattern) if path != pattern else Path(path)
            left_out: list[str] = []
            logs = _logs_in(path, left_out)
            for one in logs:
                source = _source(one, pattern if one == path else one)
                depth = len(Path(one).parts) - len(root.parts)
                source = replace(source, beside=tuple(left_out), is_member=len(logs) > 1, depth=depth)
                left_out = []
                results.setdefault(os.path.realpath(one), source)
    if not results:
        raise InputRefused("E_PATH", "no log was named")
    return list(results.values())


def _complete(source: Source) -> Source:
    """Cuts an incomplete last line off a log of JSON lines; returns any other log as it is."""
    if not source.name.lower().endswith(JSON_LINES):
        return source
    end = start = source.size
    tail, length = b"", TAIL_BYTES
    with open(source.path, "rb") as file:
        if not file.read(TAIL_BYTES).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"):
            return source
        while start and b"\n" not in tail:
            start, length = max(0, end - length), 2 * length
            file.seek(start)
            tail = file.read(end - start)
    last = tail.rpartition(b"\n")[2]
    try:
        json.loads(last)
    except ValueError:  # the beginning of an object is none
        end -= len(last) if last.lstrip().startswith(b"{") else 0
    return replace(source, size=end, grows=True)


def _expand(pattern: str) -> list[str]:
    if os.path.lexists(pattern) or not glob.has_magic(pattern):
        return [pattern]
    matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
    if "**" in pattern:  # whose files are among the matches
        matches = [match for match in matches if not Path(match).is_dir()]
    if not matches:
        raise file_error("E_PATH", pattern, "no file matches this pattern")
    return matches


def _logs_in(path: str, left_out: list[str]) -> list[str]:
    """The path of a file, or all logs in a folder at any depth, sorted; without hidden files, links, and what
    a job writes beside its output. The names of links and of other files are added to `left_out`.

    Raises:
        InputRefused: E_PATH, a folder holds no log, or cannot be read.
    """
    if not Path(path).is_dir():
        return [path]

    def refuse(error: OSError) -> None:
        raise file_error("E_PATH", str(error.filename), system_reason(error)) from None

    results = []
    for folder, folders, names in os.walk(path, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        logs = {name for name in names if is_log(name) and not (Path(folder) / name).is_symlink()}
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        left_out += sorted(name for name in {*names, *links} - logs if not is_beside(name))
        results += [str(Path(folder) / name) for name in logs]
    if not results:
        problem = Message("is a folder without logs; endings of logs are {names}", names=" ".join(LOGS))
        raise file_error("E_PATH", path, problem)
    return sorted(results)


def _unpack(source: Source) -> list[Source]:
    """The logs of an archive or a workbook; any other file as it is."""
    with open(source.path, "rb") as file:
        kind = archive_kind(file)
    if kind is None:
        return [source]
    left_out = list(source.beside)
    with disk_errors(TEMPORARY):
        members = open_archive(source.name, source.path, kind, left_out)
        first, *others = [spool(name, "", write) for name, write in members]
    is_member = source.is_member or bool(others)
    first = replace(first, beside=tuple(left_out))
    depths = [
        source.depth + len(Path(one.name).parts) - len(Path(source.name).parts) for one in (first, *others)
    ]
    return [
        replace(one, is_member=is_member, depth=depth)
        for one, depth in zip((first, *others), depths, strict=True)
    ]


def _source(path: str, pattern: str) -> Source:
    try:
        status = Path(path).stat()
    except OSError as error:
        reason = Message("cannot be opened")
        raise file_error("E_PATH", path, Message((error.strerror or reason).lower())) from None
    if not stat.S_ISREG(status.st_mode):
        raise file_error("E_PATH", path, "is a device, pipe or socket; use '-' to read standard input")
    _validate_location(path, pattern)
    if not os.access(path, os.R_OK):
        raise file_error("E_PATH", path, "permission denied")
    return Source(path, Path(path), status.st_size, _signature(status))


def _validate_location(path: str, pattern: str) -> None:
    """Refuses a link that leads out of the folder of the file, or of the pattern."""
    folder = os.path.realpath(Path(path).parent if path == pattern else _fixed_folder(pattern))
    target = os.path.realpath(path)
    if os.path.commonpath([folder, target]) != folder:
        raise file_error("E_PATH", path, "is a link that leads out of its folder")


def _fixed_folder(pattern: str) -> Path:
    """The folder of a pattern's part before its first sign."""
    first_magic = min((pattern.find(sign) for sign in "*?[" if sign in pattern), default=len(pattern))
    return Path(pattern[:first_magic] + "_").parent


def _signature(status: os.stat_result) -> Signature:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def spool(name: str, label: str, write: Callable[[IO[bytes]], None]) -> Source:
    """Spools what `write` writes to a temporary file. It holds unmasked text, so it has no name, and no crash
    leaves it behind. On systems without `DESCRIPTORS` it has a name until the job ends.

    Raises:
        WorldError: the temporary folder is full or cannot be written.
    """
    with disk_errors(TEMPORARY):
        if DESCRIPTORS.is_dir():
            file: Any = tempfile.TemporaryFile()  # noqa: SIM115  lives with the source
            path = DESCRIPTORS / str(file.fileno())
        else:
            file = tempfile.NamedTemporaryFile(prefix="dialint-spool-")  # noqa: SIM115
            path = Path(file.name)
        position = Position()
        weakref.finalize(position, file.close)
        try:
            write(file)
            file.flush()
        except BaseException:
            file.close()
            raise
    status = path.stat()
    return Source(name, path, status.st_size, _signature(status), label, position=position)


def _add_labels(sources: list[Source]) -> list[Source]:
    """Labels each source with the fewest trailing path parts, but at least its `depth`, that are unique."""
    whole = [_parts_of(source) for source in sources]
    bare = [(*parts[:-1], parts[-1].removesuffix(".gz").removesuffix(".zst")) for parts in whole]
    parts = [short if bare.count(short) == 1 else long for short, long in zip(bare, whole, strict=True)]
    if len(set(parts)) < len(parts):  # such as x.gz.gz beside x.gz and x
        parts = whole
    depths = [max(1, source.depth) for source in sources]
    while True:
        labels = ["/".join(own[-depth:]) for own, depth in zip(parts, depths, strict=True)]
        n = Counter(labels)
        longer = [at for at, label in enumerate(labels) if n[label] > 1 and depths[at] < len(parts[at])]
        if not longer:
            break
        for at in longer:
            depths[at] += 1
    return [replace(source, label=label) for source, label in zip(sources, labels, strict=True)]


def _parts_of(source: Source) -> tuple[str, ...]:
    if source.name == "-":
        return ("stdin",)
    path = Path(source.name)
    return path.absolute().parts if path == source.path else path.parts
