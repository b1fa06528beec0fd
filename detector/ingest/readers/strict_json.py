"""Strict decoding of one JSON text; only raw control characters in strings are tolerated.

The standard decoder accepts duplicate keys, NaN, 1e999, lone surrogates and any nesting; this one raises an
error for each. What the values mean is validated in `validation`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from dialint.detector.errors import Message, excerpt
from dialint.detector.ingest.outcomes import BadRecord

MAX_DEPTH = 32
MAX_VALUE_BYTES = 400 << 20
"""Memory that one JSON text may take as objects: `{}` takes 64 bytes, a distinct key 200."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NO_BRACKET = bytes(set(range(256)) - set(b"[]{}"))
_BAD_CHARACTER = re.compile("[\x00\ud800-\udfff]")
_BLOCK = 1 << 20
_SPACE = " \t\r\n"
_CUT_LITERAL = re.compile(r"(?:-|t|tr|tru|f|fa|fal|fals|n|nu|nul)?")


def decode(raw: bytes) -> Any:
    """The value of one JSON text.

    Raises:
        BadRecord: E_UTF8, E_NUL, E_DEPTH, E_RECORD_SIZE, E_DUP_KEY, E_NUMBER, E_SURROGATE,
            E_TRUNCATED, E_TRAILING or E_JSON.
    """
    if b"\0" in raw:
        raise BadRecord("E_NUL", "", "NUL byte", "text without NUL")
    _check_size(raw)
    check_depth(raw)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise BadRecord("E_UTF8", "", Message("byte {n}", n=error.start), "UTF-8 text") from None
    value = _parse(text.lstrip("\ufeff"))
    if "\\u" in text:
        for path, string in strings(value):
            check_characters(path, string)
    return value


def check_depth(raw: bytes) -> None:
    """Raises:
    BadRecord: E_DEPTH, brackets nest deeper than 32.
    """
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return
    import numpy as np

    brackets = np.frombuffer(_STRING.sub(b"", raw).translate(None, _NO_BRACKET), dtype=np.uint8)
    depth = 0
    for start in range(0, len(brackets), _BLOCK):
        block = brackets[start : start + _BLOCK]
        depths = depth + np.cumsum(np.where((block == ord("[")) | (block == ord("{")), 1, -1))
        if depths.max() > MAX_DEPTH:
            found = Message("depth over {n}", n=MAX_DEPTH)
            raise BadRecord("E_DEPTH", "", found, Message("at most {n} levels", n=MAX_DEPTH))
        depth = depths[-1]


def _check_size(raw: bytes) -> None:
    """Refuse a text that would take over `MAX_VALUE_BYTES` as objects. Brackets and commas within strings are
    counted too: only millions of them would matter."""
    size = len(raw) * (2 if raw.isascii() else 5)
    if size + 200 * len(raw) < MAX_VALUE_BYTES:
        return
    size += 72 * (raw.count(b"[") + raw.count(b"{")) + 32 * raw.count(b",") + 200 * raw.count(b":")
    if size > MAX_VALUE_BYTES:
        result = Message("about {n} MB as objects", n=size >> 20)
        expected = Message("at most {n} MB; one record a line", n=MAX_VALUE_BYTES >> 20)
        raise BadRecord("E_RECORD_SIZE", "", result, expected)


def _parse(text: str) -> Any:
    start = len(text) - len(text.lstrip(_SPACE))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _syntax(text, error) from None
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
"""What Python's decoder says of a text, in lower case."""


def _syntax(text: str, error: json.JSONDecodeError) -> BadRecord:
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
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
    strict=False,
)


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every string in `value`, keys too, with its JSON path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from strings(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings(item, f"{path}[{index}]")


def check_characters(path: str, string: str) -> None:
    """Raises:
    BadRecord: E_NUL or E_SURROGATE, for a string that holds such a character.
    """
    bad = _BAD_CHARACTER.search(string)
    if bad is None:
        return
    if bad[0] == "\0":
        raise BadRecord("E_NUL", path, "NUL escape", "text without NUL")
    raise BadRecord("E_SURROGATE", path, "half a surrogate pair", "whole characters")
