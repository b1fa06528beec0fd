"""Detects the format of a log by its content; the file's ending must not contradict it.

Reads the first megabyte. Formats that are recognised and not supported are refused with a hint. Formats that
are read by code are entries of the group ``dialint.formats``: dialint's own, those of installed packages, or
those of a file that ``--input-format FILE.py`` names; the others are mapping files.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Literal

from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.config import FORMATS, ReadConfig
from dialint.detector.ingest.formats.canonical import (
    METADATA_FIELDS,
    ROW_TURN_FIELDS,
    TEXT_FIELDS,
    canonical,
    row_format,
)
from dialint.detector.ingest.formats.mapped import log_format
from dialint.detector.ingest.log_format import LogFormat, TextFormat
from dialint.detector.ingest.mapping import MappedRecord
from dialint.detector.ingest.outcomes import file_error, preview_hint
from dialint.detector.ingest.readers.columns import Columns
from dialint.detector.ingest.readers.parquet import leaf_paths, open_parquet
from dialint.detector.ingest.readers.streams import BOM, PARQUET, blocks, check_ending, magic
from dialint.detector.ingest.readers.tables import cells_of, delimiter_of, header_below
from dialint.detector.ingest.sources import JSON_LINES, Source
from dialint.detector.ingest.tree_mapping import shipped_mappings, shipped_names
from dialint.detector.plugins import plugins

PREFIX_BYTES = 1 << 20
N_ELEMENTS = 20
"""Elements of an array that are compared to recognise its format."""
_CHAT_HEAD = re.compile(rb'\[[^\]\n"{\[]{1,80}\](?::|[ ])[^\n]')
"""A time or a speaker in brackets, before a message."""
Split = Literal["whole", "elements", "members", "lists"]
NO_JSON = object()
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},]', re.DOTALL)


@dataclass(frozen=True)
class DetectedFormat:
    """Framing of the file, and the format of its records. `split` is how a document is split into records:
    the whole, its elements, its members, or lists in members. `by_mapping`: messages are read by a mapping of
    `fields`. `rows`: the rows of a table are records of `shape`. `text` is the format of a text. `paths` are
    the leaves of a Parquet file with one dialogue a row."""

    framing: Literal["lines", "document", "csv", "rows", "text", "parquet"]
    shape: LogFormat = canonical
    split: Split = "whole"
    bom: bool = False
    by_mapping: bool = False
    text: TextFormat | None = None
    paths: tuple[str, ...] | None = None


@lru_cache(maxsize=64)
def detect_format(source: Source, config: ReadConfig) -> DetectedFormat:
    """The format of `source`.

    Raises:
        InputRefused: E_FORMAT, E_ENCODING, E_NO_RECORDS, E_PARQUET, or what decompression refuses.
    """
    ending = check_ending(source)
    if magic(source).startswith(PARQUET):
        if config.format not in ("auto", "parquet"):
            raise file_error("E_FORMAT", source.name, "is Parquet and not {name}", name=config.format)
        return _detect_parquet(source, config)
    prefix = read_prefix(source, config)
    return replace(_detect_text(prefix, source, config, ending), bom=prefix.startswith(BOM))


def log_formats(config: ReadConfig) -> Iterator[LogFormat]:
    """The formats of JSON records that a log may have. Mapping files are read with the first.

    Raises:
        ConfigError: E_PLUGIN.
    """
    if config.format == "auto" and config.mapped.tree is not None:
        yield log_format(config.mapped.tree)
        return
    coded = [one for one in _load_formats(config) if isinstance(one, LogFormat)]
    yield from (one for one in coded if not one.is_common)
    if config.format in ("auto", *shipped_names()):
        yield from (one for one in _mapped_formats() if config.format in ("auto", one.name))
    yield from (one for one in coded if one.is_common)


def text_formats(config: ReadConfig) -> list[TextFormat]:
    """The formats of texts that a log may have.

    Raises:
        ConfigError: E_PLUGIN.
    """
    return [one for one in _load_formats(config) if isinstance(one, TextFormat)]


def _load_formats(config: ReadConfig) -> list[LogFormat | TextFormat]:
    files = [] if config.format_file is None else [config.format_file]
    kind = LogFormat | TextFormat
    entries = plugins(FORMATS, files, kind).items()
    if files:
        return [entry.load(kind) for _, entry in entries if entry.content is not None]
    return [entry.load(kind) for name, entry in entries if config.format in ("auto", name)]


@cache
def _mapped_formats() -> tuple[LogFormat, ...]:
    return tuple(map(log_format, shipped_mappings()))


def is_no_log(source: Source, error: InputRefused) -> bool:
    """Returns whether a refused file is a text of no format among the logs of a folder or an archive."""
    return error.code == "E_FORMAT" and source.is_member and source.name.lower().endswith(".txt")


def _detect_parquet(source: Source, config: ReadConfig) -> DetectedFormat:
    with open_parquet(source) as file:
        if file.metadata.num_rows == 0:
            raise file_error("E_NO_RECORDS", source.name, "no rows")
        names = file.schema_arrow.names
        if config.mapped.is_whole:
            shape = MappedRecord(config.mapped)
            if shape.lists or not set(shape.paths) <= set(names):
                return DetectedFormat("parquet", by_mapping=True)
        if "turns" not in names or not config.mapped.fields.keys() <= {"id"}:
            return DetectedFormat("parquet")
        chosen = config.mapped.fields.get("id")
        usual = sorted(name for name in names if name in ("dialogue_id", "id"))[:1]
        ids = usual if chosen is None else [chosen] if chosen in names else chosen.split("+")
        turns = leaf_paths(file, "turns")
        turn_fields = {path.rpartition(".")[2] for path in turns}
        if not ids or not set(ids) <= set(names) or not {"role", "text"} <= turn_fields or "turns" in turns:
            problem = Message("wrong schema; expected columns dialogue_id and turns, a list of {role, text}")
            raise file_error("E_PARQUET", source.name, problem)
        used = {*ids, "sources", *TEXT_FIELDS, *METADATA_FIELDS}
        paths = [path for name in names if name in used for path in leaf_paths(file, name)]
        paths += [path for path in turns if path.rpartition(".")[2] in ROW_TURN_FIELDS]
        return DetectedFormat("parquet", row_format(tuple(ids)), paths=tuple(paths))


def _detect_text(prefix: bytes, source: Source, config: ReadConfig, ending: str) -> DetectedFormat:
    text = prefix.removeprefix(BOM).lstrip()
    if not text:
        problem = Message("nothing but blank lines") if prefix else Message("the file is empty")
        raise file_error("E_NO_RECORDS", source.name, problem)
    if config.format in ("csv", "parquet"):
        if config.format == "parquet" or text[:1] in b"{[":
            raise file_error("E_FORMAT", source.name, "is not {name}", name=config.format)
        return DetectedFormat("csv")
    texts = text_formats(config)
    if config.format != "auto" and texts:
        start = text.decode(errors="replace")
        chosen = texts[0] if len(texts) == 1 else next((one for one in texts if one.matches(start)), None)
        if chosen is not None:
            return DetectedFormat("text", text=chosen)
    if text[:1] in b"{[" and not _CHAT_HEAD.match(text) and ending not in (".csv", ".tsv", ".parquet"):
        return _json(text, config, ending)
    return _text(text, texts, source, config, ending)


def read_prefix(source: Source, config: ReadConfig) -> bytes:
    """The first megabyte; blank blocks at the start do not count."""
    result = b""
    for block in blocks(source, config):
        if result and not result.removeprefix(BOM).strip():
            result = BOM if result.startswith(BOM) else b"\n"
        result += block
        if len(result) >= PREFIX_BYTES:
            break
    return result[:PREFIX_BYTES]


def _text(
    text: bytes, texts: list[TextFormat], source: Source, config: ReadConfig, ending: str
) -> DetectedFormat:
    header = text.partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    names = cells_of(header, delimiter_of(header, config))
    is_json = text[:1] in b"{[" and not _CHAT_HEAD.match(text)
    if is_json or (ending == ".json" and not text[:1].isalpha()):
        raise file_error("E_FORMAT", source.name, "holds JSON, against its ending {ending}", ending=ending)
    requested = _requested_format(config)
    shape = requested or _first_match([_first_row(text, names, header, config)], config)
    if shape is not None and shape.parts is not None and not config.column and not config.mapped.is_whole:
        return DetectedFormat("rows", shape)
    columns = Columns.of(names, config)
    if ending in (".csv", ".tsv") or not isinstance(columns, Message):
        return DetectedFormat("csv")
    if ending in (".json", *JSON_LINES):
        return DetectedFormat("lines", requested or canonical)
    start = text.decode(errors="replace")
    for format in texts:
        if format.matches(start):
            return DetectedFormat("text", text=format)
    if advice := header_below(filter(str.strip, start.split("\n")), config):
        raise file_error("E_FORMAT", source.name, advice)
    problem = Message("is none of the formats that are read")
    if not set(config.mapped.fields.values()).isdisjoint(names):
        problem = columns
    hint = Message("name it with --input-format, or {hint}", hint=preview_hint(source.name))
    raise file_error("E_FORMAT", source.name, "{problem}; {hint}", problem=problem, hint=hint)


def _first_row(text: bytes, names: list[str], header: str, config: ReadConfig) -> dict[str, str]:
    """The first row of a table by its header; empty if there is none."""
    lines = text[:PREFIX_BYTES].decode(errors="replace").splitlines(keepends=True)
    with suppress(csv.Error):
        rows = csv.reader(lines, delimiter=delimiter_of(header, config))
        return dict(zip(names, next(islice(rows, 1, None), []), strict=False))
    return {}


def _requested_format(config: ReadConfig) -> LogFormat | None:
    """The format, if the options or a mapping file with `turns` leave only one."""
    if config.format == "auto" and config.mapped.tree is None:
        return None
    formats = list(log_formats(config))
    return formats[0] if len(formats) == 1 else None


def _json(text: bytes, config: ReadConfig, ending: str) -> DetectedFormat:
    is_array, is_lines = text[:1] == b"[", is_one_record_a_line(text, ending)
    if config.mapped.is_whole and config.format == "auto":  # read by a mapping of `fields`
        shape = MappedRecord(config.mapped)
        split: Split = "whole"
        if is_array and shape.lists[:1] != ("",):
            split = "elements"
        elif not is_array and shape.is_streamed():
            split = "lists"
        if is_lines:
            return DetectedFormat("lines", by_mapping=True)
        members = replace(canonical, name="mapped", members=shape.lists[:1])
        return DetectedFormat("document", members, split, by_mapping=True)
    requested = _requested_format(config)
    if is_lines:
        values = (value for line in text.split(b"\n") if (value := _decode(line)) is not NO_JSON)
        matched = requested or _first_match(islice(values, 50), config)
        return DetectedFormat("lines", matched or canonical)
    detected = _document(parse_prefix(text), list(log_formats(config)))
    if detected is None:
        detected = DetectedFormat("document", requested or canonical, "elements" if is_array else "whole")
    if detected.split == "whole" and not is_array and b"\n" not in text and ending != ".json":
        return DetectedFormat("lines", detected.shape)  # one long line: passed over if it is too long
    return detected


def is_one_record_a_line(text: bytes, ending: str) -> bool:
    """Returns whether records are one a line, and not in one document over several lines."""
    first, newline, rest = text.partition(b"\n")
    if _decode(first) is not NO_JSON:
        follows = rest.lstrip()[:1] in (b"{", b"[") if ending == ".json" else bool(rest.strip())
        return follows or (ending in JSON_LINES and text[:1] == b"{")
    if not newline:
        return ending in JSON_LINES
    spread = first.rstrip()[-1:] in (b"[", b"{", b",", b":")
    later = any(isinstance(_decode(line), dict) for line in rest.split(b"\n", 20)[:20])
    if ending in JSON_LINES and first.strip() not in (b"[", b"{"):
        return later or not spread
    return later and not spread


def _decode(text: str | bytes, *, strict: bool = True) -> Any:
    """Decodes a JSON text; `NO_JSON` for any other text."""
    try:
        return json.loads(text, strict=strict)
    except (ValueError, RecursionError):
        return NO_JSON


def _first_match(records: Iterable[Any], config: ReadConfig) -> LogFormat | None:
    """The first format that matches one of the records."""
    matches = (shape for record in records for shape in log_formats(config) if shape.matches(record))
    return next(matches, None)


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
        is_keyed = isinstance(whole, dict) and shape.members == ("*",)
        if is_keyed and all(map(shape.matches, whole.values() or [0])):
            return DetectedFormat("document", shape, "members")
    return None


def parse_prefix(text: bytes) -> Any:
    """Parses the JSON value at the start of `text`. If its end is missing, it is cut after the last complete
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
    values = (_decode(string[:position] + closing, strict=False) for position, closing in reversed(cuts[-3:]))
    return next((value for value in values if value is not NO_JSON), None)
