"""Parquet files of any schema, read by record batch in bounded memory.

Columns that expand to too much are refused by their sizes in the footer, before anything is decoded; texts
stay in their dictionaries until the size of each row is known. A file whose pages state other sizes than its
footer is not detected.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from dialint.detector.environment import require_library
from dialint.detector.errors import Message
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import (
    BadRecord,
    file_error,
    preview_hint,
    record_too_large,
    too_many_turns,
)
from dialint.detector.ingest.readers.columns import Columns, MessageTable, Row
from dialint.detector.ingest.readers.json_records import ParsedJson, check_characters
from dialint.detector.ingest.readers.streams import RATIO_FROM_BYTES
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.words import may_mark_notes

BATCH_ROWS, NESTED_BATCH_ROWS = 16_384, 1024
MAX_GROUP_VALUES = 8_000_000
"""Values of a nested column in one row group: all may belong to one row."""
MAX_REPEATED_BYTES = 32 << 20
"""Bytes that DELTA_BYTE_ARRAY, which repeats the beginning of the value before, may give in one row."""
MAX_FIXED_BYTES = 64
VALUE_BYTES = 8
"""Least bytes of memory of a value, beside its text."""
SHORT_BYTES = 1 << 10
SLICE_ROWS = 16
"""Rows that become Python objects together; each has at most `max_record_bytes` of text."""


@contextmanager
def open_parquet(source: Source, dictionaries: list[str] | None = None) -> Iterator[Any]:
    """Opens the file. Texts at the paths `dictionaries` are read as indices into their dictionaries.

    Raises:
        InputRefused: E_PARQUET.
        ConfigError: E_EXTRA.
    """
    require_library("pyarrow", source.name)
    import pyarrow.parquet as pq

    limits = {"thrift_string_size_limit": 64 << 20, "thrift_container_size_limit": 1 << 20}
    with (
        _damage(source),
        pq.ParquetFile(
            source.path, pre_buffer=False, buffer_size=1 << 20, read_dictionary=dictionaries,
            coerce_int96_timestamp_unit="us", **limits,
        ) as file,
    ):  # fmt: skip
        yield file


@contextmanager
def _damage(source: Source) -> Iterator[None]:
    """Translates Arrow's exceptions for a damaged file into E_PARQUET."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        problem = Message("cannot be read ({error})", error=type(error).__name__)
        raise file_error("E_PARQUET", source.name, problem) from None


def leaf_paths(file: Any, name: str | None = None) -> list[str]:
    """The paths of the leaves below a top column, or of all leaves."""
    paths = (file.schema.column(leaf).path for leaf in range(len(file.schema)))
    return [path for path in paths if name is None or path == name or path.startswith(name + ".")]


def check_sizes(source: Source, paths: list[str], config: ReadConfig) -> None:
    """Refuses a file whose leaves at `paths` take too much memory once they are decoded. Decodes them where
    the footer does not show that they fit, but makes no text of a dictionary's value.

    Raises:
        InputRefused: E_PARQUET or E_EXPANSION.
    """
    with open_parquet(source) as file:
        most = _check_footer(file, source, paths, config)
    if most > _expansion_limit(source, config):
        for _ in _sized_batches(source, paths, config):
            pass


def _check_footer(file: Any, source: Source, paths: list[str], config: ReadConfig) -> int:
    """Returns an upper bound of the bytes of the leaves: every value as long as its whole column."""
    import pyarrow as pa

    limit = _expansion_limit(source, config)
    total = most = 0
    for index in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(index)
        if group.total_byte_size > config.max_row_group_bytes:
            raise file_error(
                "E_PARQUET", source.name,
                "row group {index} holds over {n} bytes; write it with smaller row groups",
                index=index, n=config.max_row_group_bytes,
            )  # fmt: skip
        for position in range(group.num_columns):
            chunk, kind = group.column(position), file.schema.column(position)
            codec = chunk.compression
            if codec != "UNCOMPRESSED" and not (codec != "LZO" and pa.Codec.is_available(codec.lower())):
                raise file_error("E_PARQUET", source.name, "unknown codec {name}", name=codec)
            if kind.path not in paths:
                continue
            total += chunk.total_uncompressed_size
            most += chunk.num_values * (chunk.total_uncompressed_size + VALUE_BYTES)
            if total > limit:
                raise file_error("E_EXPANSION", source.name, "expands to over {n} bytes", n=limit)
            _check_chunk(
                source, chunk, kind, Message("row group {index}, column {path}", index=index, path=kind.path)
            )
    return most


