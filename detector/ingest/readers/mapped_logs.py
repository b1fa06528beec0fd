"""Logs of any shape that are read by a mapping: nested dialogues, or one message a record in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.formats.log_format import LogFormat as Format
from dialint.detector.ingest.mapping import CODE, MappedRecord, nearest, paths_of
from dialint.detector.ingest.outcomes import BadRecord, file_error, record_boundary
from dialint.detector.ingest.privacy import is_note_type
from dialint.detector.ingest.readers.format_detection import DetectedFormat
from dialint.detector.ingest.readers.json_logs import json_records
from dialint.detector.ingest.readers.message_rows import (
    MAX_NOTE_WORDS,
    Columns,
    Row,
    Survey,
    check_privacy,
    gather_dialogues,
    group_on_disk,
    mapped_draft,
)
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.validation import Draft, ParsedRecord

GROUP = 256
FIRST_RECORDS = 1000
"""Each path must have a value in at least one of the first so many records."""
EXAMPLE_RECORDS = 20
N_PATHS = 15


def mapped_format(config: ReadConfig, survey: Survey, file: str, *, streamed: bool) -> Format:
    """A format for records of which each holds whole dialogues."""
    shape = MappedRecord(config.mapped)
    columns, times = survey.columns(file), survey.times(file)

    def read(record: Any, fallback_id: str) -> Iterator[Draft]:
        for number, rows in enumerate(shape.dialogues(record, config.max_turns, streamed=streamed)):
            name = fallback_id if number == 0 else f"{fallback_id}/{number}"
            yield mapped_draft(rows, name, shape, columns, config, times)

    array: Literal["elements", "whole"] = "whole" if shape.lists[:1] == ("",) else "elements"
    return Format("mapped", lambda _: True, read, array, shape.lists[:1] if streamed else ())


def check_mapped(source: Source, detected: DetectedFormat, config: ReadConfig) -> Survey:
    """Read every record once.

    Raises:
        InputRefused: as `survey_records`.
    """
    return survey_records(
        json_records(source, detected, config), source, config, streamed=detected.split == "lists"
    )


def survey_records(
    records: Iterable[tuple[int, int, Any]], source: Source, config: ReadConfig, *, streamed: bool = False
) -> Survey:
    """Read every record once, and survey ids and times.

    Raises:
        InputRefused: E_MAPPING, a path has no value in the first records; E_PRIVACY; E_TIME.
    """
    shape = MappedRecord(config.mapped)
    columns = Columns.of_shape(shape, config)
    survey = Survey(columns, config)
    missing = set(range(len(shape.meanings)))
    first: list[object] = []
    n_records = 0
    words: dict[str, set[str]] = {}
    says_notes = not {"private", "type"}.isdisjoint(shape.meanings)
    for number, offset, record in records:
        if isinstance(record, BadRecord):
            continue
        n_records += 1
        if len(first) < EXAMPLE_RECORDS:
            first.append(record)
        try:
            with record_boundary():
                for cells in shape.messages(record, streamed):
                    row = Row(number, offset, cells)
                    check_privacy(row, columns, config, source.name)
                    survey.add(row)
                    if missing:
                        missing -= {at for at in missing if cells[at] is not None}
                for path, value in () if says_notes else shape.unread(record, streamed):
                    seen = words.setdefault(path, set())
                    if len(seen) < MAX_NOTE_WORDS and isinstance(value, str | None):
                        seen.add(value or "")
        except BadRecord:
            continue
        if missing and n_records >= FIRST_RECORDS:
            break
    if missing and n_records:
        raise _path_error(source, shape, missing, first, n_records, config)
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
    survey.times(source.name)
    survey.columns(source.name)
    return survey


def _path_error(
    source: Source,
    shape: MappedRecord,
    missing: set[int],
    first: list[object],
    n_records: int,
    config: ReadConfig,
) -> InputRefused:
    """The error for a path without a value, with the paths that exist, the most similar first."""
    at = min(missing)
    meaning = shape.meanings[at]
    path = config.mapped.fields[meaning]
    there = paths_of(first)
    near = [one for one in there if one.rpartition("[]")[0] == path.rpartition("[]")[0]]
    choices = ", ".join((near + [one for one in there if one not in near])[:N_PATHS])
    position = config.mapped.places.get(meaning, meaning)
    return InputRefused(
        CODE,
        "{place}: {path!r} is in none of the first {n} records of {file}; {nearest}there are {paths}",
        place=position,
        path=path,
        n=n_records,
        file=source.name,
        nearest=nearest(path, there),
        paths=choices or Message("none"),
    )


def read_mapped_rows(
    source: Source, detected: DetectedFormat, config: ReadConfig, warnings: Counter[str], facts: list[Message]
) -> Iterator[list[ParsedRecord]]:
    """Batches of dialogues of a log whose messages have the id of their dialogue.

    Raises:
        InputRefused: as `check_mapped`.
    """
    survey = check_mapped(source, detected, config)
    facts += survey.facts()
    shape = MappedRecord(config.mapped)
    columns = survey.columns(source.name)
    rows = iterate_rows(json_records(source, detected, config), shape, streamed=detected.split == "lists")
    if not survey.is_together:
        rows = group_on_disk(rows, columns)
    batch: list[ParsedRecord] = []
    for one in gather_dialogues(rows, columns, config, warnings, survey.times(source.name)):
        batch.append(one)
        if len(batch) >= GROUP:
            yield batch
            batch = []
    yield batch


def iterate_rows(
    records: Iterable[tuple[int, int, Any]], shape: MappedRecord, *, streamed: bool = False
) -> Iterator[Row]:
    """The messages of some records, one after the other."""
    empty = [None] * len(shape.meanings)
    for number, offset, record in records:
        if isinstance(record, BadRecord):
            yield Row(number, offset, empty, record)
            continue
        try:
            with record_boundary():
                for cells in shape.messages(record, streamed):
                    yield Row(number, offset, cells)
        except BadRecord as bad:
            yield Row(number, offset, empty, bad)
