"""Logs with one JSON record a line, of any format: the quick way where it vouches, else the strict.

Splits at line feeds only; blank lines are no records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.found import Found, finished
from dialint.detector.ingest.framing.encodings import blocks
from dialint.detector.ingest.framing.fastlines import FastLines
from dialint.detector.ingest.framing.lines import Chunk, chunks
from dialint.detector.ingest.framing.strictjson import decode
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.shapes import Shape
from dialint.detector.ingest.sources import Source
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
