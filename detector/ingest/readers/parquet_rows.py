"""Reads rows of any Parquet file by record batch, in bounded memory.

The size of decoded columns is checked before decoding (`parquet_pages`); texts stay in their dictionaries
until the size of each row is known. A file that contradicts its footer is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import file_error
from dialint.detector.ingest.readers.parquet_pages import VALUE_BYTES, check_columns, expansion_limit
from dialint.detector.ingest.sources import Source

BATCH_ROWS = 256

DICTIONARY_PASS = 64
"""Most values of a dictionary for each row of a batch, so that scanning it costs no more than the rows."""
MAX_BATCH_VALUES = 1_280_000
"""Values of one column in a batch: 256 dialogues of 5,000 turns."""
SHORT_BYTES = 1 << 10
SLICE_BYTES = 8 << 20
"""Bytes of text of rows that become Python objects together; a single row may have more."""
BUFFER_BYTES = 1 << 20


def read_parquet_rows(source: Source, config: ReadConfig) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The rows of any table as `sized_rows` yields them, with all columns.

    Raises:
        InputRefused: E_PARQUET or E_EXPANSION.
    """
    with open_parquet(source) as file:
        paths = [file.schema.column(leaf).path for leaf in range(len(file.schema))]
        batch_rows = check_leaves(source, file, paths, config)
    yield from sized_rows(source, paths, batch_rows, config)


def check_parquet_columns(path: Path, names: list[str], config: ReadConfig) -> None:
    """Check a Parquet file before its columns `names` are read as a whole.

    Raises:
        InputRefused: E_PARQUET or E_EXPANSION.
    """
    source = Source(str(path), path, path.stat().st_size, (0, 0, 0, 0))
    with open_parquet(source) as file:
        check_leaves(source, file, [leaf for name in names for leaf in leaf_paths(file, name)], config)


def leaf_paths(file: Any, name: str) -> list[str]:
    """The paths of the leaves below a top column."""
    paths = (file.schema.column(leaf).path for leaf in range(len(file.schema)))
    return [path for path in paths if path == name or path.startswith(name + ".")]


def _check_group(group: Any, index: int, source: Source, config: ReadConfig) -> None:
    import pyarrow as pa

    if group.total_byte_size > config.max_row_group_bytes:
        raise file_error(
            "E_PARQUET", source.name,
            "row group {index} holds over {n} bytes; write it with smaller row groups",
            index=index, n=config.max_row_group_bytes,
        )  # fmt: skip
    for position in range(group.num_columns):
        codec = group.column(position).compression
        if codec != "UNCOMPRESSED" and not (codec != "LZO" and pa.Codec.is_available(codec.lower())):
            raise file_error("E_PARQUET", source.name, "unknown codec {name}", name=codec)


