"""Writes rows as JSON lines, one JSON array, CSV, TSV or Parquet, which `readers.tables` reads.

Rows are objects with names for keys. What is in a row is for the shapes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from itertools import islice
from typing import Any, BinaryIO

from dialint.detector.ingest.readers.tables import TableFormat
from dialint.detector.verdict_files import escape_cell
from dialint.labeling.exchange.format import Row

BATCH_ROWS = 4096


def write_rows(out: BinaryIO, rows: Iterable[Row], framing: TableFormat, columns: tuple[str, ...]) -> int:
    """Write `rows`, how many there were; `columns` are those of a table. Formulas are escaped in CSV and
    TSV."""
    if framing == "parquet":
        return _write_parquet(out, rows, columns)
    if framing in ("csv", "tsv"):
        return _write_table(out, rows, "," if framing == "csv" else "\t", columns)
    written = 0
    for row in rows:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
        opening = b"[" if not written else b",\n"
        out.write(opening + text if framing == "json" else text + b"\n")
        written += 1
    if framing == "json":
        out.write(b"]\n" if written else b"[]\n")
    return written


def _write_table(out: BinaryIO, rows: Iterable[Row], delimiter: str, columns: tuple[str, ...]) -> int:
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow([escape_cell(name) for name in columns])
    written = 0
    for row in rows:
        values = (row.get(name) for name in columns)
        writer.writerow([escape_cell(v) if v is None or isinstance(v, str) else str(v) for v in values])
        written += 1
    text.flush()
    text.detach()
    return written


def _write_parquet(out: BinaryIO, rows: Iterable[Row], columns: tuple[str, ...]) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    kinds: dict[str, Any] = {"seconds": pa.float64()}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns])
    written, source = 0, iter(rows)
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        while batch := list(islice(source, BATCH_ROWS)):
            writer.write_table(pa.Table.from_pylist(batch, schema))
            written += len(batch)
    return written
