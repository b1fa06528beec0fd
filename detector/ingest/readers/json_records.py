"""Records of JSON logs: strict decoding, one record a line, or the parts of one document that may be larger
than memory.

The standard decoder accepts duplicate keys, NaN, 1e999, lone surrogates and any nesting; `decode` raises an
error for each, and tolerates only raw control characters in strings. What the values mean is validated in
`validation`. Of a document, only the boundaries of records are parsed first.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dialint.detector.errors import Message, excerpt
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord, line_too_long
from dialint.detector.ingest.readers.streams import BOM, blocks, split_lines, without_bom
from dialint.detector.ingest.sources import Source

MAX_DEPTH = 32
MAX_VALUE_BYTES = 400 << 20
"""Memory that one JSON text may take as objects: `{}` takes 64 bytes, a distinct key 200."""
_BAD_CHARACTER = re.compile("[\x00\ud800-\udfff]")
_SPACE = " \t\r\n"
_CUT_LITERAL = re.compile(r"(?:-|t|tr|tru|f|fa|fal|fals|n|nu|nul)?")


class ParsedJson(NamedTuple):
    """A value or its fault, with its line (or number in a document) from 1 and its byte offset."""

    line: int
    offset: int
    value: Any


def decode(raw: bytes) -> Any:
    """Decodes one JSON text.

    Raises:
        BadRecord: E_UTF8, E_NUL, E_DEPTH, E_RECORD_SIZE, E_DUP_KEY, E_NUMBER, E_SURROGATE,
            E_TRUNCATED, E_TRAILING or E_JSON.
    """
    if b"\0" in raw:
        raise BadRecord("E_NUL", "", "NUL byte", "text without NUL")
    _check_size(raw)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise BadRecord("E_UTF8", "", Message("byte {n}", n=error.start), "UTF-8 text") from None
    try:
        value = _parse(text.lstrip("\ufeff"))
        is_deep = raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _is_too_deep(value)
    except RecursionError:
        is_deep = True
    if is_deep:
        actual = Message("depth over {n}", n=MAX_DEPTH)
        raise BadRecord("E_DEPTH", "", actual, Message("at most {n} levels", n=MAX_DEPTH))
    if "\\u" in text:
        check_characters(value)
    return value


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        objects = (item for one in level if isinstance(one, dict) for item in one.values())
        level = [*objects, *(item for one in level if isinstance(one, list) for item in one)]
    return any(isinstance(one, dict | list) for one in level)


def _check_size(raw: bytes) -> None:
    """Refuses a text that would take over `MAX_VALUE_BYTES` as objects. Brackets and commas within strings
    are counted too: only millions of them would matter."""
    size = len(raw) * (2 if raw.isascii() else 5)
    if size + 200 * len(raw) < MAX_VALUE_BYTES:
        return
    size += 72 * (raw.count(b"[") + raw.count(b"{")) + 32 * raw.count(b",") + 200 * raw.count(b":")
    if size > MAX_VALUE_BYTES:
        actual = Message("about {n} MB as objects", n=size >> 20)
        expected = Message("at most {n} MB; one record a line", n=MAX_VALUE_BYTES >> 20)
        raise BadRecord("E_RECORD_SIZE", "", actual, expected)


def _parse(text: str) -> Any:
    try:
        value, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip(_SPACE)))
    except json.JSONDecodeError as error:
        raise _syntax_fault(text, error) from None
    rest = text[end:].lstrip(_SPACE)
    if rest:
        raise BadRecord("E_TRAILING", "", excerpt(rest), "nothing after the JSON value; one record a line")
    return value


PROBLEMS = (
    Message("expecting value"), Message("expecting property name enclosed in double quotes"),
    Message("expecting ':' delimiter"), Message("expecting ',' delimiter"), Message("extra data"),
    Message("illegal trailing comma before end of object"),
    Message("illegal trailing comma before end of array"), Message("invalid \\escape: "),
    Message("invalid \\uxxxx escape"),
)  # fmt: skip
"""Messages of Python's decoder, in lower case: collected for translation."""


def _syntax_fault(text: str, error: json.JSONDecodeError) -> BadRecord:
    rest = text[error.pos :].rstrip(_SPACE)
    cut_escape = error.msg.startswith("Invalid \\") and len(rest) <= 6
    if error.msg.startswith("Unterminated string") or cut_escape or _CUT_LITERAL.fullmatch(rest):
        return BadRecord("E_TRUNCATED", "", excerpt(text[-8:]), "JSON that does not end early")
    problem = Message(error.msg.lower())
    expected = Message("JSON ({problem} at character {n})", problem=problem, n=error.pos)
    return BadRecord("E_JSON", "", excerpt(rest), expected)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise BadRecord("E_DUP_KEY", "", "a key twice", "each key once in an object")
    return value


def _integer(digits: str) -> int:
    if len(digits) <= 20 and -(2**63) <= (value := int(digits)) < 2**64:
        return value
    raise BadRecord("E_NUMBER", "", excerpt(digits), "an integer of 64 bits")


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise BadRecord("E_NUMBER", "", excerpt(digits), "a finite number")
    return value


