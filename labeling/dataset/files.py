"""The files of a dataset: a buffer of records without a split, and JSON lines.

A record's split depends on all others, so records are buffered as lines in an unnamed temporary file and get
their split, the last field of each, when all have been read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dialint.detector.artifacts import TEMPORARY, atomic_file, disk_errors
from dialint.detector.records import Record

EMPTY_SPLIT = b'"split":""}\n'


def encode_record(record: Record) -> bytes:
    """A record with an empty split as a JSON line."""
    return record.model_dump_json(exclude_defaults=True).encode() + b"\n"


def set_split(line: bytes, split: str) -> bytes:
    """Fill in the split of a line.

    Raises:
        ValueError: the line does not end with an empty split.
    """
    if not line.endswith(EMPTY_SPLIT):
        raise ValueError("the line has a split already, or no field for it")
    return line[: -len(EMPTY_SPLIT)] + b'"split":"' + split.encode() + b'"}\n'


class RecordBuffer:
    """The lines of each dialogue, in the order added: its example and lineage, if any, then its pairs."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._counts: list[tuple[bool, int]] = []

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[RecordBuffer]:
        """An empty buffer, deleted at the end of the context."""
        with disk_errors(TEMPORARY), tempfile.TemporaryFile() as file:
            yield cls(file)

    def add(self, example: list[bytes], pairs: list[bytes]) -> None:
        """Add a dialogue's lines: `example` holds its example and lineage, or nothing."""
        self._counts.append((bool(example), len(pairs)))
        self._file.writelines(example + pairs)

    def read(self) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """The example lines and the pair lines of each dialogue, in the order added."""
        self._file.seek(0)
        for has_example, n_pairs in self._counts:
            example = [self._file.readline(), self._file.readline()] if has_example else []
            yield example, [self._file.readline() for _ in range(n_pairs)]


class RecordWriter:
    """Writes JSON lines; `rows` is how many were written."""

    def __init__(self, file: BinaryIO) -> None:
        self.rows = 0
        self._file = file

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[RecordWriter]:
        """A writer whose file appears at `path` at the end of the context, unless it raised."""
        with atomic_file(path) as file:
            yield cls(file)

    def add(self, line: bytes) -> None:
        """Write one record."""
        self.rows += 1
        self._file.write(line)
