"""The files of a dataset: JSON lines that wait for their split, and Parquet tables.

A record's split depends on all others, so records wait as lines in an unnamed temporary file and get their
split, the last field of each, when all have been read. Parquet (zstd, one row each) is readable with
`datasets` and by `dialint.detector.example_files`; turns and labels are nested columns, open-ended fields
are JSON text.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from dialint.detector.artifacts import TEMPORARY, atomic_file, disk_errors
from dialint.detector.example_files import TEXTS
from dialint.detector.records import Dialogue, Example, Judgement, Label, Preference, Record, Turn

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


BATCH_ROWS = 2048


class Table(NamedTuple):
    """A schema, whose records it holds, and how one becomes a row of it."""

    schema: Any
    kind: type[Record]
    row: Callable[[Any], dict[str, Any]]

    def writer(self, out: BinaryIO) -> Any:
        """A Parquet writer onto `out`."""
        from pyarrow import parquet

        return parquet.ParquetWriter(out, self.schema, compression="zstd")

    def of(self, lines: Iterable[bytes]) -> Any:
        """Records, as JSON lines, as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(
            [self.row(self.kind.model_validate_json(line)) for line in lines], self.schema
        )


def example_table() -> Table:
    """Columns of examples."""
    import pyarrow as pa

    label = pa.struct([(name, _kind(name)) for name in Label.model_fields])
    fields = [("labels", pa.list_(label)), ("split", pa.string()), ("pair", pa.string())]
    return Table(_schema(fields), Example, _example)


def preference_table() -> Table:
    """Columns of preference pairs."""
    import pyarrow as pa

    judged = pa.struct([(name, pa.string()) for name in Judgement.model_fields])
    named = [(name, pa.string()) for name in ("code", "outcome", "annotation", "release", "split")]
    return Table(
        _schema([("turn", pa.int64()), ("chosen", judged), ("rejected", judged), *named]),
        Preference,
        _preference,
    )


def _schema(fields: list[Any]) -> Any:
    import pyarrow as pa

    # examples are texts of their own, without the way back to a log
    turn = pa.struct([(name, _kind(name)) for name in Turn.model_fields if name != "edits"])
    named = [(name, pa.string()) for name in ("dialogue_id", *TEXTS, "metadata")]
    more = [("turns", pa.list_(turn)), ("sources", pa.list_(pa.string())), ("masked", pa.bool_())]
    return pa.schema([*named, *more, *fields])


def _kind(name: str) -> Any:
    import pyarrow as pa

    if name in ("index", "turn", "n_labelers", "start", "end"):
        return pa.int64()
    return {"probability": pa.float64(), "at": pa.string()}.get(name, pa.string())


def _said(dialogue: Dialogue) -> dict[str, Any]:
    turns = [
        {"index": turn.index, "role": turn.role, "text": turn.text, "author": turn.author}
        | {"at": turn.at.isoformat() if turn.at else None}
        for turn in dialogue.turns
    ]
    texts = {name: getattr(dialogue, name) for name in TEXTS}
    metadata = json.dumps(dialogue.metadata, ensure_ascii=False) if dialogue.metadata else None
    more = {
        "metadata": metadata,
        "turns": turns,
        "sources": list(dialogue.sources),
        "masked": dialogue.masked,
    }
    return {"dialogue_id": dialogue.id, **texts, **more}


def _example(example: Example) -> dict[str, Any]:
    labels = [dict(label) for label in example.labels]
    return {**_said(example.dialogue), "labels": labels, "split": example.split, "pair": example.pair}


def _preference(pair: Preference) -> dict[str, Any]:
    named = {
        name: getattr(pair, name) for name in ("turn", "code", "outcome", "annotation", "release", "split")
    }
    return {**_said(pair.dialogue), **named, "chosen": dict(pair.chosen), "rejected": dict(pair.rejected)}
