"""Tables: CSV with any delimiter, JSON lines, one JSON array of objects, or Parquet.

    for line, row in read_table(Path("answers.csv")):
        ...

`read_table` raises for a file with a bad row; `read_rows` yields the fault in its place. Both hold one record
(Parquet: one batch) in memory, keep the limits of a `ReadConfig`, and decompress gzip and zstd. Values are
text in CSV, None for an empty cell, and JSON values elsewhere; a cell that was escaped so that no spreadsheet
takes it for a formula is unescaped. What a row means is up to the caller. `csv_table` is a CSV log with one
message a row; its cells are data, one that starts with ``=`` is a text like any other.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, file_error, json_kind, preview_hint
from dialint.detector.ingest.readers.columns import Columns, MessageTable, Row
from dialint.detector.ingest.readers.json_records import ParsedJson, json_lines, json_parts
from dialint.detector.ingest.readers.parquet import parquet_records
from dialint.detector.ingest.readers.streams import BOM, PARQUET, blocks, check_ending, magic, split_lines
from dialint.detector.ingest.sources import Source, open_logs
from dialint.detector.ingest.words import column_names, normalize_name
from dialint.detector.verdict_files import MAX_CELL, needs_escape, unescape_cell

TableFormat = Literal["jsonl", "json", "csv", "tsv", "semicolons", "parquet"]
SEPARATORS: dict[TableFormat, str] = {"csv": ",", "tsv": "\t", "semicolons": ";"}
DELIMITERS = {",": "','", ";": "';'", "\t": Message("tab"), "|": "'|'"}
"""The delimiters that are tried for logs, with their names in messages and options."""
N_TITLES = 20
"""First lines that are searched for a header."""
DEFAULT_CONFIG = ReadConfig()


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
    text = b"".join(islice(blocks(source, config), 2)).removeprefix(BOM).lstrip()
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
) -> Iterator[ParsedJson]:
    """The rows of `source`, each a dict or a `BadRecord`, in order, without blank lines.

    Raises:
        InputRefused: E_CSV or E_PARQUET for a table that cannot be read further.
    """
    if table_format in SEPARATORS:
        return csv_records(source, config, SEPARATORS[table_format])
    if table_format == "parquet":
        return parquet_records(source, config)
    values = json_lines(source, config) if table_format == "jsonl" else json_parts(source, (), config)
    return (
        one
        if isinstance(one.value, dict | BadRecord)
        else one._replace(value=BadRecord("E_TYPE", "", json_kind(one.value), "an object"))
        for one in values
    )


def csv_records(source: Source, config: ReadConfig, delimiter: str) -> Iterator[ParsedJson]:
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
            row = bad or dict(zip(header, map(_unescape, cells), strict=True))
            yield ParsedJson(reader.line, reader.offset, row)


def _unescape(cell: str) -> str | None:
    """Unescapes a cell; only the escapes of this package's writer are undone."""
    cell = cell.replace("\ufeff", "")
    return unescape_cell(cell) if cell.startswith("'") and needs_escape(cell[1:]) else cell or None


class CsvReader:
    """The rows of a CSV file. Quoting is strict. `line` and `offset` are those where the last row begins;
    `n_marks` counts the rows that begin with a byte order mark, as where files were joined, and `n_returns`
    the lines that end with a carriage return. `max_cell` is the most characters of a cell; the default is the
    csv module's own limit."""

    def __init__(
        self, source: Source, config: ReadConfig, delimiter: str, max_cell: int | None = None
    ) -> None:
        self._lines = split_lines(blocks(source, config), config.max_record_bytes)
        self._rows = csv.reader(self._read_lines(), delimiter=delimiter, strict=True)
        self._file, self._limit, self._max_cell = source.name, config.max_record_bytes, max_cell
        self.line = self._next_line = 1
        self.offset = self._next_offset = self.n_marks = self.n_returns = 0
        self._bad: BadRecord | None = None

    def next_row(self) -> list[str] | None:
        """The next row that is not blank, or None at the end.

        Raises:
            InputRefused: E_CSV, quoting that makes the rest unreadable, or a row that is too long.
        """
        limit = None if self._max_cell is None else csv.field_size_limit(self._max_cell)
        try:
            while True:
                self.line, self.offset, self._bad = self._next_line, self._next_offset, None
                row = next(self._rows, None)
                if row or row is None:
                    return row
        except csv.Error as error:
            is_open = "end of data" in str(error)
            cause = Message("a quote is not closed") if is_open else Message("bad quoting or a huge field")
            where = Message("line {n}, byte {offset}: {cause}", n=self.line, offset=self.offset, cause=cause)
            raise file_error("E_CSV", self._file, where) from None
        finally:
            if limit is not None:  # the csv module has one limit for the whole process
                csv.field_size_limit(limit)

    def fault(self, cells: list[str], width: int) -> BadRecord | None:
        """The fault of the last row: an invalid byte or character, or its number of cells."""
        if self._bad is None and len(cells) != width:
            actual = Message("{n} cells", n=len(cells))
            return BadRecord("E_CSV", "", actual, Message("{n} cells, as in the header", n=width))
        return self._bad

    def _read_lines(self) -> Iterator[str]:
        for number, offset, raw, lost in self._lines:
            if lost:
                problem = Message("line {n}: over {limit} bytes", n=number, limit=self._limit)
                raise file_error("E_CSV", self._file, problem)
            self._next_line, self._next_offset = number + 1, offset + len(raw) + 1
            self.n_returns += raw.endswith(b"\r")
            if self._next_offset - self.offset > self._limit:
                problem = Message("line {n}: a row of over {limit} bytes", n=self.line, limit=self._limit)
                raise file_error("E_CSV", self._file, problem)
            if raw.startswith(BOM) and number == self.line:
                self.n_marks += 1
                raw = raw.removeprefix(BOM)
            try:
                text = raw.decode()
            except UnicodeDecodeError:
                self._bad = BadRecord("E_UTF8", "", "a byte", "UTF-8 text")
                text = raw.decode(errors="replace")
            if "\0" in text and self._bad is None:
                self._bad = BadRecord("E_NUL", "", "NUL byte", "text without NUL")
            yield text + "\n"


