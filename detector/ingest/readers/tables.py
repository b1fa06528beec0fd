"""Tables of any rows: CSV (commas or semicolons), TSV, JSON lines, one JSON array of objects, or Parquet. A
row is a dict.

    for line, row in read_table(Path("answers.csv")):
        ...

`read_table` raises for a file with a bad row; `read_rows` yields the fault in its place. Both hold one record
(Parquet: one batch) in memory, keep the limits of a `ReadConfig`, and decompress gzip and zstd. Values are
text in CSV and TSV, None for an empty cell, and JSON values elsewhere; a cell that was escaped so that no
spreadsheet takes it for a formula is unescaped. What a row means is up to the caller.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dialint.detector.errors import Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, file_error, line_too_long, record_too_large
from dialint.detector.ingest.readers.encodings import blocks
from dialint.detector.ingest.readers.parquet_rows import read_parquet_rows
from dialint.detector.ingest.readers.streams import BOM, PARQUET, check_ending, chunks, magic
from dialint.detector.ingest.readers.strict_json import check_characters, decode
from dialint.detector.ingest.sources import Source, open_logs
from dialint.detector.verdict_files import MAX_CELL, needs_escape, unescape_cell

TableFormat = Literal["jsonl", "json", "csv", "tsv", "semicolons", "parquet"]
DELIMITERS: dict[TableFormat, str] = {"csv": ",", "tsv": "\t", "semicolons": ";"}
DEFAULT_CONFIG = ReadConfig()


class TableRow(NamedTuple):
    """A row or its fault, with the line (or record number) from 1 and the byte offset."""

    line: int
    offset: int
    row: dict[str, Any] | BadRecord


def read_table(path: Path, config: ReadConfig = DEFAULT_CONFIG) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line (or record number) from 1 and cells of each row of a table, whose format is detected.

    Raises:
        InputRefused: E_PATH; E_FORMAT, E_ENCODING, E_NO_RECORDS or what decompression refuses; E_CSV or
            E_PARQUET for a table that cannot be read further; the code of a bad row, with its line.
    """
    (source,) = open_logs([str(path)])
    for line, _, row in read_rows(source, detect_table_format(source, config), config):
        if isinstance(row, BadRecord):
            where = Message("line {n}", n=line)
            if row.path:
                where = Message("line {n}, {path}", n=line, path=row.path)
            raise file_error(
                row.code, source.name, "{where}: {found}; expected {expected}",
                where=where, found=row.found, expected=row.expected,
            )  # fmt: skip
        yield line, row


def detect_table_format(source: Source, config: ReadConfig = DEFAULT_CONFIG) -> TableFormat:
    """The format of a table, by its first bytes; its ending must not contradict them.

    Raises:
        InputRefused: E_FORMAT, E_ENCODING, E_NO_RECORDS, or what decompression refuses.
    """
    check_ending(source)
    if magic(source).startswith(PARQUET):
        return "parquet"
    start = b"".join(islice(blocks(source, config), 2))
    text = start.removeprefix(BOM).lstrip()
    if not text:
        raise file_error("E_NO_RECORDS", source.name, "no records")
    if text[:1] in b"{[":
        return "json" if text[:1] == b"[" else "jsonl"
    header = text.partition(b"\n")[0]
    if b"\t" in header:
        return "tsv"
    return "semicolons" if header.count(b";") > header.count(b",") else "csv"


def read_rows(
    source: Source, table_format: TableFormat, config: ReadConfig = DEFAULT_CONFIG
) -> Iterator[TableRow]:
    """The rows of `source`, in order, without blank lines.

    Raises:
        InputRefused: E_CSV or E_PARQUET for a table that cannot be read further.
    """
    if table_format == "parquet":
        return _parquet_rows(source, config)
    if table_format in DELIMITERS:
        return csv_rows(source, config, DELIMITERS[table_format])
    values = json_lines if table_format == "jsonl" else _json_array
    return (TableRow(line, offset, _as_row(value)) for line, offset, value in values(source, config))


