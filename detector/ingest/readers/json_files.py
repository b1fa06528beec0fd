"""Logs in JSON: one record a line, or records inside one document that may be larger than memory.

Lines take the fast path where it accepts them, else the strict one; blank lines are no records. In a
document, only the boundaries of records are searched for, and a record has a number instead of a line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.formats.registry import Shape
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.readers.encodings import blocks
from dialint.detector.ingest.readers.fast_lines import FastLines
from dialint.detector.ingest.readers.format_detection import Recognised
from dialint.detector.ingest.readers.streams import BOM, Chunk, chunks
from dialint.detector.ingest.readers.strict_json import decode
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.validation import Found, finished
from dialint.detector.records import Dialogue


def read_lines(
    source: Source, shape: Shape, config: ReadConfig, warnings: Counter[str], *, fast: bool = True
) -> Iterator[list[Found]]:
    """Batches of records in order. `fast=False` takes the strict way for every line."""
    quick = FastLines(config) if fast and shape.name == "canonical" else None
    for chunk in chunks(blocks(source, config), config.max_record_bytes):
        if chunk.overlong:
            yield [Found(chunk.first, chunk.offset, overlong(chunk.overlong, config))]
        else:
            yield _chunk(chunk, source, shape, config, warnings, quick)


def overlong(length: int, config: ReadConfig) -> BadRecord:
    """The fault of a record that is too long to be held."""
    return BadRecord(
        "E_LINE_SIZE", "", f"{length} bytes", f"at most {config.max_record_bytes} bytes; one record a line"
    )


def _chunk(
    chunk: Chunk,
    source: Source,
    shape: Shape,
    config: ReadConfig,
    warnings: Counter[str],
    quick: FastLines | None,
) -> list[Found]:
    lines = whole = chunk.lines
    if b"\r" in chunk.data and (n_returns := sum(line.endswith(b"\r") for line in lines)):
        warnings["W_CRLF"] += n_returns
        lines = [line.removesuffix(b"\r") for line in lines]
    limit = config.max_record_bytes
    quickly: list[Dialogue | None] = [None] * len(lines)
    if quick and max(map(len, lines)) <= limit:
        quickly = quick.dialogues(lines, warnings)
    found: list[Found] = []
    offset = chunk.offset
    for number, (line, dialogue, raw) in enumerate(zip(lines, quickly, whole, strict=True), chunk.first):
        if dialogue is not None:
            found.append(Found(number, offset, dialogue))
        elif len(line) > limit:
            found.append(Found(number, offset, overlong(len(line), config)))
        elif line and not line.isspace():
            found.extend(strict_record(line, number, offset, source, shape, config, warnings))
        offset += len(raw) + 1
    return found


def strict_record(
    raw: bytes,
    number: int,
    offset: int,
    source: Source,
    shape: Shape,
    config: ReadConfig,
    warnings: Counter[str],
    name: str | None = None,
) -> Iterator[Found]:
    """The dialogues of one record's bytes. `name` is its id where the file's structure gives it one;
    else a record without an id is called by file and number."""
    try:
        record = decode(raw)
    except BadRecord as bad:
        yield Found(number, offset, bad)
        return
    fallback = f"{source.label}:{number}" if name is None else name
    yield from finished(shape.drafts(record, fallback), number, offset, config, warnings)


def line_records(source: Source, config: ReadConfig) -> Iterator[tuple[int, int, Any]]:
    """Line, byte offset and value of every record, a `BadRecord` for what is none."""
    for chunk in chunks(blocks(source, config), config.max_record_bytes):
        if chunk.overlong:
            yield chunk.first, chunk.offset, overlong(chunk.overlong, config)
            continue
        for number, (offset, line) in enumerate(zip(chunk.offsets(), chunk.lines, strict=True), chunk.first):
            if line and not line.isspace():
                yield number, offset, decoded(line.removesuffix(b"\r"))


def decoded(raw: bytes) -> Any:
    """The JSON value, or the `BadRecord` that it is none."""
    try:
        return decode(raw)
    except BadRecord as bad:
        return bad


_STRUCTURE = re.compile(rb'["\[\]{},]')
_STRING_END = re.compile(rb'["\\]')
_KEY = re.compile(rb'\A\s*+"([^"\\]*+)"\s*+:\s*+')
BATCH = 256


@dataclass(frozen=True)
class Segment:
    """The bytes of one record (with its key, for a member) and their offset; `lost` counts the bytes
    of one that was too long to hold, `fault` names what ended the document early or late."""

    offset: int
    raw: bytes
    lost: int = 0
    fault: BadRecord | None = None


def read_document(
    source: Source, found: Recognised, config: ReadConfig, warnings: Counter[str]
) -> Iterator[list[Found]]:
    """Batches of the records of one JSON document, numbered from 1."""
    stream = _without_bom(blocks(source, config))
    if found.split == "whole":
        raw = b"".join(stream)
        yield list(strict_record(raw, 1, 0, source, found.shape, config, warnings))
        return
    lists = found.shape.members if found.split == "lists" else ()
    batch: list[Found] = []
    for number, segment in enumerate(segments(stream, lists, config.max_record_bytes), 1):
        batch.extend(_record(segment, number, source, found, config, warnings))
        if len(batch) >= BATCH:
            yield batch
            batch = []
    yield batch


def document_records(source: Source, found: Recognised, config: ReadConfig) -> Iterator[tuple[int, int, Any]]:
    """Number, byte offset and value of every record, a `BadRecord` for what is none; not for members."""
    stream = _without_bom(blocks(source, config))
    if found.split == "whole":
        yield 1, 0, decoded(b"".join(stream))
        return
    lists = found.shape.members if found.split == "lists" else ()
    for number, segment in enumerate(segments(stream, lists, config.max_record_bytes), 1):
        if segment.lost:
            yield number, segment.offset, overlong(segment.lost, config)
        else:
            yield number, segment.offset, segment.fault or decoded(segment.raw)


def _record(
    segment: Segment,
    number: int,
    source: Source,
    found: Recognised,
    config: ReadConfig,
    warnings: Counter[str],
) -> Iterator[Found]:
    if segment.lost:
        yield Found(number, segment.offset, overlong(segment.lost, config))
    elif segment.fault is not None:
        yield Found(number, segment.offset, segment.fault)
    elif found.split != "members":
        yield from strict_record(segment.raw, number, segment.offset, source, found.shape, config, warnings)
    else:
        try:
            members = decode(b"{" + segment.raw + b"}")
        except BadRecord as bad:
            yield Found(number, segment.offset, bad)
            return
        for key, value in members.items():
            yield from finished(found.shape.drafts(value, key), number, segment.offset, config, warnings)


def _without_bom(stream: Iterable[bytes]) -> Iterator[bytes]:
    start = True
    for block in stream:
        yield block.removeprefix(BOM) if start else block
        start = False


def segments(stream: Iterable[bytes], lists: tuple[str, ...], max_bytes: int) -> Iterator[Segment]:
    """The records of a document: the parts of its top array or object, or, with `lists`, the elements
    of those members of the top object."""
    splitter = _Splitter({name.encode() for name in lists}, max_bytes)
    for block in stream:
        yield from splitter.feed(block)
    yield from splitter.end()


class _Splitter:
    """Follows brackets and strings. `_start` is where the current part begins in `_data`; what lies
    before it is forgotten."""

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
        """Move behind the next bracket or comma outside strings; false if the data ran out."""
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
        """What is wrong with the end of the document, if anything."""
        rest = self._data[self._start :].strip()
        offset = self._base + self._start
        if not self._done or self._in_string or self._depth > 0:
            fault = BadRecord("E_TRUNCATED", "", "end of file", "a document that does not end early")
            yield Segment(offset, b"", fault=fault)
        elif rest or self._depth < 0:
            yield Segment(
                offset, b"", fault=BadRecord("E_TRAILING", "", "more text", "nothing after the document")
            )
