"""Which files a log is: patterns, standard input, and paths that are refused.

Opens nothing but standard input (spooled to a temporary file) and reads no content: that is
`streams`, which relies on the signature taken here to notice a file that changes.
"""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from detector.errors import InputRefused
from detector.ingest.outcomes import refuse

COMPRESSED = (".gz", ".zst")
Signature = tuple[int, int, int, int]


@dataclass(frozen=True)
class Source:
    """One log file. `name` is as the user wrote it; `label` is its shortest unique name without a
    compression ending, from which records without an id get theirs; `size` is in bytes."""

    name: str
    path: Path
    size: int
    signature: Signature
    label: str = ""
    spool: Any = field(default=None, repr=False, compare=False)

    def check_unchanged(self) -> None:
        """Raises:
        InputRefused: E_CHANGED, the file is not the one that was opened first.
        """
        try:
            now = _signature(self.path.stat())
        except OSError:
            raise refuse("E_CHANGED", self.name, "the file went away while it was read") from None
        if now != self.signature:
            raise refuse("E_CHANGED", self.name, "the file changed while it was read; run the job again")


def open_logs(patterns: Sequence[str]) -> list[Source]:
    """The files that `patterns` name: globs expanded and sorted, ``-`` for standard input, each file
    once, in the order given.

    Raises:
        InputRefused: E_PATH for what is missing, not a plain file, or leads out of its folder.
    """
    found: dict[str, Source] = {}
    for pattern in patterns:
        if pattern == "-":
            found.setdefault("-", _standard_input())
            continue
        for path in _expanded(pattern):
            source = _source(path, pattern)
            found.setdefault(os.path.realpath(path), source)
    if not found:
        raise InputRefused("E_PATH", "no log was named")
    return _labelled(list(found.values()))


def _expanded(pattern: str) -> list[str]:
    if os.path.lexists(pattern) or not glob.has_magic(pattern):
        return [pattern]
    matches = sorted(match for match in glob.glob(pattern, recursive=True) if not Path(match).is_dir())  # noqa: PTH207
    if not matches:
        raise refuse("E_PATH", pattern, "no file matches this pattern")
    return matches


def _source(path: str, pattern: str) -> Source:
    _refuse_traversal(path)
    try:
        status = Path(path).stat()
    except OSError as error:
        raise refuse("E_PATH", path, (error.strerror or "cannot be opened").lower()) from None
    if stat.S_ISDIR(status.st_mode):
        raise refuse("E_PATH", path, f"is a folder; name files, or a pattern such as '{path}/*.jsonl'")
    if not stat.S_ISREG(status.st_mode):
        raise refuse("E_PATH", path, "is a device, pipe or socket; use '-' to read standard input")
    _refuse_escape(path, pattern)
    if not os.access(path, os.R_OK):
        raise refuse("E_PATH", path, "permission denied")
    return Source(path, Path(path), status.st_size, _signature(status))


def _refuse_traversal(path: str) -> None:
    parts = Path(path).parts
    leading = 0
    while leading < len(parts) and parts[leading] == "..":
        leading += 1
    if ".." in parts[leading:]:
        raise refuse("E_PATH", path, "'..' after a folder's name; write the path without it")


def _refuse_escape(path: str, pattern: str) -> None:
    """A link must stay in the folder that the user named: that of the file, or of the pattern."""
    fixed = pattern if path == pattern else pattern[: _first_magic(pattern)]
    folder = os.path.realpath(Path(fixed + "_").parent)
    target = os.path.realpath(path)
    if os.path.commonpath([folder, target]) != folder:
        raise refuse("E_PATH", path, "is a link that leads out of its folder")


def _first_magic(pattern: str) -> int:
    return min((pattern.find(sign) for sign in "*?[" if sign in pattern), default=len(pattern))


def _signature(status: os.stat_result) -> Signature:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _standard_input() -> Source:
    spool = tempfile.NamedTemporaryFile(prefix="dialint-stdin-")  # noqa: SIM115  lives as long as the source
    shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
    spool.flush()
    status = Path(spool.name).stat()
    return Source("-", Path(spool.name), status.st_size, _signature(status), "stdin", spool)


def _labelled(sources: list[Source]) -> list[Source]:
    """Each source with as many trailing path parts as tell it from the others."""
    parts = [("stdin",) if source.name == "-" else source.path.absolute().parts for source in sources]
    labels = []
    for own in parts:
        depth = 1
        while depth < len(own) and Counter(other[-depth:] for other in parts)[own[-depth:]] > 1:
            depth += 1
        label = "/".join(own[-depth:])
        for ending in COMPRESSED:
            label = label.removesuffix(ending)
        labels.append(label)
    return [
        Source(source.name, source.path, source.size, source.signature, label, source.spool)
        for source, label in zip(sources, labels, strict=True)
    ]