def _as_row(value: Any) -> dict[str, Any] | BadRecord:
    if isinstance(value, dict | BadRecord):
        return value
    return BadRecord("E_TYPE", "", type(value).__name__, "an object")


def _parquet_rows(source: Source, config: ReadConfig) -> Iterator[TableRow]:
    for number, n_bytes, row in read_parquet_rows(source, config):
        if n_bytes > config.max_record_bytes:
            yield TableRow(number, 0, record_too_large(n_bytes, config.max_record_bytes))
            continue
        try:
            for name, value in row.items():
                if isinstance(value, str):
                    check_characters(name, value)
            yield TableRow(number, 0, row)
        except BadRecord as bad:
            yield TableRow(number, 0, bad)


def csv_rows(source: Source, config: ReadConfig, delimiter: str) -> Iterator[TableRow]:
    """The rows of a CSV file by its header.

    Raises:
        InputRefused: E_CSV, the rest cannot be read.
    """
    reader = CsvReader(source, config, delimiter, MAX_CELL)
    header = [cell.strip() for cell in reader.next_row() or []]
    if len(set(header)) != len(header):
        raise file_error("E_CSV", source.name, "line {n}: a column stands twice", n=reader.line)
    while (cells := reader.next_row()) is not None:
        if any(cells):
            bad = reader.fault(cells, len(header))
            yield TableRow(
                reader.line, reader.offset, bad or dict(zip(header, map(_text, cells), strict=True))
            )


def _text(cell: str) -> str | None:
    """The text of a cell; only escapes that this package's writer makes are undone."""
    cell = cell.replace("\ufeff", "")
    escaped = cell.startswith("'") and needs_escape(cell[1:])
    return unescape_cell(cell) if escaped else cell or None


class CsvReader:
    """The rows of a CSV file. Quoting is strict. `line` and `offset` are those where the last row begins.

    Cells are data: one that starts with ``=`` is a text like any other. `max_cell` is the most characters of
    a cell; the default is the csv module's own limit.
    """

    def __init__(
        self, source: Source, config: ReadConfig, delimiter: str, max_cell: int | None = None
    ) -> None:
        self._lines = _CsvLines(source, config)
        self._rows = csv.reader(self._lines, delimiter=delimiter, strict=True)
        self._file, self._max_cell = source.name, max_cell
        self.delimiter = delimiter
        self.line, self.offset = 1, 0

    @property
    def n_marks(self) -> int:
        """Rows so far that begin with a byte order mark, as where files were joined."""
        return self._lines.n_marks

    @property
    def n_returns(self) -> int:
        """Lines so far that end with a carriage return."""
        return self._lines.n_returns

    def next_row(self) -> list[str] | None:
        """The next row that is not blank, or None at the end.

        Raises:
            InputRefused: E_CSV, quoting that makes the rest unreadable, or a row that is too long.
        """
        limit = None if self._max_cell is None else csv.field_size_limit(self._max_cell)
        try:
            while True:
                self.line, self.offset = self._lines.line, self._lines.offset
                self._lines.begin_row()
                row = next(self._rows, None)
                if row or row is None:
                    return row
        except csv.Error as error:
            is_open = "end of data" in str(error)
            cause = Message("a quote is not closed") if is_open else Message("bad quoting or a huge field")
            raise file_error(
                "E_CSV", self._file, "line {n}, byte {offset}: {cause}",
                n=self.line, offset=self.offset, cause=cause,
            ) from None  # fmt: skip
        finally:
            if limit is not None:  # the csv module has one limit for the whole process
                csv.field_size_limit(limit)

    def fault(self, cells: list[str], width: int) -> BadRecord | None:
        """The fault of the last row: an invalid byte or character, or its number of cells."""
        if self._lines.bad is None and len(cells) != width:
            found = Message("{n} cells", n=len(cells))
            return BadRecord("E_CSV", "", found, Message("{n} cells, as in the header", n=width))
        return self._lines.bad


