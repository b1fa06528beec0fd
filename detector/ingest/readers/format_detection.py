"""Detects the format of a log by its content; the file's ending must not contradict it.

Reads the first megabyte. Formats that are recognised and not supported are refused with a hint.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from dialint.detector.errors import Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.formats.log_format import LogFormat, TextFormat
from dialint.detector.ingest.formats.mapped import log_format
from dialint.detector.ingest.formats.registry import CANONICAL, log_formats
from dialint.detector.ingest.formats.transcripts import TEXT_FORMATS
from dialint.detector.ingest.mapping import MappedRecord as MappedShape
from dialint.detector.ingest.outcomes import file_error, preview_hint
from dialint.detector.ingest.readers.csv_logs import cells_of, delimiter_of, header_below
from dialint.detector.ingest.readers.encodings import blocks
from dialint.detector.ingest.readers.message_rows import Columns
from dialint.detector.ingest.readers.streams import BOM, JSON_LINES, PARQUET, check_ending, magic
from dialint.detector.ingest.sources import Source

PREFIX_BYTES = 1 << 20
N_ELEMENTS = 20
"""Elements of an array by which its format is recognised."""
_CHAT_HEAD = re.compile(rb'\[[^\]\n"{\[]{1,80}\](?::|[ ])[^\n]')
"""A time or a speaker in brackets, before what was said."""
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},]', re.DOTALL)


@dataclass(frozen=True)
class DetectedFormat:
    """Framing of the file, and the format of its records if they are JSON. `split` is how a document is split
    into records: the whole, its elements, its members, or lists in members. `by_mapping`: JSON is read by a
    mapping. `rows`: the rows of a table are records of `shape`. `text` is the format of a text."""

    framing: Literal["lines", "document", "csv", "rows", "text", "parquet"]
    shape: LogFormat = CANONICAL
    split: Literal["whole", "elements", "members", "lists"] = "whole"
    bom: bool = False
    by_mapping: bool = False
    text: TextFormat | None = None


def detect_format(source: Source, config: ReadConfig) -> DetectedFormat:
    """The format of `source`.

    Raises:
        InputRefused: E_FORMAT, E_ENCODING, E_NO_RECORDS, or what decompression refuses.
    """
    ending = check_ending(source)
    if magic(source).startswith(PARQUET):
        if config.format not in ("auto", "parquet"):
            raise file_error("E_FORMAT", source.name, "is Parquet and not {name}", name=config.format)
        return DetectedFormat("parquet")
    prefix = _prefix(source, config)
    return replace(_detect_text(prefix, source, config, ending), bom=prefix.startswith(BOM))


def _detect_text(prefix: bytes, source: Source, config: ReadConfig, ending: str) -> DetectedFormat:
    text = prefix.removeprefix(BOM).lstrip()
    if not text:
        raise file_error(
            "E_NO_RECORDS", source.name, "nothing but blank lines" if prefix else "the file is empty"
        )
    if config.format in ("csv", "parquet"):
        if config.format == "parquet" or text[:1] in b"{[":
            raise file_error("E_FORMAT", source.name, "is not {name}", name=config.format)
        return DetectedFormat("csv")
    requested = next((one for one in TEXT_FORMATS if one.name == config.format), None)
    if requested is not None:
        return DetectedFormat("text", text=requested)
    if text[:1] in b"{[" and not _CHAT_HEAD.match(text) and ending not in (".csv", ".tsv", ".parquet"):
        return _json(text, source, config, ending)
    return _text(text, source, config, ending)


def _prefix(source: Source, config: ReadConfig) -> bytes:
    """The first megabyte, of which blank blocks at the start do not count."""
    result = b""
    for block in blocks(source, config):
        if result and not result.removeprefix(BOM).strip():
            result = BOM if result.startswith(BOM) else b"\n"
        result += block
        if len(result) >= PREFIX_BYTES:
            break
    return result[:PREFIX_BYTES]


def _text(text: bytes, source: Source, config: ReadConfig, ending: str) -> DetectedFormat:
    header = text.partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    names = cells_of(header, delimiter_of(header, config))
    is_json = text[:1] in b"{[" and not _CHAT_HEAD.match(text)
    if is_json or (ending == ".json" and not text[:1].isalpha()):
        raise file_error("E_FORMAT", source.name, "holds JSON, against its ending {ending}", ending=ending)
    row = _first_row(text, names, header, config)
    shape = _requested_format(config) or next((one for one in log_formats() if one.matches(row)), None)
    if shape is not None and shape.parts is not None and not config.column and not config.mapped.is_whole:
        return DetectedFormat("rows", shape)
    if ending in (".csv", ".tsv") or not isinstance(Columns.of(names, config), Message):
        return DetectedFormat("csv")
    if ending in (".json", *JSON_LINES):
        return DetectedFormat("lines", _requested_format(config) or CANONICAL)
    start = text.decode(errors="replace")
    for format in TEXT_FORMATS:
        if format.matches(start):
            return DetectedFormat("text", text=format)
    if advice := header_below(filter(str.strip, start.split("\n")), config):
        raise file_error("E_FORMAT", source.name, advice)
    raise file_error(
        "E_FORMAT", source.name, "{problem}; {hint}",
        problem=Message("is none of the formats that are read"),
        hint=Message("name it with --input-format, or {hint}", hint=preview_hint(source.name)),
    )  # fmt: skip


def _first_row(text: bytes, names: list[str], header: str, config: ReadConfig) -> dict[str, str]:
    """The first row of a table by its header; empty if there is none."""
    lines = text[:PREFIX_BYTES].decode(errors="replace").splitlines(keepends=True)
    with suppress(csv.Error):
        rows = csv.reader(lines, delimiter=delimiter_of(header, config))
        return dict(zip(names, next(islice(rows, 1, None), []), strict=False))
    return {}


def _requested_format(config: ReadConfig) -> LogFormat | None:
    """The format that the options name, or that of a mapping file with `turns`."""
    if config.format == "auto":
        return None if config.mapped.tree is None else log_format(config.mapped.tree)
    return next((shape for shape in log_formats() if shape.name == config.format), None)


def _detect_mapped(text: bytes, config: ReadConfig, ending: str) -> DetectedFormat:
    """The framing of records that are read by a mapping; their format is built later."""
    if is_one_record_a_line(text, ending):
        return DetectedFormat("lines", by_mapping=True)
    shape = MappedShape(config.mapped)
    if text[:1] == b"[":
        return DetectedFormat(
            "document", split="whole" if shape.lists[:1] == ("",) else "elements", by_mapping=True
        )
    if not shape.is_streamed():
        return DetectedFormat("document", split="whole", by_mapping=True)
    members = LogFormat("mapped", lambda _: True, lambda *_: (), members=shape.lists[:1])
    return DetectedFormat("document", members, "lists", by_mapping=True)


def _json(text: bytes, source: Source, config: ReadConfig, ending: str) -> DetectedFormat:
    if config.mapped.is_whole and config.format == "auto":
        return _detect_mapped(text, config, ending)
    whole = parse_prefix(text)
    if is_one_record_a_line(text, ending):
        return DetectedFormat("lines", _requested_format(config) or _of_lines(text))
    requested = _requested_format(config)
    detected = _document(whole, [requested] if requested else list(log_formats()))
    if detected is None:
        detected = DetectedFormat(
            "document", requested or CANONICAL, "elements" if text[:1] == b"[" else "whole"
        )
    if detected.split == "whole" and text[:1] == b"{" and b"\n" not in text and ending != ".json":
        return DetectedFormat("lines", detected.shape)  # one long line: passed over if it is too long
    return detected


def is_one_record_a_line(text: bytes, ending: str) -> bool:
    """Whether records are one a line, and not in one document over several lines."""
    first, newline, rest = text.partition(b"\n")
    if _is_object(first) is not None:
        follows = rest.lstrip()[:1] in (b"{", b"[") if ending == ".json" else bool(rest.strip())
        return follows or (ending in JSON_LINES and text[:1] == b"{")
    if not newline:
        return ending in JSON_LINES
    spread = first.rstrip()[-1:] in (b"[", b"{", b",", b":")
    later = any(_is_object(line) for line in rest.split(b"\n", 20)[:20])
    if ending in JSON_LINES and first.strip() not in (b"[", b"{"):
        return later or not spread
    return later and not spread


def _is_object(line: bytes) -> bool | None:
    """Whether a line is a JSON object; None if it is not JSON."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return None