def _check_chunk(source: Source, chunk: Any, kind: Any, where: Message) -> None:
    """Refuses a file with a column chunk of which one row may take too much."""
    n, size, name = chunk.num_values, chunk.total_uncompressed_size, source.name
    if kind.physical_type == "FIXED_LEN_BYTE_ARRAY" and kind.length > MAX_FIXED_BYTES:
        problem = Message("{where}: values of {n} bytes each; write it as text", where=where, n=kind.length)
        raise file_error("E_PARQUET", name, problem)
    if kind.max_repetition_level and n > MAX_GROUP_VALUES:
        problem = Message("{where}: {n} values; write smaller row groups", where=where, n=n)
        raise file_error("E_EXPANSION", name, problem)
    if kind.max_repetition_level and "DELTA_BYTE_ARRAY" in chunk.encodings and n * size > MAX_REPEATED_BYTES:
        problem = Message("{where}: DELTA_BYTE_ARRAY within lists; write it as dictionary", where=where)
        raise file_error("E_PARQUET", name, problem)


def _expansion_limit(source: Source, config: ReadConfig) -> int:
    return int(min(max(RATIO_FROM_BYTES, config.max_ratio * source.size), config.max_expanded_bytes))


def _sized_batches(source: Source, paths: list[str], config: ReadConfig) -> Iterator[tuple[Any, list[int]]]:
    """Record batches, and the size in bytes of each of their rows. Read by row group: Arrow cannot merge the
    dictionaries of two row groups below a list.

    Raises:
        InputRefused: E_PARQUET; E_EXPANSION where texts of dictionaries expand to too much.
    """
    limit, total, number = _expansion_limit(source, config), 0, 0
    with open_parquet(source) as file:
        _check_footer(file, source, paths, config)
        columns = [file.schema.column(leaf) for leaf in range(len(file.schema))]
        texts = [one.path for one in columns if one.path in paths and one.physical_type == "BYTE_ARRAY"]
        is_nested = any(one.max_repetition_level for one in columns if one.path in paths)
        n_rows = NESTED_BATCH_ROWS if is_nested else BATCH_ROWS
    source.position.at = 0
    with open_parquet(source, texts) as file:
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(n_rows, row_groups=[group], columns=paths, use_threads=False):
                sizes = _row_sizes(batch.columns)
                total += sum(sizes)
                if total > limit:
                    raise file_error("E_EXPANSION", source.name, "expands to over {n} bytes", n=limit)
                number += batch.num_rows
                source.position.at = source.size * number // file.metadata.num_rows
                yield batch, sizes


def parquet_records(
    source: Source, config: ReadConfig, paths: list[str] | None = None
) -> Iterator[ParsedJson]:
    """Number from 1, offset 0 and cells by column (of the leaves at `paths`, else of all) of every row, or
    the fault for which it cannot be used. Of a row with too many turns the texts are left out.

    Raises:
        InputRefused: E_PARQUET or E_EXPANSION.
    """
    if paths is None:
        with open_parquet(source) as file:
            paths = leaf_paths(file)
    for row in _rows(source, paths, config):
        yield ParsedJson(row.line, 0, row.bad or row.cells)


def _rows(source: Source, paths: list[str], config: ReadConfig) -> Iterator[Row]:
    """Every row with its number and its fault; of one that is too large only the short cells."""
    number = 0
    for batch, sizes in _sized_batches(source, paths, config):
        n_turns, has_others = _n_turns(batch), not all(map(_is_plain, batch.schema.types))
        for start in range(0, batch.num_rows, SLICE_ROWS):
            part = batch.slice(start, SLICE_ROWS)
            faults = [
                _size_fault(sizes[at], n_turns[at], config) for at in range(start, start + part.num_rows)
            ]
            with _damage(source):
                if any(faults):
                    single = [part.slice(at, 1) for at in range(part.num_rows)]
                    pairs = zip(single, faults, strict=True)
                    rows = [_short_row(row) if bad else row.to_pylist()[0] for row, bad in pairs]
                else:
                    rows = part.to_pylist()
            for row, bad in zip(map(_as_json, rows) if has_others else rows, faults, strict=True):
                try:
                    if bad is None:
                        check_characters(row)
                except BadRecord as fault:
                    bad = fault
                if bad is not None:
                    names = (row[key] for key in ("dialogue_id", "id") if isinstance(row.get(key), str))
                    bad.dialogue_id = next(names, None)
                number += 1
                yield Row(number, 0, row, bad)


