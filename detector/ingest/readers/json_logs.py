"""Logs in JSON: one record a line, or records inside one document that may be larger than memory.

Lines are read by the fast path if it accepts them, else by the strict one; blank lines are skipped. Of a
document, only the boundaries of records are parsed first; a record has a number instead of a line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import chain, groupby, islice
from typing import Any

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.formats.log_format import LogFormat
from dialint.detector.ingest.outcomes import BadRecord, line_too_long, record_boundary, record_too_large
from dialint.detector.ingest.readers.csv_logs import delimiter_of
from dialint.detector.ingest.readers.encodings import blocks
from dialint.detector.ingest.readers.fast_lines import FastLines
from dialint.detector.ingest.readers.format_detection import DetectedFormat
from dialint.detector.ingest.readers.message_rows import Columns, Row, group_on_disk
from dialint.detector.ingest.readers.streams import BOM, Chunk, chunks
from dialint.detector.ingest.readers.strict_json import check_characters, decode
from dialint.detector.ingest.readers.tables import (
    Segment,
    csv_rows,
    decode_or_fault,
    json_lines,
    json_parts,
    segments,
    text_lines,
    without_bom,
)
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.validation import ParsedRecord, validate_drafts
from dialint.detector.records import Dialogue

BATCH = 256


def read_lines(
    source: Source, shape: LogFormat, config: ReadConfig, warnings: Counter[str], *, fast: bool = True
) -> Iterator[list[ParsedRecord]]:
    """Batches of records in order. `fast=False` reads every line by the strict path."""
    quick = FastLines(config) if fast and shape.name == "canonical" else None
    for chunk in chunks(blocks(source, config), config.max_record_bytes):
        if chunk.overlong:
            yield [
                ParsedRecord(
                    chunk.first, chunk.offset, line_too_long(chunk.overlong, config.max_record_bytes)
                )
            ]
        else:
            yield _chunk(chunk, source, shape, config, warnings, quick)


def _chunk(
    chunk: Chunk,
    source: Source,
    shape: LogFormat,
    config: ReadConfig,
    warnings: Counter[str],
    quick: FastLines | None,
) -> list[ParsedRecord]:
    lines = whole = chunk.lines
    if b"\r" in chunk.data and (n_returns := sum(line.endswith(b"\r") for line in lines)):
        warnings["W_CRLF"] += n_returns
        lines = [line.removesuffix(b"\r") for line in lines]
    limit = config.max_record_bytes
    quickly: list[Dialogue | None] = [None] * len(lines)
    if quick and max(map(len, lines)) <= limit:
        quickly = quick.dialogues(lines, warnings)
    results: list[ParsedRecord] = []
    offset = chunk.offset
    for number, (line, dialogue, raw) in enumerate(zip(lines, quickly, whole, strict=True), chunk.first):
        if dialogue is not None:
            results.append(ParsedRecord(number, offset, dialogue))
        elif len(line) > limit:
            results.append(ParsedRecord(number, offset, line_too_long(len(line), limit)))
        elif line and not line.isspace():
            results.extend(strict_record(line, number, offset, source, shape, config, warnings))
        offset += len(raw) + 1
    return results


def strict_record(
    raw: bytes,
    number: int,
    offset: int,
    source: Source,
    shape: LogFormat,
    config: ReadConfig,
    warnings: Counter[str],
    name: str | None = None,
) -> Iterator[ParsedRecord]:
    """The dialogues of one record. `name` is its id if the structure of the file provides one; else a record
    without an id is named after file and number."""
    if raw.startswith(BOM):
        warnings["W_BOM"] += 1
    try:
        record = decode(raw)
    except BadRecord as bad:
        yield ParsedRecord(number, offset, bad)
        return
    fallback = f"{source.label}:{number}" if name is None else name
    yield from validate_drafts(shape.drafts(record, fallback), number, offset, config, warnings)


def read_document(
    source: Source, detected: DetectedFormat, config: ReadConfig, warnings: Counter[str]
) -> Iterator[list[ParsedRecord]]:
    """Batches of the records of one JSON document, numbered from 1."""
    stream = without_bom(blocks(source, config))
    if detected.split == "whole":
        raw = b"".join(stream)
        yield list(strict_record(raw, 1, 0, source, detected.shape, config, warnings))
        return
    lists = detected.shape.members if detected.split == "lists" else ()
    batch: list[ParsedRecord] = []
    for number, segment in enumerate(segments(stream, lists, config.max_record_bytes), 1):
        batch.extend(_record(segment, number, source, detected, config, warnings))
        if len(batch) >= BATCH:
            yield batch
            batch = []
    yield batch


def read_text(
    source: Source, detected: DetectedFormat, config: ReadConfig, warnings: Counter[str]
) -> Iterator[list[ParsedRecord]]:
    """The one dialogue of a text."""
    raw = b"".join(without_bom(blocks(source, config)))
    try:
        text = raw.decode()
        check_characters("", text)
    except (UnicodeDecodeError, BadRecord) as fault:
        bad = fault if isinstance(fault, BadRecord) else BadRecord("E_UTF8", "", "a byte", "UTF-8 text")
        yield [ParsedRecord(1, 0, bad)]
        return
    assert detected.text is not None
    yield list(validate_drafts(detected.text.drafts(text, source.label, config), 1, 0, config, warnings))


def read_parts(
    source: Source, detected: DetectedFormat, config: ReadConfig, warnings: Counter[str]
) -> Iterator[list[ParsedRecord]]:
    """Batches of the dialogues of a format whose dialogues may be spread over records (`LogFormat.parts`),
    each at the line of its first part. The parts are grouped on disk. A record that cannot be read is
    rejected by itself."""
    faults: list[ParsedRecord] = []

    def rows() -> Iterator[Row]:
        assert detected.shape.parts is not None
        for number, offset, record in json_records(source, detected, config):
            try:
                if isinstance(record, BadRecord):
                    raise record
                with record_boundary():
                    for name, part in detected.shape.parts(record, f"{source.label}:{number}"):
                        yield Row(number, offset, [name, part])
            except BadRecord as bad:
                faults.append(ParsedRecord(number, offset, bad))

    def dialogues() -> Iterator[ParsedRecord]:
        for _, group in groupby(group_on_disk(rows(), Columns((0,), {})), key=lambda row: row.cells[0]):
            first = next(group)
            line, offset, name = first.line, first.offset, str(first.cells[0])
            parts: list[Any] = []
            size = 0
            for row in chain([first], group):
                size += len(json.dumps(row.cells[1]))
                if size <= config.max_record_bytes:
                    parts.append(row.cells[1])
            while faults and faults[0].line <= line:
                yield faults.pop(0)
            if size > config.max_record_bytes:
                bad = record_too_large(size, config.max_record_bytes, name)
                yield ParsedRecord(line, offset, bad)
            else:
                drafts = detected.shape.read(parts, name)
                yield from validate_drafts(drafts, line, offset, config, warnings)
        yield from faults

    iterator = dialogues()
    while batch := list(islice(iterator, BATCH)):
        yield batch


def json_records(
    source: Source, detected: DetectedFormat, config: ReadConfig
) -> Iterator[tuple[int, int, Any]]:
    """Line or number, byte offset and value of every record, or its `BadRecord`; not for members."""
    if detected.framing == "rows":
        yield from csv_rows(source, config, delimiter_of(next(text_lines(source, config), ""), config))
        return
    if detected.framing == "lines":
        yield from json_lines(source, config)
        return
    stream = without_bom(blocks(source, config))
    if detected.split == "whole":
        yield 1, 0, decode_or_fault(b"".join(stream))
        return
    lists = detected.shape.members if detected.split == "lists" else ()
    yield from json_parts(stream, lists, config.max_record_bytes)


def _record(
    segment: Segment,
    number: int,
    source: Source,
    detected: DetectedFormat,
    config: ReadConfig,
    warnings: Counter[str],
) -> Iterator[ParsedRecord]:
    if segment.lost:
        yield ParsedRecord(number, segment.offset, line_too_long(segment.lost, config.max_record_bytes))
    elif segment.fault is not None:
        yield ParsedRecord(number, segment.offset, segment.fault)
    elif detected.split != "members":
        yield from strict_record(
            segment.raw, number, segment.offset, source, detected.shape, config, warnings
        )
    else:
        try:
            members = decode(b"{" + segment.raw + b"}")
        except BadRecord as bad:
            yield ParsedRecord(number, segment.offset, bad)
            return
        for key, value in members.items():
            yield from validate_drafts(
                detected.shape.drafts(value, key), number, segment.offset, config, warnings
            )
