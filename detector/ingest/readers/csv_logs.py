"""CSV logs, one message a row. Quoting is strict, rows must be as wide as the header.

Cells are data: one that starts with ``=`` is a text like any other. If the rows of a dialogue are not
consecutive, rows are grouped on disk (`group_on_disk`).
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.column_words import column_names, normalize_name
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import file_error, preview_hint
from dialint.detector.ingest.readers.message_rows import (
    Columns,
    Row,
    Survey,
    check_privacy,
    gather_dialogues,
    group_on_disk,
)
from dialint.detector.ingest.readers.tables import CsvReader, text_lines
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.validation import ParsedRecord

GROUP = 256
N_TITLES = 20
"""First lines among which a header is searched."""
DELIMITERS = {",": "','", ";": "';'", "\t": Message("tab"), "|": "'|'"}
"""The delimiters that are tried, with their names in messages and options."""


def read_csv(
    source: Source, config: ReadConfig, warnings: Counter[str], facts: list[Message]
) -> Iterator[list[ParsedRecord]]:
    """Batches of dialogues, each with the line of its first row. Adds to `facts` what is unusual about the
    file.

    Raises:
        InputRefused: E_CSV with the line, for a header or quoting that makes the rest unreadable.
    """
    survey = check_csv(source, config)
    table = _Table(source, config)
    columns = survey.columns(source.name)
    rows = table.rows() if survey.is_together else group_on_disk(table.rows(), columns)
    if table.delimiter != ",":
        facts.append(Message("delimiter {name}", name=DELIMITERS.get(table.delimiter, table.delimiter)))
    facts += survey.facts()
    for at in columns.notes:
        facts.append(Message("internal notes by column {name}", name=repr(table.header[at])))
    batch: list[ParsedRecord] = []
    for result in gather_dialogues(rows, columns, config, warnings, survey.times(source.name)):
        batch.append(result)
        if len(batch) >= GROUP:
            yield batch
            batch = []
    if table.reader.n_marks:
        warnings["W_BOM"] += table.reader.n_marks
    if table.reader.n_returns:
        warnings["W_CRLF"] += table.reader.n_returns
    yield batch


def check_csv(source: Source, config: ReadConfig) -> Survey:
    """Read every row once.

    Raises:
        InputRefused: E_CSV; E_PRIVACY for a privacy cell of unknown meaning; E_ROLE for words of one side
            only; E_TIME for ambiguous dates;
            E_NO_RECORDS if there is no row but the header.
    """
    table = _Table(source, config)
    survey = Survey(table.columns, config)
    for row in table.rows():
        check_privacy(row, table.columns, config, source.name)
        survey.add(row)
    if not survey.n_rows:
        raise file_error("E_NO_RECORDS", source.name, "a header and no rows")
    survey.times(source.name)
    survey.columns(source.name)
    return survey


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
    """The advice for a table whose header is not its first line, such as one below a title."""
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


class _Table:
    """An open CSV log whose header has been read."""

    def __init__(self, source: Source, config: ReadConfig) -> None:
        self._source, self._config = source, config
        self.delimiter = delimiter_of(next(text_lines(source, config), ""), config)
        self.reader = CsvReader(source, config, self.delimiter)
        self.header = self.reader.next_row() or []
        columns = Columns.of(self.header, config)
        if isinstance(columns, Message):
            raise self._bad_header(columns)
        self.columns = columns

    def _bad_header(self, problem: Message) -> InputRefused:
        for sign, name in DELIMITERS.items():
            if len(self.header) == 1 and sign in self.header[0] and sign != self.delimiter:
                problem = Message(
                    "the delimiter is not {sign!r}; try --delimiter {name}", sign=self.delimiter, name=name
                )
        problem = header_below(text_lines(self._source, self._config), self._config) or Message(
            "line {n}: {problem}", n=1, problem=problem
        )
        hint = preview_hint(self._source.name)
        return file_error("E_CSV", self._source.name, "{problem}; or {hint}", problem=problem, hint=hint)

    def rows(self) -> Iterator[Row]:
        """The rows after the header, each with its fault if it cannot be used."""
        width = len(self.header)
        while (cells := self.reader.next_row()) is not None:
            yield Row(self.reader.line, self.reader.offset, cells, self.reader.fault(cells, width))
