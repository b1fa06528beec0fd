"""Values that servers should never send, put in the place of every field of a valid answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]
MARK = "@@hostile@@"
ABSENT = b"absent"
HOSTILE = [
    ABSENT, b"null", b"true", b"-1", b"0", b"3.7", b"1e400", b"-1e400", b"NaN", b"Infinity", b"-Infinity",
    b"1" + b"0" * 400, b"1" + b"0" * 5000, b'"word"', b'""', b'"\\ud800"', b'"\xff"', b'"\\u001b[2J"', b"[]", b"{}", b"[[]]",
    b"[null]", b'{"a":1}', b"[" * 200_000, b'"' + b"x" * 100_000 + b'"',
]  # fmt: skip
BODIES = [
    b"", b"null", b"5", b"[]", b"{}", b"[" * 200_000, b'{"choices":' * 100_000, b"\xff\xfe", b"<html>", b'{"a":1,',
    b"NaN",
]  # fmt: skip


def fields(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yields the places of the fields and items of a value; of a list the first and the last."""
    items: list[tuple[str | int, Any]] = list(value.items()) if isinstance(value, dict) else []
    if isinstance(value, list):
        items = [(place, value[place]) for place in sorted({0, len(value) - 1}) if value]
    for name, item in items:
        yield (*path, name)
        yield from fields(item, (*path, name))


def with_value(value: Any, path: Path, hostile: bytes) -> bytes:
    """The JSON of `value` with a hostile one at `path`; the value itself where it has no such field."""
    copy = json.loads(json.dumps(value))
    at = copy
    try:
        for name in path[:-1]:
            at = at[name]
        if hostile == ABSENT:
            del at[path[-1]]
        else:
            at[path[-1]] = MARK
    except (KeyError, IndexError, TypeError):
        pass
    return json.dumps(copy).encode().replace(f'"{MARK}"'.encode(), hostile)
