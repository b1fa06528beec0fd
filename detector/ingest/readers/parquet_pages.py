"""Computes the decoded size of a Parquet file's columns from its footer and page headers, without decoding.

A dictionary or a run of equal levels encodes any number of values in a few bytes, and the footer of a hostile
file may lie. Decoders follow the page headers, so these are read here; the pages are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import file_error
from dialint.detector.ingest.readers.streams import RATIO_FROM_BYTES

MAX_PAGE_BYTES = 32 << 20
"""Writers make pages of about a megabyte."""
MAX_GROUP_VALUES = 8_000_000
"""Values of a nested column in one row group: all may belong to one row."""
VALUE_BYTES = 8
"""Least bytes of memory a value takes beside its text."""
MAX_FIXED_BYTES = 64
HEADER_BYTES = 1 << 10
MAX_HEADER_BYTES = 1 << 20
MAX_DEPTH = 8

_DICTIONARY_PAGE, _INDEX_PAGE = 2, 1
_DICTIONARY_ENCODINGS = (2, 8)
_DELTA_BYTE_ARRAY = 7


class _Damaged(Exception):
    """There is no valid page header at this position."""


@dataclass(frozen=True)
class Page:
    """One page header: `kind` and `encoding` are Parquet's numbers, sizes are in bytes."""

    kind: int
    encoding: int
    n_values: int
    expanded: int
    stored: int


def check_columns(
    file: BinaryIO, size: int, name: str, metadata: Any, leaves: list[int], config: ReadConfig
) -> int:
    """Refuse a file of `size` bytes whose columns `leaves` (positions of leaf columns) expand to too much.

    Returns:
        The number of values of the largest dictionary, which a reader that keeps it scans for each batch.

    Raises:
        InputRefused: E_EXPANSION; E_PARQUET for page headers that contradict the footer.
    """
    limit = expansion_limit(size, config)
    total = largest = 0
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        for leaf in leaves:
            path = group.column(leaf).path_in_schema
            where = Message("{file}: row group {index}, column {path}", file=name, index=index, path=path)
            expanded, n_dictionary = _column(file, size, where, group, leaf, metadata.schema.column(leaf))
            total, largest = total + expanded, max(largest, n_dictionary)
            if total > limit:
                raise file_error("E_EXPANSION", name, "expands to over {n} bytes", n=limit)
    return largest


def expansion_limit(size: int, config: ReadConfig) -> int:
    """Bytes that a file of `size` bytes may expand to."""
    return int(min(max(RATIO_FROM_BYTES, config.max_ratio * size), config.max_expanded_bytes))


def _column(file: BinaryIO, size: int, where: Message, group: Any, leaf: int, kind: Any) -> tuple[int, int]:
    """The decoded bytes of a column chunk, with the mean length for texts in a dictionary; and the number of
    values of its dictionary."""
    chunk = group.column(leaf)
    nested = kind.max_repetition_level > 0
    if kind.physical_type == "FIXED_LEN_BYTE_ARRAY" and kind.length > MAX_FIXED_BYTES:
        raise InputRefused(
            "E_PARQUET", "{where}: values of {n} bytes each; write it as text", where=where, n=kind.length
        )
    if chunk.num_values > MAX_GROUP_VALUES and nested:
        raise InputRefused(
            "E_EXPANSION", "{where}: {n} values; write smaller row groups", where=where, n=chunk.num_values
        )
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    n_values = expanded = n_dictionary = 0
    mean = 0.0
    try:
        for page in _pages(file, start, min(size, start + chunk.total_compressed_size), chunk.num_values):
            if page.expanded > MAX_PAGE_BYTES:
                raise InputRefused(
                    "E_EXPANSION", "{where}: a page of {n} bytes", where=where, n=page.expanded
                )
            if page.kind == _DICTIONARY_PAGE:
                if page.n_values > page.expanded:
                    raise _Damaged
                n_dictionary += page.n_values
                mean = page.expanded / max(page.n_values, 1)
                expanded += page.expanded
                continue
            if not page.n_values:
                raise _Damaged
            n_values += page.n_values
            texts = page.expanded
            if page.encoding in _DICTIONARY_ENCODINGS:
                texts = int(page.n_values * mean)
            elif (
                page.encoding == _DELTA_BYTE_ARRAY
                and page.n_values * page.expanded > MAX_PAGE_BYTES
                and nested
            ):
                raise InputRefused(
                    "E_PARQUET",
                    "{where}: DELTA_BYTE_ARRAY within lists; write it as dictionary",
                    where=where,
                )
            expanded += texts + VALUE_BYTES * page.n_values
    except _Damaged:
        raise InputRefused("E_PARQUET", "{where}: its page headers are damaged", where=where) from None
    if n_values != chunk.num_values or not (nested or n_values == group.num_rows):
        raise InputRefused("E_PARQUET", "{where}: the pages and the footer count other values", where=where)
    return expanded, n_dictionary


def _pages(file: BinaryIO, start: int, end: int, n_values: int) -> Iterator[Page]:
    """The page headers of a column chunk, until `n_values` are accounted for."""
    if start < 4:
        raise _Damaged
    while n_values > 0:
        page, length = _header_at(file, start, end)
        start += length + page.stored
        if page.stored < 0 or page.expanded < 0 or page.n_values < 0 or start > end:
            raise _Damaged
        if page.kind == _INDEX_PAGE:
            continue
        if page.kind != _DICTIONARY_PAGE:
            n_values -= page.n_values
        yield page


def _header_at(file: BinaryIO, start: int, end: int) -> tuple[Page, int]:
    """The page header at `start`, and its length. Statistics in it may be long."""
    size = HEADER_BYTES
    while True:
        file.seek(start)
        data = file.read(min(size, max(0, end - start)))
        try:
            fields, length = _Thrift(data).struct()
        except IndexError:
            if len(data) < size or size >= MAX_HEADER_BYTES:
                raise _Damaged from None
            size *= 16
            continue
        return _page(fields), length


def _page(fields: dict[int, Any]) -> Page:
    kind = fields.get(1)
    inner, encoding_at = (
        {0: (5, 2), 2: (7, 2), 3: (8, 4)}.get(kind, (6, 2)) if isinstance(kind, int) else (6, 2)
    )
    about = fields.get(inner)
    about = about if isinstance(about, dict) else {}
    numbers = (kind, about.get(encoding_at, 0), about.get(1, 0), fields.get(2), fields.get(3))
    integers = [number for number in numbers if isinstance(number, int)]
    if kind not in (0, 1, 2, 3) or len(integers) != len(numbers):
        raise _Damaged
    return Page(*integers)


class _Thrift:
    """Reads Thrift's compact protocol as far as page headers need it: integers by field; the rest is skipped.

    Raises IndexError if the data end too early.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int = 0) -> tuple[dict[int, Any], int]:
        """The fields of a struct by their ids, and the position behind it."""
        fields: dict[int, Any] = {}
        last = 0
        while (head := self._byte()) != 0:
            last = last + (head >> 4) if head >> 4 else self._integer()
            fields[last] = self._value(head & 15, depth)
        return fields, self._at

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise _Damaged

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise _Damaged
        if kind in (1, 2):
            return None
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (7, 8):
            length = 8 if kind == 7 else self._varint()
            self._at += length
            return None
        if kind in (9, 10):
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._varint()
            for _ in range(n):
                self._byte() if head & 15 in (1, 2) else self._value(head & 15, depth + 1)
            return None
        if kind == 12:
            return self.struct(depth + 1)[0]
        raise _Damaged