class _CsvLines:
    """Decoded lines for the csv module. `line` and `offset` are those of the next line, `bad` is the fault of
    a line of the current row."""

    def __init__(self, source: Source, config: ReadConfig) -> None:
        self.line, self.offset, self.n_returns, self.n_marks = 1, 0, 0, 0
        self.bad: BadRecord | None = None
        self._lines = self._read(source, config)
        self._name, self._limit, self._row_line, self._row_offset = source.name, config.max_record_bytes, 1, 0

    def begin_row(self) -> None:
        """Start a new row at the next line."""
        self.bad, self._row_line, self._row_offset = None, self.line, self.offset

    def _read(self, source: Source, config: ReadConfig) -> Iterator[tuple[int, bytes]]:
        for chunk in chunks(blocks(source, config), config.max_record_bytes):
            if chunk.overlong:
                raise file_error(
                    "E_CSV", source.name, "line {n}: over {limit} bytes",
                    n=chunk.first, limit=config.max_record_bytes,
                )  # fmt: skip
            yield from zip(chunk.offsets(), chunk.lines, strict=True)

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        offset, raw = next(self._lines)
        self.line += 1
        self.offset = offset + len(raw) + 1
        self.n_returns += raw.endswith(b"\r")
        if self.offset - self._row_offset > self._limit:
            raise file_error(
                "E_CSV", self._name, "line {n}: a row of over {limit} bytes",
                n=self._row_line, limit=self._limit,
            )  # fmt: skip
        if raw.startswith(BOM) and offset == self._row_offset:
            self.n_marks += 1
            raw = raw.removeprefix(BOM)
        return self._decode(raw) + "\n"

    def _decode(self, raw: bytes) -> str:
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            self.bad = BadRecord("E_UTF8", "", "a byte", "UTF-8 text")
            return raw.decode(errors="replace")
        if "\0" in text:
            self.bad = BadRecord("E_NUL", "", "NUL byte", "text without NUL")
        return text


def text_lines(source: Source, config: ReadConfig) -> Iterator[str]:
    """The lines of a text file that are not blank."""
    return (line for line in _CsvLines(source, config) if line.strip())


def json_lines(source: Source, config: ReadConfig) -> Iterator[tuple[int, int, Any]]:
    """Line, byte offset and value of every line that is not blank, a `BadRecord` for one that is not JSON."""
    for chunk in chunks(blocks(source, config), config.max_record_bytes):
        if chunk.overlong:
            yield chunk.first, chunk.offset, line_too_long(chunk.overlong, config.max_record_bytes)
            continue
        for number, (offset, line) in enumerate(zip(chunk.offsets(), chunk.lines, strict=True), chunk.first):
            if line and not line.isspace():
                yield number, offset, decode_or_fault(line.removesuffix(b"\r"))


def _json_array(source: Source, config: ReadConfig) -> Iterator[tuple[int, int, Any]]:
    yield from json_parts(without_bom(blocks(source, config)), (), config.max_record_bytes)


def json_parts(
    stream: Iterable[bytes], lists: tuple[str, ...], max_bytes: int
) -> Iterator[tuple[int, int, Any]]:
    """Number from 1, byte offset and value of every part of a document, split as by `segments`."""
    for number, segment in enumerate(segments(stream, lists, max_bytes), 1):
        if segment.lost:
            yield number, segment.offset, line_too_long(segment.lost, max_bytes)
        else:
            yield number, segment.offset, segment.fault or decode_or_fault(segment.raw)


def decode_or_fault(raw: bytes) -> Any:
    """The JSON value, or the `BadRecord` of an invalid text."""
    try:
        return decode(raw)
    except BadRecord as bad:
        return bad


