"""Where records wait for their split, and the files they end in.

A dialogue's split depends on all others, so records wait as lines in a nameless temporary file and are
given their split, the last field of each, when all have been seen.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

from dialint.detector.artifacts import TEMPORARY, atomic_file, disk_errors
from dialint.detector.records import Record
from dialint.labeling.dataset.parquet import BATCH_ROWS, Table, example_table, preference_table

NO_SPLIT = b'"split":""}\n'


def waiting(record: Record) -> bytes:
    """A record without a split as a line."""
    return record.model_dump_json(exclude_defaults=True).encode() + b"\n"


def with_split(line: bytes, split: str) -> bytes:
    """A waiting line with its split.

    Raises:
        ValueError: the line does not end with an empty split.
    """
    if not line.endswith(NO_SPLIT):
        raise ValueError("a line that waits for no split")
    return line[: -len(NO_SPLIT)] + b'"split":"' + split.encode() + b'"}\n'


class Spool:
    """Lines of each dialogue in the order in which they came: its example and lineage, if any, then
    its pairs."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._counts: list[tuple[bool, int]] = []

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[Spool]:
        """An empty spool; nothing is left of it afterwards."""
        with disk_errors(TEMPORARY), tempfile.TemporaryFile() as file:
            yield cls(file)

    def add(self, example: list[bytes], pairs: list[bytes]) -> None:
        """Keep a dialogue's lines; `example` is none or two."""
        self._counts.append((bool(example), len(pairs)))
        self._file.writelines(example + pairs)

    def read(self) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """The same lines again, dialogue by dialogue."""
        self._file.seek(0)
        for whole, n_pairs in self._counts:
            example = [self._file.readline(), self._file.readline()] if whole else []
            yield example, [self._file.readline() for _ in range(n_pairs)]


class Output:
    """Takes lines; `rows` is how many there were."""

    def __init__(self, file: BinaryIO, table: Table | None) -> None:
        """Parquet if there is a `table`."""
        self.rows = 0
        self._file, self._table = file, table
        self._batch: list[bytes] = []
        self._writer: Any = table.writer(file) if table is not None else None

    @classmethod
    @contextmanager
    def at(cls, path: Path, file_format: Literal["jsonl", "parquet"], name: str) -> Iterator[Output]:
        """An output that appears at `path` when all went well. `name` says what it holds."""
        table = None
        if file_format == "parquet":
            table = preference_table() if name == "preferences" else example_table()
        with atomic_file(path) as file:
            output = cls(file, table)
            yield output
            output.close()

    def add(self, line: bytes) -> None:
        """Write one record."""
        self.rows += 1
        if self._table is None:
            self._file.write(line)
            return
        self._batch.append(line)
        if len(self._batch) >= BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._table is not None and self._batch:
            self._writer.write_table(self._table.of(self._batch))
            self._batch = []

    def close(self) -> None:
        """Write what is held; the file itself is its opener's."""
        if self._writer is not None:
            self._flush()
            self._writer.close()