def _of_lines(text: bytes) -> LogFormat:
    for record in islice(_records(text), 50):
        for shape in log_formats():
            if shape.matches(record):
                return shape
    return CANONICAL


def _records(text: bytes) -> Iterator[Any]:
    for line in text.split(b"\n"):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def _document(whole: Any, shapes: list[LogFormat]) -> DetectedFormat | None:
    for shape in shapes:
        lists = [whole.get(name) for name in shape.members] if isinstance(whole, dict) else []
        if any(isinstance(value, list) and value and shape.matches(value[0]) for value in lists):
            return DetectedFormat("document", shape, "lists")
        if shape.matches(whole):
            return DetectedFormat("document", shape, "whole")
    for shape in shapes:
        if isinstance(whole, list) and any(map(shape.matches, whole[:N_ELEMENTS])):
            return DetectedFormat("document", shape, "elements")
        if (
            isinstance(whole, dict)
            and shape.members == ("*",)
            and all(map(shape.matches, whole.values() or [0]))
        ):
            return DetectedFormat("document", shape, "members")
    return None


def parse_prefix(text: bytes) -> Any:
    """Parse the JSON value at the start of `text`. If its end is missing, it is cut after the last complete
    element and closed. Text after a complete value is ignored. None if it is not JSON."""
    string = text.decode(errors="replace")
    try:
        return json.JSONDecoder(strict=False).raw_decode(string)[0]
    except RecursionError:
        return None
    except ValueError:
        pass
    closers: list[str] = []
    cuts: list[tuple[int, str]] = []
    for match in _TOKEN.finditer(string):
        token = match[0]
        if token in "[{":
            closers.append("]" if token == "[" else "}")
            if len(closers) <= 40:
                cuts.append((match.end(), "".join(reversed(closers))))
        elif token in "]}":
            if not closers or closers.pop() != token or not closers:
                return None
        elif token == "," and len(closers) <= 40:
            cuts.append((match.start(), "".join(reversed(closers))))
    for position, closing in reversed(cuts[-3:]):
        try:
            return json.loads(string[:position] + closing, strict=False)
        except (ValueError, RecursionError):
            continue
    return None
