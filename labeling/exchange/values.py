"""Typed values of another tool's record, with a reject that names the field; offsets between encodings.

No value is coerced, except text that holds a whole number: tables and Label Studio write numbers as text.
Offsets are converted between UTF-16 units, code points, and texts whose line ends were changed; each of these
functions raises ValueError for an offset that does not exist or lies within a character.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dialint.detector.errors import excerpt
from dialint.detector.ingest.outcomes import BadRecord

LATEST_S = 253_402_300_799
"""The last second of the year 9999."""
MAX_DIGITS = 18


def mapping(value: object, path: str) -> dict[str, Any]:
    """An object; an absent one is empty.

    Raises:
        BadRecord: E_TYPE, as every function here.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise type_error(path, value, "an object")
    return value


def items(value: object, path: str) -> list[Any]:
    """A list; an absent one is empty."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise type_error(path, value, "a list")
    return value


def objects(value: object, path: str) -> list[dict[str, Any]]:
    """A list of objects; an absent one is empty."""
    return [mapping(item, f"{path}[{number}]") for number, item in enumerate(items(value, path))]


def text(value: object, path: str) -> str:
    """A text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise type_error(path, value, "a text")
    return value


def cell(value: object, path: str) -> str:
    """A text without outer blanks; an absent one is empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise type_error(path, value, "a text")
    return value.strip()


def integer(value: object, path: str) -> int:
    """A whole number from 0, or a text that holds one."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= MAX_DIGITS:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise type_error(path, value, "a whole number from 0")
    return value


def name_or_number(value: object, path: str) -> str:
    """A name: a text, or a whole number as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(value, path)


def seconds(value: object, path: str) -> float | None:
    """Seconds from 0 as a number or a text, if any; a text may have a decimal comma."""
    if value is None or value == "":
        return None
    try:
        number = float(value.replace(",", ".")) if isinstance(value, str) else value
    except ValueError:
        raise type_error(path, value, "seconds") from None
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < LATEST_S:
        raise type_error(path, value, "seconds")
    return float(number)


def timestamp(value: object, path: str) -> datetime | None:
    """A time as ISO 8601 text or epoch seconds, if any; without a zone it is UTC."""
    if value is None or value == "":
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LATEST_S:
        return datetime.fromtimestamp(value, UTC)
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        parsed = None
    if parsed is None:
        raise type_error(path, value, "a time in ISO 8601 or epoch seconds")
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def type_error(path: str, value: object, expected: str) -> BadRecord:
    """The reject of a value of another type or range."""
    description = (
        excerpt(value) if isinstance(value, str) else "nothing" if value is None else type(value).__name__
    )
    return BadRecord("E_TYPE", path, description or "nothing", expected)


def label_error(path: str, name: str, expected: str) -> BadRecord:
    """The reject of a label for something that does not exist; `name` is masked."""
    return BadRecord("E_LABEL", path, excerpt(name), expected)


def from_utf16(text: str, offset: int) -> int:
    """The offset in code points of an offset in UTF-16 units."""
    raw = text.encode("utf-16-le")
    if not 0 <= 2 * offset <= len(raw):
        raise ValueError("an offset outside the text")
    return len(raw[: 2 * offset].decode("utf-16-le"))  # half a pair does not decode


def to_utf16(text: str, offset: int) -> int:
    """The offset in UTF-16 units of an offset in code points."""
    if not 0 <= offset <= len(text):
        raise ValueError("an offset outside the text")
    return len(text[:offset].encode("utf-16-le")) // 2


def from_line_feeds(text: str, offset: int) -> int:
    """The offset in `text` of an offset in the same text with CRLF and CR as LF."""
    if offset < 0:
        raise ValueError("an offset outside the text")
    position = 0
    for _ in range(offset):
        if position >= len(text):
            raise ValueError("an offset outside the text")
        position += 2 if text.startswith("\r\n", position) else 1
    return position


def with_line_feeds(text: str) -> str:
    """`text` with CRLF and CR as LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
