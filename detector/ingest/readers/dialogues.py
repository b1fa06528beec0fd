"""Reads the dialogues of a log of any kind: JSON records, a text, a table, or records read by a mapping.

Messages that stand in rows are surveyed in a first pass (`survey_log`), which refuses a file whose times,
words or paths have no meaning; its result is held for the second.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import Any, Literal

from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.log_format import LogFormat, RawDialogue
from dialint.detector.ingest.mapping import CODE, MappedRecord, nearest, paths_of
from dialint.detector.ingest.outcomes import BadRecord, file_error, record_boundary, record_too_large
from dialint.detector.ingest.readers.columns import MAX_NOTE_WORDS, Columns, MessageTable, Row, Survey
from dialint.detector.ingest.readers.format_detection import DetectedFormat
from dialint.detector.ingest.readers.grouping import gather_dialogues, group_on_disk, mapped_dialogue
from dialint.detector.ingest.readers.json_records import (
    ParsedJson,
    check_characters,
    decode_or_fault,
    json_lines,
    json_parts,
)
from dialint.detector.ingest.readers.parquet import check_sizes, parquet_records, parquet_table
from dialint.detector.ingest.readers.streams import blocks, without_bom
from dialint.detector.ingest.readers.tables import csv_records, csv_table, delimiter_of, text_lines
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.validation import ParsedRecord, validate_all
from dialint.detector.ingest.words import is_note_type

FIRST_RECORDS = 1000
"""Records in which each path must have a value at least once."""
EXAMPLE_RECORDS = 20
N_PATHS = 15


def read_dialogues(
    source: Source, detected: DetectedFormat, config: ReadConfig, warnings: Counter[str], facts: list[Message]
) -> Iterator[ParsedRecord]:
    """The dialogues and faults of a log in order, each with the line (or number) of its first record. Adds to
    `facts` what is unusual about the file.

    Raises:
        InputRefused: what `survey_log` refuses, or a log that cannot be read further.
    """
    if detected.text is not None:
        yield from _read_text(source, detected, config, warnings)
        return
    survey = survey_log(source, detected, config)
    table = _open_table(source, detected, config)
    if survey is not None and table is not None:
        columns = survey.columns()
        facts += [*table.facts, *survey.facts()]
        if detected.framing == "csv":
            facts += [Message("internal notes by column {name}", name=repr(name)) for name in columns.notes]
        rows = table.rows(warnings)
        if not survey.is_together:
            rows = group_on_disk(rows, columns)
        yield from gather_dialogues(rows, columns, survey.times(), warnings)
        return
    shape = detected.shape
    if survey is not None:
        facts += survey.facts()
        shape = mapped_format(config, survey, streamed=detected.split == "lists")
    if shape.parts is not None:
        yield from _read_parts(source, detected, config, warnings)
        return
    for number, offset, record in records_of(source, detected, config, warnings):
        if isinstance(record, BadRecord):
            yield ParsedRecord(number, offset, record)
            continue
        by_id = {f"{source.label}:{number}": record} if detected.split != "members" else record
        for name, value in by_id.items():
            yield from validate_all(shape.dialogues(value, name), number, offset, config, warnings)


def records_of(
    source: Source, detected: DetectedFormat, config: ReadConfig, warnings: Counter[str] | None = None
) -> Iterator[ParsedJson]:
    """Line or number, byte offset and value of every record, or its `BadRecord`."""
    if detected.framing == "parquet":
        return parquet_records(source, config, None if detected.paths is None else list(detected.paths))
    if detected.framing == "rows":
        return csv_records(source, config, delimiter_of(next(text_lines(source, config), ""), config))
    if detected.framing == "lines":
        return json_lines(source, config, warnings)
    if detected.split == "whole":
        return iter([ParsedJson(1, 0, decode_or_fault(b"".join(without_bom(blocks(source, config)))))])
    lists = detected.shape.members if detected.split == "lists" else ()
    return json_parts(source, lists, config, members=detected.split == "members")


def _open_table(source: Source, detected: DetectedFormat, config: ReadConfig) -> MessageTable | None:
    """The log as a table of messages; None if its records are whole dialogues.

    Raises:
        InputRefused: E_CSV or E_PARQUET, it has not the required columns.
    """
    if detected.by_mapping:
        shape = MappedRecord(config.mapped)
        return _mapped_table(source, detected, config, shape) if shape.by_row else None
    if detected.framing == "csv":
        return csv_table(source, config)
    return parquet_table(source, config) if detected.framing == "parquet" and detected.paths is None else None


def _mapped_table(
    source: Source, detected: DetectedFormat, config: ReadConfig, shape: MappedRecord
) -> MessageTable:
    """A table of the messages that a mapping extracts from records."""

    def rows(warnings: Counter[str]) -> Iterator[Row]:
        for number, offset, record in records_of(source, detected, config, warnings):
            try:
                if isinstance(record, BadRecord):
                    raise record
                with record_boundary():
                    for cells in shape.messages(record, detected.split == "lists"):
                        yield Row(number, offset, cells)
            except BadRecord as bad:
                yield Row(number, offset, {}, bad)

    return MessageTable(Columns.of_shape(shape, config), rows)


def mapped_format(config: ReadConfig, survey: Survey, *, streamed: bool) -> LogFormat:
    """The format of records of whole dialogues, read by the mapping of the options."""
    shape = MappedRecord(config.mapped)
    columns, times = survey.columns(), survey.times()

    def read(record: Any, fallback_id: str) -> Iterator[RawDialogue]:
        for number, rows in enumerate(shape.dialogues(record, config.max_turns, streamed=streamed)):
            name = fallback_id if number == 0 else f"{fallback_id}/{number}"
            yield mapped_dialogue(rows, name, shape, columns, times)

    array: Literal["elements", "whole"] = "whole" if shape.lists[:1] == ("",) else "elements"
    return LogFormat("mapped", lambda _: True, read, array)


@lru_cache(maxsize=8)
def survey_log(source: Source, detected: DetectedFormat, config: ReadConfig) -> Survey | None:
    """Surveys a log whose messages are read by columns or a mapping, in one pass; None for any other format.
    Of Parquet the sizes of all that is decoded are checked.

    Raises:
        InputRefused: E_CSV or E_PARQUET; E_EXPANSION; E_MAPPING, a path has no value in the first records;
            E_PRIVACY for a privacy cell of unknown meaning; E_ROLE for words of one side only; E_TIME for
            ambiguous dates; E_NO_RECORDS if there is no row but the header.
    """
    table = None if detected.by_mapping else _open_table(source, detected, config)
    paths = table.paths if table is not None else detected.paths
    if paths:
        check_sizes(source, list(paths), config)
    if detected.by_mapping:
        survey = _survey_mapped(source, detected, config)
    elif table is None:
        return None
    else:
        survey = Survey(table.columns, source.name)
        for row in table.rows(Counter()):
            survey.add(row)
        if not survey.n_rows:
            raise file_error("E_NO_RECORDS", source.name, "a header and no rows")
    survey.times()
    survey.columns()
    return survey


def _survey_mapped(source: Source, detected: DetectedFormat, config: ReadConfig) -> Survey:
    shape = MappedRecord(config.mapped)
    streamed = detected.split == "lists"
    survey = Survey(Columns.of_shape(shape, config), source.name)
    missing = dict(shape.paths)
    first: list[object] = []
    n_records = 0
    words: dict[str, set[str]] = {}
    reads_notes = not {"private", "type"}.isdisjoint(missing.values())
    for number, offset, record in records_of(source, detected, config):
        if isinstance(record, BadRecord):
            continue
        n_records += 1
        if len(first) < EXAMPLE_RECORDS:
            first.append(record)
        try:
            with record_boundary():
                for cells in shape.messages(record, streamed):
                    survey.add(Row(number, offset, cells))
                    for path in [path for path in missing if cells[path] is not None]:
                        del missing[path]
                for path, value in () if reads_notes else shape.unread(record, streamed):
                    seen = words.setdefault(path, set())
                    if len(seen) < MAX_NOTE_WORDS and isinstance(value, str | None):
                        seen.add(value or "")
        except BadRecord:
            continue
        if missing and n_records >= FIRST_RECORDS:
            break
    if missing and n_records:
        raise _path_error(source, shape, next(iter(missing.values())), first, n_records, config)
    _refuse_unread_notes(words, source)
    return survey


def _refuse_unread_notes(words: dict[str, set[str]], source: Source) -> None:
    """Refuses a log with words for internal notes at a path that the mapping does not read."""
    for path, seen in words.items():
        word = next(filter(is_note_type, sorted(seen)), None)
        if word is not None and 1 < len(seen) < MAX_NOTE_WORDS:
            raise file_error(
                "E_PRIVACY", source.name,
                "{path!r} holds {word!r}, a word for internal notes, and the mapping does not read it; leave "
                "them out with --column type={path}, or say --column private={path} --privacy "
                "'{word}=public'",
                path=path, word=word,
            )  # fmt: skip


def _path_error(
    source: Source, shape: MappedRecord, meaning: str, first: list[object], n_records: int, config: ReadConfig
) -> InputRefused:
    """The error for a path without a value, with the paths that exist, the most similar first."""
    path = config.mapped.fields[meaning]
    there = paths_of(first)
    near = [one for one in there if one.rpartition("[]")[0] == path.rpartition("[]")[0]]
    choices = ", ".join((near + [one for one in there if one not in near])[:N_PATHS])
    return InputRefused(
        CODE, "{place}: {path!r} is in none of the first {n} records of {file}; {nearest}there are {paths}",
        place=config.mapped.places.get(meaning, meaning), path=path, n=n_records, file=source.name,
        nearest=nearest(path, there), paths=choices or Message("none"),
    )  # fmt: skip


def _read_text(
    source: Source, detected: DetectedFormat, config: ReadConfig, warnings: Counter[str]
) -> Iterator[ParsedRecord]:
    raw = b"".join(without_bom(blocks(source, config)))
    try:
        text = raw.decode()
        check_characters(text)
    except UnicodeDecodeError:
        yield ParsedRecord(1, 0, BadRecord("E_UTF8", "", "a byte", "UTF-8 text"))
    except BadRecord as bad:
        yield ParsedRecord(1, 0, bad)
    else:
        assert detected.text is not None
        yield from validate_all(detected.text.dialogues(text, source.label, config), 1, 0, config, warnings)


def _read_parts(
    source: Source, detected: DetectedFormat, config: ReadConfig, warnings: Counter[str]
) -> Iterator[ParsedRecord]:
    """The dialogues of a format whose dialogues may be spread over records (`LogFormat.parts`), each at the
    line of its first part. The parts are grouped on disk. A record that cannot be read is a fault of its own.
    """
    faults: list[ParsedRecord] = []
    shape = detected.shape
    assert shape.parts is not None
    split = shape.parts

    def rows() -> Iterator[Row]:
        for number, offset, record in records_of(source, detected, config, warnings):
            try:
                if isinstance(record, BadRecord):
                    raise record
                with record_boundary():
                    for name, part in split(record, f"{source.label}:{number}"):
                        yield Row(number, offset, {"id": name, "part": part})
            except BadRecord as bad:
                faults.append(ParsedRecord(number, offset, bad))

    grouped = group_on_disk(rows(), Columns(config, ("id",), {}))
    for name, members in groupby(grouped, key=lambda row: str(row.cells["id"])):
        parts: list[Any] = []
        line = offset = -1
        size = 0
        for row in members:
            if line < 0:
                line, offset = row.line, row.offset
            size += len(json.dumps(row.cells["part"]))
            if size <= config.max_record_bytes:
                parts.append(row.cells["part"])
        while faults and faults[0].line <= line:
            yield faults.pop(0)
        if size > config.max_record_bytes:
            yield ParsedRecord(line, offset, record_too_large(size, config.max_record_bytes, name))
        else:
            yield from validate_all(shape.read(parts, name), line, offset, config, warnings)
    yield from faults