def check_leaves(source: Source, file: Any, paths: list[str], config: ReadConfig) -> int:
    """Check that the leaves at `paths` of an open Parquet file fit into memory. Returns the rows of a batch.

    Raises:
        InputRefused: E_EXPANSION or E_PARQUET.
    """
    for index in range(file.metadata.num_row_groups):
        _check_group(file.metadata.row_group(index), index, source, config)
    leaves = [leaf for leaf in range(len(file.schema)) if file.schema.column(leaf).path in paths]
    with open(source.path, "rb") as raw:
        largest = check_columns(raw, source.size, source.name, file.metadata, leaves, config)
    batch_rows = max(BATCH_ROWS, largest // DICTIONARY_PASS)
    for leaf in leaves:
        counts = [
            file.metadata.row_group(n).column(leaf).num_values for n in range(file.metadata.num_row_groups)
        ]
        if file.schema.column(leaf).max_repetition_level and max(counts) > MAX_BATCH_VALUES:
            _check_batches(source, file.schema.column(leaf).path, batch_rows)
    return batch_rows


def _check_batches(source: Source, path: str, batch_rows: int) -> None:
    """Refuse a file in which few rows have most values of the nested column at `path`. Reads that column
    only."""
    with open_parquet(source, [path]) as file:
        for batch in file.iter_batches(batch_size=batch_rows, columns=[path], use_threads=False):
            if _n_values(batch.column(0)) > MAX_BATCH_VALUES:
                raise file_error(
                    "E_EXPANSION", source.name, "{n} rows have over {limit} values of {path}",
                    n=batch_rows, limit=MAX_BATCH_VALUES, path=path,
                )  # fmt: skip


def _n_values(array: Any) -> int:
    """Values of the one leaf below `array`."""
    import pyarrow as pa

    while pa.types.is_nested(array.type):
        array = array.field(0) if pa.types.is_struct(array.type) else array.flatten()
    return len(array)


@contextmanager
def open_parquet(source: Source, dictionaries: list[str] | None = None) -> Iterator[Any]:
    """Open the file. Texts at the paths `dictionaries` are read as indices into their dictionaries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    limits = {"thrift_string_size_limit": 64 << 20, "thrift_container_size_limit": 1 << 20}
    try:
        with pq.ParquetFile(
            source.path, pre_buffer=False, buffer_size=BUFFER_BYTES, read_dictionary=dictionaries, **limits
        ) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise file_error(
            "E_PARQUET", source.name, "cannot be read ({error})", error=type(error).__name__
        ) from None


def _text_paths(source: Source, paths: list[str]) -> list[str]:
    """Those of `paths` that lead to texts."""
    with open_parquet(source) as file:
        columns = [file.schema.column(leaf) for leaf in range(len(file.schema))]
        return [one.path for one in columns if one.path in paths and one.physical_type == "BYTE_ARRAY"]


def _batches(file: Any, batch_rows: int, paths: list[str]) -> Iterator[Any]:
    """Batches by row group: Arrow cannot merge the dictionaries of two row groups below a list."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(batch_rows, row_groups=[group], columns=paths, use_threads=False)


def sized_rows(
    source: Source, paths: list[str], batch_rows: int, config: ReadConfig
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Each row's number from 1, its size in bytes, and its cells by column; of a row that has too many bytes
    or turns, texts and lists are left out.

    Raises:
        InputRefused: E_PARQUET; E_EXPANSION where texts of dictionaries expand to too much.
    """
    limit = expansion_limit(source.size, config)
    number, total = 1, 0
    with open_parquet(source, _text_paths(source, paths)) as file:
        for batch in _batches(file, batch_rows, paths):
            sizes = _row_sizes(batch)
            total += sum(sizes)
            if total > limit:
                raise file_error("E_EXPANSION", source.name, "expands to over {n} bytes", n=limit)
            for start, end in _slices(sizes, _too_many_turns(batch, config), config):
                rows = _short_row(batch, start) if end is None else _objects(batch.slice(start, end - start))
                for row, size in zip(rows, sizes[start:end], strict=False):
                    yield number, size, row
                    number += 1
            source.position.at = source.size * (number - 1) // file.metadata.num_rows


def _slices(sizes: list[int], too_many: list[bool], config: ReadConfig) -> Iterator[tuple[int, int | None]]:
    """Ranges of rows to convert together; (row, None) for a row that is too large to be converted."""
    start, held = 0, 0
    for row, size in enumerate(sizes):
        refused = size > config.max_record_bytes or too_many[row]
        if row > start and (refused or held + size > SLICE_BYTES):
            yield start, row
            start, held = row, 0
        if refused:
            yield row, None
            start = row + 1
        else:
            held += size
    if start < len(sizes):
        yield start, len(sizes)


def _objects(batch: Any) -> list[dict[str, Any]]:
    """The rows of a batch as Python objects."""
    names, columns = batch.schema.names, [_plain(column).to_pylist() for column in batch.columns]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _plain(array: Any) -> Any:
    """The array with texts in place of indices, which halves the time of conversion."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_struct(array.type):
        parts = [_plain(part) for part in array.flatten()]
        return pa.StructArray.from_arrays(parts, [field.name for field in array.type], mask=array.is_null())
    if is_list(array.type):
        lists = pa.LargeListArray if pa.types.is_large_list(array.type) else pa.ListArray
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        inner = _plain(array.values.slice(first, last - first))
        return lists.from_arrays(pa.compute.subtract(array.offsets, first), inner, mask=array.is_null())
    return array


def _too_many_turns(batch: Any, config: ReadConfig) -> list[bool]:
    import pyarrow.compute as pc

    if "turns" not in batch.schema.names or not is_list(batch.column("turns").type):
        return [False] * batch.num_rows
    lengths = pc.list_value_length(batch.column("turns"))
    return [length is not None and length > config.max_turns for length in lengths.to_pylist()]


def _short_row(batch: Any, row: int) -> list[dict[str, Any]]:
    """The short texts of one row, and as many empty turns as it has."""
    cells: dict[str, Any] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        one = column.slice(row, 1)
        if name == "turns" and is_list(column.type):
            cells[name] = [None] * len(one.flatten())
        else:
            cells[name] = one[0].as_py() if _row_sizes([one])[0] < SHORT_BYTES else None
    return [cells]


def is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _row_sizes(columns: Any) -> list[int]:
    """Bytes of each row of some columns: those of its texts, and `VALUE_BYTES` for each value."""
    sizes: list[int] = sum(_sizes(column) for column in columns).tolist()
    return sizes


def _sizes(array: Any) -> Any:
    """Bytes of each element of an Arrow array, shape (elements,), int64."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        value_sizes = np.append(_sizes(array.dictionary), VALUE_BYTES)
        return value_sizes[pc.fill_null(array.indices, len(value_sizes) - 1).to_numpy(zero_copy_only=False)]
    if pa.types.is_struct(kind):
        return sum((_sizes(part) for part in array.flatten()), np.zeros(len(array), dtype=np.int64))
    if is_list(kind):
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        below = np.concatenate([[0], np.cumsum(_sizes(array.flatten()))])
        return below[ends[1:]] - below[ends[:-1]] + VALUE_BYTES
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        lengths = pc.fill_null(pc.binary_length(array), 0)
        return lengths.to_numpy(zero_copy_only=False).astype(np.int64) + VALUE_BYTES
    return np.full(len(array), VALUE_BYTES, dtype=np.int64)
