"""CSV logs, one message a row. Quoting is strict, rows must be as wide as the header.

Cells are data: one that starts with ``=`` is a text like any other. Dialogues need not stand together:
where they do not, rows are brought together on disk (`regroup`).
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, refuse, try_preview
from dialint.detector.ingest.readers.encodings import blocks
from dialint.detector.ingest.readers.message_rows import (
    Columns,
    Row,
    Survey,
    check_privacy,
    gather,
    regrouped,
)
from dialint.detector.ingest.readers.streams import chunks
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.validation import Found

GROUP = 256
DELIMITERS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
"""Those that are tried, and how messages and options call them."""


def read_csv(
    source: Source, config: ReadConfig, warnings: Counter[str], facts: list[str]
) -> Iterator[list[Found]]:
    """Batches of dialogues, each at the line of its first row; `facts` gets what was found out of the file.

    Raises:
        InputRefused: E_CSV with the line, for a header or quoting that makes the rest unreadable.
    """
    survey = check_csv(source, config)
    table = _Table(source, config)
    rows = table.rows() if survey.is_together else regrouped(table.rows(), table.columns)
    if table.delimiter != ",":
        facts.append(f"delimiter {DELIMITERS.get(table.delimiter, table.delimiter)}")
    facts += survey.facts()
    batch: list[Found] = []
    for found in gather(rows, table.columns, config, warnings, survey.times(source.name)):
        batch.append(found)
        if len(batch) >= GROUP:
            yield batch
            batch = []
    if table.feed.n_returns:
        warnings["W_CRLF"] += table.feed.n_returns
    yield batch


def check_csv(source: Source, config: ReadConfig) -> Survey:
    """Read every row once.

    Raises:
        InputRefused: E_CSV; E_PRIVACY for a privacy cell that says nothing; E_TIME where dates can be read in
            two ways; E_NO_RECORDS where there is no row but the header.
    """
    table = _Table(source, config)
    survey = Survey(table.columns, config)
    for row in table.rows():
        check_privacy(row, table.columns, config, source.name)
        survey.add(row)
    if not survey.n_rows:
        raise refuse("E_NO_RECORDS", source.name, "a header and no rows")
    survey.times(source.name)
    return survey


def delimiter_of(header: str, config: ReadConfig) -> str:
    """The delimiter that was named, else the one by which a header has the columns that are needed, else the
    one that stands there most often."""
    if config.mapped.delimiter != "auto":
        return "\t" if config.mapped.delimiter == "tab" else config.mapped.delimiter
    for sign in DELIMITERS:
        if not isinstance(Columns.of(cells_of(header, sign), config), str):
            return sign
    return max(DELIMITERS, key=header.count)


def cells_of(line: str, delimiter: str) -> list[str]:
    """The cells of a row that is one line; none if its quoting is wrong."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


class _Feed:
    """Decoded lines for the csv module; `line` and `offset` are those of the next one, `bad` is what
    was wrong with a line since the row began."""

    def __init__(self, source: Source, config: ReadConfig) -> None:
        self.line, self.offset, self.n_returns = 1, 0, 0
        self.bad: BadRecord | None = None
        self._lines = self._read(source, config)
        self._name, self._limit, self._row_line, self._row_offset = source.name, config.max_record_bytes, 1, 0

    def begin_row(self) -> None:
        """The next line begins a row."""
        self.bad, self._row_line, self._row_offset = None, self.line, self.offset

    def _read(self, source: Source, config: ReadConfig) -> Iterator[tuple[int, bytes]]:
        for chunk in chunks(blocks(source, config), config.max_record_bytes):
            if chunk.overlong:
                raise refuse(
                    "E_CSV", source.name, f"line {chunk.first}: over {config.max_record_bytes} bytes"
                )
            yield from zip(chunk.offsets(), chunk.lines, strict=True)

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        offset, raw = next(self._lines)
        self.line += 1
        self.offset = offset + len(raw) + 1
        self.n_returns += raw.endswith(b"\r")
        if self.offset - self._row_offset > self._limit:
            message = f"line {self._row_line}: a row of over {self._limit} bytes"
            raise refuse("E_CSV", self._name, message)
        return self._decoded(raw) + "\n"

    def _decoded(self, raw: bytes) -> str:
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            self.bad = BadRecord("E_UTF8", "", "a byte", "UTF-8 text")
            return raw.decode(errors="replace")
        if "\0" in text:
            self.bad = BadRecord("E_NUL", "", "NUL byte", "text without NUL")
        elif "\ufeff" in text:
            self.bad = BadRecord("E_BOM", "", "U+FEFF", "no byte order mark within a file")
        return text


class _Table:
    """A CSV file opened: its header read, its rows to come."""

    def __init__(self, source: Source, config: ReadConfig) -> None:
        self._source = source
        header = next((line for line in _Feed(source, config) if line.strip()), "")
        self.delimiter = delimiter_of(header, config)
        self.feed = _Feed(source, config)
        self._reader = csv.reader(self.feed, delimiter=self.delimiter, strict=True)
        self.header = self._next() or []
        columns = Columns.of(self.header, config)
        if isinstance(columns, str):
            raise self._bad_header(columns)
        self.columns = columns

    def _next(self) -> list[str] | None:
        """The next row that is not blank, or none at the end."""
        while True:
            self.line, self.offset = self.feed.line, self.feed.offset
            self.feed.begin_row()
            try:
                row = next(self._reader, None)
            except csv.Error as error:
                cause = (
                    "a quote is not closed" if "end of data" in str(error) else "bad quoting or a huge field"
                )
                message = f"line {self.line}, byte {self.offset}: {cause}"
                raise refuse("E_CSV", self._source.name, message) from None
            if row or row is None:
                return row

    def _bad_header(self, problem: str) -> InputRefused:
        for sign, name in DELIMITERS.items():
            if len(self.header) == 1 and sign in self.header[0] and sign != self.delimiter:
                problem = f"the delimiter is not {self.delimiter!r}; try --delimiter {name}"
        return refuse("E_CSV", self._source.name, f"line 1: {problem}; or {try_preview(self._source.name)}")

    def rows(self) -> Iterator[Row]:
        """The rows after the header; one that cannot be used says why."""
        width = len(self.header)
        while (cells := self._next()) is not None:
            bad = self.feed.bad
            if bad is None and len(cells) != width:
                bad = BadRecord("E_CSV", "", f"{len(cells)} cells", f"{width} cells, as in the header")
            yield Row(self.line, self.offset, cells, bad)