def _constant(name: str) -> Any:
    raise BadRecord("E_NUMBER", "", name, "a finite number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=False
)


def check_characters(value: Any, path: str = "") -> None:
    """Checks every text in `value`, keys too.

    Raises:
        BadRecord: E_NUL or E_SURROGATE with the JSON path of the text.
    """
    if isinstance(value, str):
        bad = _BAD_CHARACTER.search(value)
        if bad is not None and bad[0] == "\0":
            raise BadRecord("E_NUL", path, "NUL escape", "text without NUL")
        if bad is not None:
            raise BadRecord("E_SURROGATE", path, "half a surrogate pair", "whole characters")
    elif isinstance(value, dict):
        for key, item in value.items():
            check_characters(key, path)
            check_characters(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_characters(item, f"{path}[{index}]")


def decode_or_fault(raw: bytes) -> Any:
    """Decodes a JSON text; returns the `BadRecord` of an invalid one."""
    try:
        return decode(raw)
    except BadRecord as bad:
        return bad


def json_lines(
    source: Source, config: ReadConfig, warnings: Counter[str] | None = None
) -> Iterator[ParsedJson]:
    """The value of every line that is not blank. Byte order marks and carriage returns are counted in
    `warnings`."""
    limit = config.max_record_bytes
    for number, offset, line, lost in split_lines(blocks(source, config), limit):
        if warnings is not None and line.endswith(b"\r"):
            warnings["W_CRLF"] += 1
        line = line.removesuffix(b"\r")
        if lost or len(line) > limit:
            yield ParsedJson(number, offset, line_too_long(lost or len(line), limit))
        elif line and not line.isspace():
            if warnings is not None and line.startswith(BOM):
                warnings["W_BOM"] += 1
            yield ParsedJson(number, offset, decode_or_fault(line))


def json_parts(
    source: Source, lists: tuple[str, ...], config: ReadConfig, *, members: bool = False
) -> Iterator[ParsedJson]:
    """Every part of a document, split as by `segments`; with `members` a part is an object of one member."""
    stream = without_bom(blocks(source, config))
    for number, (offset, raw) in enumerate(segments(stream, lists, config.max_record_bytes), 1):
        value = raw if isinstance(raw, BadRecord) else decode_or_fault(b"{" + raw + b"}" if members else raw)
        yield ParsedJson(number, offset, value)


_STRUCTURE = re.compile(rb'["\[\]{},]')
_STRING_END = re.compile(rb'["\\]')
_KEY = re.compile(rb'\A\s*+"([^"\\]*+)"\s*+:\s*+')
Segment = tuple[int, bytes | BadRecord]
"""Offset and bytes of one record (with its key, for a member); a fault for a record that is too long to hold,
and for a document that ends early or late."""


def segments(stream: Iterable[bytes], lists: tuple[str, ...], max_bytes: int) -> Iterator[Segment]:
    """Splits a document into records: the parts of its top array or object, or, with `lists`, the elements of
    those members of the top object. Tracks brackets and strings; `start` is where the current part begins in
    `data`, and what stands before it is dropped, `base` bytes so far."""
    names, level = {name.encode() for name in lists}, 2 if lists else 1
    data, base, start, at, depth, lost = b"", 0, 0, 0, 0, 0
    in_string, is_done, is_wanted = False, False, not lists
    for block in stream:
        data, base, at, start = data[start:] + block, base + start, at - start, 0
        while match := (_STRING_END if in_string else _STRUCTURE).search(data, at):
            token, at = match[0], match.end()
            if token == b"\\":
                at += 1
                if at > len(data):  # the escaped character is in the next block
                    at -= 2
                    break
            elif token == b'"':
                in_string = not in_string
            elif token in b"[{":
                depth += 1
                if depth == 2 and lists:
                    key = _KEY.fullmatch(data[start : at - 1])
                    is_wanted = token == b"[" and key is not None and key[1] in names
                if depth == level or not is_wanted:
                    start = at
            else:
                if depth == level and is_wanted:
                    raw = data[start : at - 1]
                    offset, size = base + at - 1 - len(raw.lstrip()), lost + len(raw)
                    if size > max_bytes:
                        yield offset - lost, line_too_long(size, max_bytes)
                    elif raw.strip() or token == b",":
                        yield offset, raw.strip()
                    start, lost = at, 0
                if token != b",":
                    depth -= 1
                    is_done = is_done or depth <= 0
                    is_wanted = is_wanted and not (lists and depth < level)
                if depth < level or not is_wanted:
                    start = at
        else:
            at = len(data)
        if at - start > max_bytes:
            lost, start = lost + at - start, at
    if not is_done or in_string or depth > 0:
        fault = BadRecord("E_TRUNCATED", "", "end of file", "a document that does not end early")
        yield base + start, fault
    elif data[start:].strip() or depth < 0:
        yield base + start, BadRecord("E_TRAILING", "", "more text", "nothing after the document")
