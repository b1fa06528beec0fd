"""The files of a dataset: a buffer of records without a split, JSON lines and Parquet tables.

A record's split depends on all others, so records are buffered as lines in an unnamed temporary file and get
their split, the last field of each, when all have been read. Parquet (zstd, one row each) is readable with
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

EMPTY_SPLIT = b'"split":""}\n'
PAIR_TEXTS = ("code", "outcome", "annotation", "release", "reason", "split")
"""Columns of Parquet that are a preference pair's texts of the same names."""


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
    """Writes JSON lines, or with a `table` Parquet; `rows` is how many were written."""

    def __init__(self, file: BinaryIO, table: TableSchema | None) -> None:
        self.rows = 0
        self._file, self._table = file, table
        self._batch: list[bytes] = []
        self._writer: Any = table.writer(file) if table is not None else None

    @classmethod
    @contextmanager
    def open(cls, path: Path, file_format: Literal["jsonl", "parquet"], name: str) -> Iterator[RecordWriter]:
        """A writer whose file appears at `path` at the end of the context, unless it raised. `name` is a
        split, preferences or lineage."""
        table = None
        if file_format == "parquet":
            table = preference_table() if name == "preferences" else example_table()
        with atomic_file(path) as file:
            writer = cls(file, table)
            yield writer
            writer.close()

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
            self._writer.write_table(self._table.to_arrow(self._batch))
            self._batch = []

    def close(self) -> None:
        """Write what is buffered; whoever opened the file closes it."""
        if self._writer is not None:
            self._flush()
            self._writer.close()


BATCH_ROWS = 2048


class TableSchema(NamedTuple):
    """An Arrow schema, the type of its records, and the function that makes a row of one."""

    schema: Any
    record: type[Record]
    to_row: Callable[[Any], dict[str, Any]]

    def writer(self, out: BinaryIO) -> Any:
        """A Parquet writer onto `out`."""
        from pyarrow import parquet

        return parquet.ParquetWriter(out, self.schema, compression="zstd")

    def to_arrow(self, lines: Iterable[bytes]) -> Any:
        """Records, as JSON lines, as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(
            [self.to_row(self.record.model_validate_json(line)) for line in lines], self.schema
        )


def example_table() -> TableSchema:
    """Columns of examples."""
    import pyarrow as pa

    label = pa.struct([(name, _column_type(name)) for name in Label.model_fields])
    fields = [("labels", pa.list_(label)), ("split", pa.string()), ("pair", pa.string())]
    fields.append(("unlabelled", pa.list_(pa.string())))
    return TableSchema(_schema(fields), Example, _example_row)


def preference_table() -> TableSchema:
    """Columns of preference pairs."""
    import pyarrow as pa

    judgement = pa.struct([(name, pa.string()) for name in Judgement.model_fields])
    texts = [(name, pa.string()) for name in PAIR_TEXTS]
    return TableSchema(
        _schema([("turn", pa.int64()), ("chosen", judgement), ("rejected", judgement), *texts]),
        Preference,
        _preference_row,
    )


def _schema(fields: list[Any]) -> Any:
    import pyarrow as pa

    # without `edits`: examples do not refer back to a log
    turn = pa.struct([(name, _column_type(name)) for name in Turn.model_fields if name != "edits"])
    texts = [(name, pa.string()) for name in ("dialogue_id", *TEXTS, "metadata")]
    nested = [("turns", pa.list_(turn)), ("sources", pa.list_(pa.string())), ("masked", pa.bool_())]
    return pa.schema([*texts, *nested, *fields])


def _column_type(name: str) -> Any:
    import pyarrow as pa

    if name in ("index", "turn", "n_labelers", "start", "end"):
        return pa.int64()
    return {"probability": pa.float64(), "tool_error": pa.bool_()}.get(name, pa.string())


def _dialogue_row(dialogue: Dialogue) -> dict[str, Any]:
    turns = [
        {"index": turn.index, "role": turn.role, "text": turn.text, "author": turn.author}
        | {"at": turn.at.isoformat() if turn.at else None}
        | {"tool_call_id": turn.tool_call_id, "tool_error": turn.tool_error}
        | {
            "tool_calls": json.dumps([call.model_dump() for call in turn.tool_calls], ensure_ascii=False)
            if turn.tool_calls
            else None
        }
        for turn in dialogue.turns
    ]
    texts = {name: getattr(dialogue, name) for name in TEXTS}
    metadata = json.dumps(dialogue.metadata, ensure_ascii=False) if dialogue.metadata else None
    return {
        "dialogue_id": dialogue.id,
        **texts,
        "metadata": metadata,
        "turns": turns,
        "sources": list(dialogue.sources),
        "masked": dialogue.masked,
    }


def _example_row(example: Example) -> dict[str, Any]:
    labels = [dict(label) for label in example.labels]
    own = {"split": example.split, "pair": example.pair, "unlabelled": list(example.unlabelled)}
    return {**_dialogue_row(example.dialogue), "labels": labels, **own}


def _preference_row(pair: Preference) -> dict[str, Any]:
    values = {name: getattr(pair, name) for name in ("turn", *PAIR_TEXTS)}
    return {
        **_dialogue_row(pair.dialogue),
        **values,
        "chosen": dict(pair.chosen),
        "rejected": dict(pair.rejected),
    }
