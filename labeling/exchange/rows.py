"""Files of labels as rows: JSON lines, one JSON array, CSV, TSV or Parquet, and the way back.

Rows are objects with names for keys. Reading is bounded by the record but for Parquet, where it is by
the batch. What is in a row is for the shapes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, refuse
from dialint.detector.ingest.readers.encodings import blocks
from dialint.detector.ingest.readers.format_detection import check_ending
from dialint.detector.ingest.readers.json_files import overlong, segments
from dialint.detector.ingest.readers.message_rows import oversized
from dialint.detector.ingest.readers.parquet_logs import read_table
from dialint.detector.ingest.readers.streams import BOM, chunks, magic
from dialint.detector.ingest.readers.strict_json import check_characters, decode
from dialint.detector.ingest.sources import Source
from dialint.detector.verdict_files import MAX_CELL, escaped, needs_escape, unescaped
from dialint.labeling.exchange.format import Framing, Row

PARQUET = b"PAR1"
BATCH_ROWS = 4096
CONFIG = ReadConfig()


class Placed(NamedTuple):
    """A row, or why there is none, at its line (or record number) from 1 and its byte offset."""

    line: int
    offset: int
    row: Row | BadRecord


def framing_of(source: Source) -> Framing:
    """How the rows of `source` are framed, by its first bytes.

    Raises:
        InputRefused: E_FORMAT, E_ENCODING, E_NO_RECORDS, or what decompression refuses.
    """
    check_ending(source)
    if magic(source).startswith(PARQUET):
        return "parquet"
    start = b"".join(islice(blocks(source, CONFIG), 2))
    text = start.removeprefix(BOM).lstrip()
    if not text:
        raise refuse("E_NO_RECORDS", source.name, "no records")
    if text[:1] in b"{[":
        return "json" if text[:1] == b"[" else "jsonl"
    return "tsv" if b"\t" in text.partition(b"\n")[0] else "csv"


def placed_rows(source: Source, framing: Framing) -> Iterator[Placed]:
    """The rows of `source`, in order; blank lines are none.

    Raises:
        InputRefused: E_CSV or E_PARQUET for a table that cannot be read further.
    """
    readers = {"jsonl": _lines, "json": _array, "csv": _table, "tsv": _table, "parquet": _parquet}
    return readers[framing](source)


def _decoded(raw: bytes) -> Row | BadRecord:
    try:
        value = decode(raw)
    except BadRecord as bad:
        return bad
    return value if isinstance(value, dict) else BadRecord("E_TYPE", "", type(value).__name__, "an object")


def _lines(source: Source) -> Iterator[Placed]:
    for chunk in chunks(blocks(source, CONFIG), CONFIG.max_record_bytes):
        if chunk.overlong:
            yield Placed(chunk.first, chunk.offset, overlong(chunk.overlong, CONFIG))
            continue
        for number, (offset, line) in enumerate(zip(chunk.offsets(), chunk.lines, strict=True), chunk.first):
            if line and not line.isspace():
                yield Placed(number, offset, _decoded(line))


def _array(source: Source) -> Iterator[Placed]:
    stream = blocks(source, CONFIG)
    stream = chain([next(stream, b"").removeprefix(BOM)], stream)
    for number, segment in enumerate(segments(stream, (), CONFIG.max_record_bytes), 1):
        if segment.lost:
            yield Placed(number, segment.offset, overlong(segment.lost, CONFIG))
        else:
            yield Placed(number, segment.offset, segment.fault or _decoded(segment.raw))


class _Feed:
    """Decoded lines for the csv module; `bad` is what was wrong with a line since the row began."""

    def __init__(self, source: Source) -> None:
        self.line, self.offset = 1, 0
        self._name, self._row_line, self._row_offset = source.name, 1, 0
        self.bad: BadRecord | None = None
        self._lines = self._read(source)

    def begin_row(self) -> None:
        """The next line begins a row."""
        self.bad, self._row_line, self._row_offset = None, self.line, self.offset

    def _read(self, source: Source) -> Iterator[tuple[int, bytes]]:
        for chunk in chunks(blocks(source, CONFIG), CONFIG.max_record_bytes):
            if chunk.overlong:
                raise refuse(
                    "E_CSV", source.name, f"line {chunk.first}: over {CONFIG.max_record_bytes} bytes"
                )
            yield from zip(chunk.offsets(), chunk.lines, strict=True)

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        offset, raw = next(self._lines)
        self.line, self.offset = self.line + 1, offset + len(raw) + 1
        if self.offset - self._row_offset > CONFIG.max_record_bytes:
            message = f"line {self._row_line}: a row of over {CONFIG.max_record_bytes} bytes"
            raise refuse("E_CSV", self._name, message)
        try:
            text = raw.decode()
            check_characters("", text)
        except UnicodeDecodeError:
            self.bad = BadRecord("E_UTF8", "", "a byte", "UTF-8 text")
            text = raw.decode(errors="replace")
        except BadRecord as bad:
            self.bad = bad
        return text + "\n"


def _table(source: Source) -> Iterator[Placed]:
    first = next(blocks(source, CONFIG)).partition(b"\n")[0]
    feed = _Feed(source)
    rows = csv.reader(feed, delimiter="\t" if b"\t" in first else ",", strict=True)
    header: list[str] | None = None
    while True:
        line, offset = feed.line, feed.offset
        feed.begin_row()
        cells = _next(rows, source, line)
        if cells is None:
            return
        if header is None and cells:
            header = _header(cells, source, line)
        elif header is not None and any(cells):
            yield Placed(line, offset, feed.bad or _row(header, cells))


def _next(rows: Iterator[list[str]], source: Source, line: int) -> list[str] | None:
    limit = csv.field_size_limit(MAX_CELL)  # of the whole process: put back after each row
    try:
        return next(rows, None)
    except csv.Error:
        raise refuse("E_CSV", source.name, f"line {line}: bad quoting, or a quote is not closed") from None
    finally:
        csv.field_size_limit(limit)


def _header(cells: list[str], source: Source, line: int) -> list[str]:
    header = [cell.strip() for cell in cells]
    if len(set(header)) != len(header):
        raise refuse("E_CSV", source.name, f"line {line}: a column stands twice")
    return header


def _row(header: list[str], cells: list[str]) -> Row | BadRecord:
    if len(cells) != len(header):
        return BadRecord("E_CSV", "", f"{len(cells)} cells", f"{len(header)} cells, as in the header")
    return {name: _cell(cell) for name, cell in zip(header, cells, strict=True)}


def _cell(cell: str) -> str | None:
    """The text behind a cell: an escape is undone only where we would have made one."""
    ours = cell.startswith("'") and needs_escape(cell[1:])
    return unescaped(cell) if ours else cell or None


def _parquet(source: Source) -> Iterator[Placed]:
    for number, size, row in read_table(source, CONFIG):
        fault = oversized(size, CONFIG) if size > CONFIG.max_record_bytes else None
        yield Placed(number, 0, fault or _checked(row))


def _checked(row: Row) -> Row | BadRecord:
    try:
        for name, value in row.items():
            if isinstance(value, str):
                check_characters(name, value)
    except BadRecord as bad:
        return bad
    return row


def write_rows(out: BinaryIO, rows: Iterable[Row], framing: Framing, columns: tuple[str, ...]) -> int:
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
    writer.writerow([escaped(name) for name in columns])
    written = 0
    for row in rows:
        values = (row.get(name) for name in columns)
        writer.writerow([escaped(v) if v is None or isinstance(v, str) else str(v) for v in values])
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