def without_bom(stream: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks of a stream without the byte order mark at its start."""
    start = True
    for block in stream:
        yield block.removeprefix(BOM) if start else block
        start = False


_STRUCTURE = re.compile(rb'["\[\]{},]')
_STRING_END = re.compile(rb'["\\]')
_KEY = re.compile(rb'\A\s*+"([^"\\]*+)"\s*+:\s*+')


@dataclass(frozen=True)
class Segment:
    """The bytes of one record (with its key, for a member) and their offset. `lost` is the size of a record
    that was too long to hold, `fault` that of a document that ends early or late."""

    offset: int
    raw: bytes
    lost: int = 0
    fault: BadRecord | None = None


def segments(stream: Iterable[bytes], lists: tuple[str, ...], max_bytes: int) -> Iterator[Segment]:
    """The records of a document: the parts of its top array or object, or, with `lists`, the elements
    of those members of the top object."""
    splitter = _Splitter({name.encode() for name in lists}, max_bytes)
    for block in stream:
        yield from splitter.feed(block)
    yield from splitter.end()


class _Splitter:
    """Tracks brackets and strings. `_start` is where the current part begins in `_data`; data before it are
    dropped."""

    def __init__(self, lists: set[bytes], max_bytes: int) -> None:
        self._lists = lists
        self._level = 2 if lists else 1
        self._max_bytes = max_bytes
        self._data = b""
        self._base = self._start = self._at = self._depth = self._lost = 0
        self._in_string = self._done = False
        self._wanted = not lists

    def feed(self, block: bytes) -> Iterator[Segment]:
        self._data = self._data[self._start :] + block
        self._base += self._start
        self._at -= self._start
        self._start = 0
        while self._next():
            yield from self._token()
        if self._at - self._start > self._max_bytes:
            self._lost += self._at - self._start
            self._start = self._at

    def _next(self) -> bool:
        """Move behind the next bracket or comma outside strings. Returns False at the end of the data."""
        while True:
            match = (_STRING_END if self._in_string else _STRUCTURE).search(self._data, self._at)
            if match is None:
                self._at = len(self._data)
                return False
            self._at = match.end()
            if match[0] == b"\\":
                if self._at == len(self._data):
                    self._at -= 1
                    return False
                self._at += 1
            elif match[0] == b'"':
                self._in_string = not self._in_string
            else:
                return True

    def _token(self) -> Iterator[Segment]:
        token = self._data[self._at - 1 : self._at]
        if token in b"[{":
            self._depth += 1
            if self._depth == 2 and self._lists:
                key = _KEY.fullmatch(self._data[self._start : self._at - 1])
                self._wanted = token == b"[" and key is not None and key[1] in self._lists
            if self._depth == self._level or not self._wanted:
                self._start = self._at
            return
        if self._depth == self._level and self._wanted:
            yield from self._part(token == b",")
        if token != b",":
            self._depth -= 1
            self._done = self._done or self._depth <= 0
            if self._lists and self._depth < self._level:
                self._wanted = False
        if self._depth < self._level or not self._wanted:
            self._start = self._at

    def _part(self, more: bool) -> Iterator[Segment]:
        raw = self._data[self._start : self._at - 1]
        offset = self._base + self._start + len(raw) - len(raw.lstrip())
        if self._lost or len(raw) > self._max_bytes:
            yield Segment(offset - self._lost, b"", self._lost + len(raw))
        elif raw.strip() or more:
            yield Segment(offset, raw.strip())
        self._lost = 0
        self._start = self._at

    def end(self) -> Iterator[Segment]:
        """Yield the fault of the document's end, if any."""
        rest = self._data[self._start :].strip()
        offset = self._base + self._start
        if not self._done or self._in_string or self._depth > 0:
            fault = BadRecord("E_TRUNCATED", "", "end of file", "a document that does not end early")
            yield Segment(offset, b"", fault=fault)
        elif rest or self._depth < 0:
            yield Segment(
                offset, b"", fault=BadRecord("E_TRAILING", "", "more text", "nothing after the document")
            )