def text_lines(source: Source, config: ReadConfig) -> Iterator[str]:
    """The lines of a text file that are not blank."""
    for _, _, raw, _ in split_lines(blocks(source, config), config.max_record_bytes):
        if raw.strip():
            yield raw.decode(errors="replace") + "\n"


@lru_cache(maxsize=16)
def delimiter_of(header: str, config: ReadConfig) -> str:
    """The configured delimiter, else the first one with which the header has the required columns, else the
    most frequent one."""
    if config.mapped.delimiter != "auto":
        return "\t" if config.mapped.delimiter == "tab" else config.mapped.delimiter
    for sign in DELIMITERS:
        if not isinstance(Columns.of(cells_of(header, sign), config), Message):
            return sign
    return max(DELIMITERS, key=header.count)


def header_below(lines: Iterable[str], config: ReadConfig) -> Message | None:
    """Advice for a table whose header is not its first line, such as one below a title."""
    for line in islice(lines, 1, N_TITLES):
        cells = set(map(normalize_name, cells_of(line.strip("\r\n"), delimiter_of(line, config))))
        if sum(not cells.isdisjoint(column_names()[meaning]) for meaning in ("id", "role", "text")) > 1:
            return Message("a title stands above the header of the table; delete the rows above the header")
    return None


def cells_of(line: str, delimiter: str) -> list[str]:
    """The cells of a one-line row; empty if its quoting is wrong."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def csv_table(source: Source, config: ReadConfig) -> MessageTable:
    """A CSV log with one message a row.

    Raises:
        InputRefused: E_CSV, a header without the required columns, or quoting that cannot be read.
    """
    delimiter = delimiter_of(next(text_lines(source, config), ""), config)
    seen: Counter[str] = Counter()
    header = []
    for name in CsvReader(source, config, delimiter).next_row() or []:
        seen[name] += 1
        header.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    columns = Columns.of(header, config)
    if isinstance(columns, Message):
        raise _bad_header(source, config, header, delimiter, columns)
    label = DELIMITERS.get(delimiter, delimiter)
    facts = [] if delimiter == "," else [Message("delimiter {name}", name=label)]

    def rows(warnings: Counter[str]) -> Iterator[Row]:
        reader = CsvReader(source, config, delimiter)
        reader.next_row()
        while (cells := reader.next_row()) is not None:
            if not any(map(str.strip, cells)):  # as spreadsheets save blank rows
                continue
            by_name = dict(zip(header, cells, strict=False))
            yield Row(reader.line, reader.offset, by_name, reader.fault(cells, len(header)))
        for name, n in (("W_BOM", reader.n_marks), ("W_CRLF", reader.n_returns)):
            if n:
                warnings[name] += n

    return MessageTable(columns, rows, facts)


def _bad_header(
    source: Source, config: ReadConfig, header: list[str], delimiter: str, problem: Message
) -> InputRefused:
    for sign, name in DELIMITERS.items():
        if len(header) == 1 and sign in header[0] and sign != delimiter:
            problem = Message(
                "the delimiter is not {sign!r}; try --delimiter {name}", sign=delimiter, name=name
            )
    problem = Message("line {n}: {problem}", n=1, problem=problem)
    problem = header_below(text_lines(source, config), config) or problem
    hint = preview_hint(source.name)
    return file_error("E_CSV", source.name, "{problem}; or {hint}", problem=problem, hint=hint)