def _is_plain(kind: Any) -> bool:
    """Returns whether the values of an Arrow type are JSON's, or timestamps."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    if pa.types.is_nested(kind):
        inner = (kind.field(number).type for number in range(kind.num_fields))
        return not pa.types.is_map(kind) and all(map(_is_plain, inner))
    own = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_timestamp)
    return _is_text(kind) or any(is_own(kind) for is_own in own)


def _as_json(value: Any) -> Any:
    """Returns a value as JSON has it, but a timestamp as it is. Texts without the annotation of a text, as
    Impala and older Spark write them, are texts; what is no UTF-8 gets lone surrogates, and is refused."""
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, date | time) and not isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta | UUID):
        return str(value)
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else value


def _size_fault(size: int, n_turns: int, config: ReadConfig) -> BadRecord | None:
    if size > config.max_record_bytes:
        return record_too_large(size, config.max_record_bytes)
    return too_many_turns(n_turns, config.max_turns, "turns") if n_turns > config.max_turns else None


def _n_turns(batch: Any) -> list[int]:
    """The number of turns of each row; 0 where there are none."""
    import pyarrow.compute as pc

    if "turns" not in batch.schema.names or not _is_list(batch.column("turns").type):
        return [0] * batch.num_rows
    lengths: list[int] = pc.fill_null(pc.list_value_length(batch.column("turns")), 0).to_pylist()
    return lengths


def _short_row(row: Any) -> dict[str, Any]:
    """The short cells of a batch of one row; None for the others."""
    return {
        name: cell[0].as_py() if _row_sizes([cell])[0] < SHORT_BYTES else None
        for name, cell in zip(row.schema.names, row.columns, strict=True)
    }


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _row_sizes(columns: Any) -> list[int]:
    """Bytes of each row of some columns: those of its texts, and `VALUE_BYTES` for each value."""
    sizes: list[int] = sum(map(_sizes, columns)).tolist()
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
    if _is_list(kind):
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        below = np.concatenate([[0], np.cumsum(_sizes(array.flatten()))])
        return below[ends[1:]] - below[ends[:-1]] + VALUE_BYTES
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        lengths = pc.fill_null(pc.binary_length(array), 0)
        return lengths.to_numpy(zero_copy_only=False).astype(np.int64) + VALUE_BYTES
    return np.full(len(array), VALUE_BYTES, dtype=np.int64)


def parquet_table(source: Source, config: ReadConfig) -> MessageTable:
    """A Parquet log with one message a row.

    Raises:
        InputRefused: E_PARQUET, the schema has not the required columns.
    """
    with open_parquet(source) as file:
        names, kinds = file.schema_arrow.names, file.schema_arrow.types
        columns = Columns.of(names, config)
        if isinstance(columns, Message):
            problem = Message("wrong schema; {problem}", problem=columns)
            hint = preview_hint(source.name)
            raise file_error("E_PARQUET", source.name, "{problem}; or {hint}", problem=problem, hint=hint)
        texts = {name for name, kind in zip(names, kinds, strict=True) if _is_text(kind)}
        once = {name for name in texts if may_mark_notes(name) and names.count(name) == 1}
        notes = tuple(name for name in columns.notes if name in once)
        times = (*columns.times, *"+".join(columns.times).split("+"))
        used = {*columns.ids, *columns.names.values(), *times, *notes}
        if any(names.count(name) > 1 for name in used):
            problem = Message("wrong schema; a column that is read stands there twice")
            raise file_error("E_PARQUET", source.name, problem)
        paths = [path for name in names if name in used for path in leaf_paths(file, name)]

    columns = replace(columns, notes=notes)
    return MessageTable(columns, lambda _: _rows(source, paths, config), paths=paths)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))
