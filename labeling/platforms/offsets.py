"""Offsets between tools: UTF-16 units, code points, and texts whose line ends were changed.

Knows texts only, nothing of dialogues or masking. Every function raises ValueError for an offset that
does not exist or lies within a character.
"""

from __future__ import annotations


def from_utf16(text: str, offset: int) -> int:
    """The place in code points of an offset in UTF-16 units."""
    raw = text.encode("utf-16-le")
    if not 0 <= 2 * offset <= len(raw):
        raise ValueError("an offset outside the text")
    return len(raw[: 2 * offset].decode("utf-16-le"))  # half a pair does not decode


def to_utf16(text: str, offset: int) -> int:
    """The place in UTF-16 units of an offset in code points."""
    if not 0 <= offset <= len(text):
        raise ValueError("an offset outside the text")
    return len(text[:offset].encode("utf-16-le")) // 2


def from_line_feeds(text: str, offset: int) -> int:
    """The place in `text` of an offset in the same text with CRLF and CR as LF."""
    if offset < 0:
        raise ValueError("an offset outside the text")
    place = 0
    for _ in range(offset):
        if place >= len(text):
            raise ValueError("an offset outside the text")
        place += 2 if text.startswith("\r\n", place) else 1
    return place


def with_line_feeds(text: str) -> str:
    """`text` with CRLF and CR as LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
