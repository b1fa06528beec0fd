"""Parquet logs: one row per dialogue with a list of turns (the project's corpora), or one per message.

Reads by record batch in bounded memory: what columns expand to is checked before they are decoded
(`parquet_pages`), texts stay in their dictionaries until the size of each row is known, and only columns
that mean something are read. A file that is not what its footer says is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.formats.registry import METADATA_FIELDS, TEXT_FIELDS
from dialint.detector.ingest.formats.research import seen_by_customer
from dialint.detector.ingest.mapping import Shape as MappedShape
from dialint.detector.ingest.outcomes import BadRecord, refuse, try_preview
from dialint.detector.ingest.readers.mapped_records import mapped_format, rows_of, survey_of
from dialint.detector.ingest.readers.message_rows import (
    Columns,
    Row,
    Survey,
    check_privacy,
    gather,
    oversized,
    regrouped,
)
from dialint.detector.ingest.readers.parquet_pages import VALUE_BYTES, check_columns, expansion_limit
from dialint.detector.ingest.readers.strict_json import check_characters
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.validation import Draft, DraftTurn, Found, finished

BATCH_ROWS = 256
DICTIONARY_PASS = 64
"""Values of a dictionary to a row of a batch, at most: going through it costs no more than the rows then."""
MAX_BATCH_VALUES = 1_280_000
"""Values of one column in a batch: 256 dialogues of 5,000 turns."""
SHORT_BYTES = 1 << 10
SLICE_BYTES = 8 << 20
"""Text of rows that become Python objects together; a row alone may have more."""
BUFFER_BYTES = 1 << 20
GROUP = 256
_LIST_LEVEL = re.compile(r"\.list\.(?:element|item)|\.bag\.array_element")
TURN_FIELDS = ("role", "text", "at", "author", "action")


@dataclass(frozen=True)
class Layout:
    """What is read: the leaves at `paths`. Of a table with one message a row, `table` says what the columns
    `names` mean; a file with one dialogue a row has none. `mapped` is the way of a mapping through a row."""

    paths: list[str]
    names: list[str]
    table: Columns | None = None
    batch_rows: int = BATCH_ROWS
    mapped: MappedShape | None = None


def read_parquet(source: Source, config: ReadConfig, warnings: Counter[str]) -> Iterator[list[Found]]:
    """Batches of dialogues, numbered by row from 1.

    Raises:
        InputRefused: E_PARQUET or E_EXPANSION.
    """
    layout = check_parquet(source, config)
    batch: list[Found] = []
    ways = _by_mapping if layout.mapped else _table if layout.table else _nested
    for found in ways(source, layout, config, warnings):
        batch.append(found)
        if len(batch) >= GROUP:
            yield batch
            batch = []
    yield batch


def _table(source: Source, layout: Layout, config: ReadConfig, warnings: Counter[str]) -> Iterator[Found]:
    assert layout.table is not None
    survey = Survey(layout.table, config)
    for row in _rows(source, layout, config):
        survey.add(row)
    rows = _rows(source, layout, config)
    if not survey.is_together:
        rows = regrouped(rows, layout.table)
    return gather(rows, layout.table, config, warnings, survey.times(source.name))


def _by_mapping(
    source: Source, layout: Layout, config: ReadConfig, warnings: Counter[str]
) -> Iterator[Found]:
    assert layout.mapped is not None
    survey = survey_of(_objects_of(source, layout, config), source, config)
    if layout.mapped.by_row:
        columns = Columns.of_shape(layout.mapped, config)
        rows = rows_of(_objects_of(source, layout, config), layout.mapped)
        if not survey.is_together:
            rows = regrouped(rows, columns)
        yield from gather(rows, columns, config, warnings, survey.times(source.name))
        return
    made = mapped_format(config, survey.times(source.name), streamed=False)
    for number, _, row in _objects_of(source, layout, config):
        if isinstance(row, BadRecord):
            yield Found(number, 0, row)
        else:
            drafts = made.drafts(row, f"{source.label}:{number}")
            yield from finished(drafts, number, 0, config, warnings)


def _objects_of(source: Source, layout: Layout, config: ReadConfig) -> Iterator[tuple[int, int, Any]]:
    """Number, 0 and cells of every row, or why it cannot be used."""
    for number, size, row in sized_rows(source, layout.paths, layout.batch_rows, config):
        bad = oversized(size, config) if size > config.max_record_bytes else _text_fault(row)
        yield number, 0, bad or row


def _text_fault(value: object) -> BadRecord | None:
    """What is wrong with a text anywhere in a row."""
    if isinstance(value, str):
        return _cell_fault([value])
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((bad for item in below if (bad := _text_fault(item))), None)


def _nested(source: Source, layout: Layout, config: ReadConfig, warnings: Counter[str]) -> Iterator[Found]:
    for number, size, row in sized_rows(source, layout.paths, layout.batch_rows, config):
        yield from finished(_drafts(row, size, config), number, 0, config, warnings)


def check_parquet(source: Source, config: ReadConfig) -> Layout:
    """What to read of a file; looks at the footer and at page headers, and counts the values of columns
    that have very many.

    Raises:
        InputRefused: E_PARQUET for a damaged footer, an unknown codec, a row group over the limit or
            columns that are neither; E_EXPANSION for columns that expand to too much; E_PRIVACY for a
            privacy cell that says nothing; E_NO_RECORDS for no rows.
    """
    with _open(source) as file:
        if file.metadata.num_rows == 0:
            raise refuse("E_NO_RECORDS", source.name, "no rows")
        layout = _layout(file, source, config)
        layout = replace(layout, batch_rows=check_leaves(source, file, layout.paths, config))
    if layout.table is not None and "private" in layout.table.positions:
        _check_privacy(source, layout, layout.table, config)
    return layout


def _check_privacy(source: Source, layout: Layout, table: Columns, config: ReadConfig) -> None:
    """Read the columns that decide whether a row is an internal note, and no other."""
    wanted = {
        layout.names[table.positions[need]] for need in ("private", "role", "type") if need in table.positions
    }
    paths = [path for path in layout.paths if path.split(".")[0] in wanted]
    for number, _, row in sized_rows(source, paths, layout.batch_rows, config):
        cells = [row.get(name) for name in layout.names]
        check_privacy(Row(number, 0, cells), table, config, source.name)


def read_table(source: Source, config: ReadConfig) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The rows of any table, as `sized_rows` gives them; all columns are read.

    Raises:
        InputRefused: E_PARQUET or E_EXPANSION.
    """
    with _open(source) as file:
        paths = [file.schema.column(leaf).path for leaf in range(len(file.schema))]
        batch_rows = check_leaves(source, file, paths, config)
    yield from sized_rows(source, paths, batch_rows, config)


def check_parquet_columns(path: Path, names: list[str], config: ReadConfig) -> None:
    """Refuse a Parquet file of which the columns `names` are about to be read as a whole.

    Raises:
        InputRefused: E_PARQUET or E_EXPANSION.
    """
    source = Source(str(path), path, path.stat().st_size, (0, 0, 0, 0))
    with _open(source) as file:
        check_leaves(source, file, [leaf for name in names for leaf in _paths(file, name)], config)


def _layout(file: Any, source: Source, config: ReadConfig) -> Layout:
    names = file.schema_arrow.names
    if config.mapped.is_whole:
        shape = MappedShape(config.mapped)
        plain = [part for name, path in config.columns().items() for part in _parts(name, path)]
        if shape.lists or not set(plain) <= set(names):
            return _mapped_layout(file, source, shape, config)
    if "turns" in names and config.columns().keys() <= {"id"}:
        inner = _turn_fields(file.schema_arrow.field("turns").type)
        ids = id_columns(names, config)
        if not {"role", "text"} <= inner or not ids:
            expected = "columns dialogue_id and turns, a list of {role, text}"
            raise refuse("E_PARQUET", source.name, f"wrong schema; expected {expected}")
        wanted = {*ids, "sources", *TEXT_FIELDS, *METADATA_FIELDS}
        chosen = [name for name in names if name in wanted]
        paths = [path for name in chosen for path in _paths(file, name)] + _turn_paths(_paths(file, "turns"))
        return Layout(paths, [*chosen, "turns"])
    columns = Columns.of(names, config)
    if isinstance(columns, str):
        message = f"wrong schema; {columns}; or {try_preview(source.name)}"
        raise refuse("E_PARQUET", source.name, message)
    kept = sorted({*columns.ids, *columns.positions.values()})
    table = replace(
        columns,
        ids=tuple(kept.index(place) for place in columns.ids),
        positions={meaning: kept.index(place) for meaning, place in columns.positions.items()},
    )
    chosen = [names[place] for place in kept]
    if any(names.count(name) > 1 for name in chosen):
        raise refuse("E_PARQUET", source.name, "wrong schema; a column that is read stands there twice")
    return Layout([path for name in chosen for path in _paths(file, name)], chosen, table)


def _parts(meaning: str, path: str) -> list[str]:
    return path.split("+") if meaning == "id" else [path]


def _mapped_layout(file: Any, source: Source, shape: MappedShape, config: ReadConfig) -> Layout:
    """The leaves that the paths of a mapping lead to."""
    wanted = [
        part.replace("[]", "") for name, path in config.columns().items() for part in _parts(name, path)
    ]
    paths = []
    for leaf in range(len(file.schema)):
        path = file.schema.column(leaf).path
        bare = _LIST_LEVEL.sub("", path)
        if any(bare == one or bare.startswith(f"{one}.") for one in wanted):
            paths.append(path)
    if not paths:
        there = ", ".join(file.schema_arrow.names[:12])
        raise refuse(
            "E_PARQUET", source.name, f"wrong schema; no path of the mapping is in it: there are {there}"
        )
    return Layout(paths, [], mapped=shape)


def _paths(file: Any, name: str) -> list[str]:
    """The paths of the leaves below a top column."""
    paths = (file.schema.column(leaf).path for leaf in range(len(file.schema)))
    return [path for path in paths if path == name or path.startswith(name + ".")]


def _turn_paths(paths: list[str]) -> list[str]:
    """Those of the leaves below `turns` that belong to fields of a turn that are read."""
    parts = [path.split(".") for path in paths]
    depth = next(n for n in range(len(parts[0])) if len({tuple(part[: n + 1]) for part in parts}) > 1)
    return [path for path, part in zip(paths, parts, strict=True) if part[depth] in TURN_FIELDS]


def _turn_fields(kind: Any) -> set[str]:
    """Names of the fields of a turn, if `kind` is a list of structs."""
    import pyarrow as pa

    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_struct(
        kind.value_type
    ):
        return set()
    return {field.name for field in kind.value_type}


def id_columns(names: list[str], config: ReadConfig) -> list[str]:
    """The columns that make the id of a nested row; empty if one is missing."""
    chosen = config.columns().get("id")
    if chosen is None:
        usual = [name for name in names if name in ("dialogue_id", "id")]
        return sorted(usual)[:1]
    parts = [chosen] if chosen in names else chosen.split("+")
    return parts if set(parts) <= set(names) else []


def _check_group(group: Any, index: int, source: Source, config: ReadConfig) -> None:
    import pyarrow as pa

    if group.total_byte_size > config.max_row_group_bytes:
        limit = f"{config.max_row_group_bytes} bytes; write it with smaller row groups"
        raise refuse("E_PARQUET", source.name, f"row group {index} holds over {limit}")
    for position in range(group.num_columns):
        codec = group.column(position).compression
        if codec != "UNCOMPRESSED" and not (codec != "LZO" and pa.Codec.is_available(codec.lower())):
            raise refuse("E_PARQUET", source.name, f"unknown codec {codec}")


def check_leaves(source: Source, file: Any, paths: list[str], config: ReadConfig) -> int:
    """Refuse an open Parquet file whose leaves at `paths` expand to more than memory holds; else how many
    rows to read together.

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
    """Refuse a file in which few rows have most values of the nested column at `path`; it is read alone."""
    with _open(source, [path]) as file:
        for batch in file.iter_batches(batch_size=batch_rows, columns=[path], use_threads=False):
            if _n_values(batch.column(0)) > MAX_BATCH_VALUES:
                message = f"{batch_rows} rows have over {MAX_BATCH_VALUES} values of {path}"
                raise refuse("E_EXPANSION", source.name, message)


def _n_values(array: Any) -> int:
    """Values of the one leaf below `array`."""
    import pyarrow as pa

    while pa.types.is_nested(array.type):
        array = array.field(0) if pa.types.is_struct(array.type) else array.flatten()
    return len(array)


@contextmanager
def _open(source: Source, dictionaries: list[str] | None = None) -> Iterator[Any]:
    """The file; of the columns at the paths `dictionaries`, texts are read as indices into theirs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    limits = {"thrift_string_size_limit": 64 << 20, "thrift_container_size_limit": 1 << 20}
    try:
        with pq.ParquetFile(
            source.path, pre_buffer=False, buffer_size=BUFFER_BYTES, read_dictionary=dictionaries, **limits
        ) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise refuse("E_PARQUET", source.name, f"cannot be read ({type(error).__name__})") from None


def _text_paths(source: Source, paths: list[str]) -> list[str]:
    """Those of `paths` that lead to texts."""
    with _open(source) as file:
        columns = [file.schema.column(leaf) for leaf in range(len(file.schema))]
        return [one.path for one in columns if one.path in paths and one.physical_type == "BYTE_ARRAY"]


def _batches(file: Any, batch_rows: int, paths: list[str]) -> Iterator[Any]:
    """Row group by row group: Arrow can't put the dictionaries of two together below a list."""
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
    with _open(source, _text_paths(source, paths)) as file:
        for batch in _batches(file, batch_rows, paths):
            sizes = _row_sizes(batch)
            total += sum(sizes)
            if total > limit:
                raise refuse("E_EXPANSION", source.name, f"expands to over {limit} bytes")
            for start, end in _slices(sizes, _too_many_turns(batch, config), config):
                rows = _short_row(batch, start) if end is None else _objects(batch.slice(start, end - start))
                for row, size in zip(rows, sizes[start:end], strict=False):
                    yield number, size, row
                    number += 1
            source.position.at = source.size * (number - 1) // file.metadata.num_rows


def _slices(sizes: list[int], too_many: list[bool], config: ReadConfig) -> Iterator[tuple[int, int | None]]:
    """Ranges of rows that are turned into objects together; a row that must not be is (row, None)."""
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
    """The same array with texts in place of indices, which become objects in half the time."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_struct(array.type):
        parts = [_plain(part) for part in array.flatten()]
        return pa.StructArray.from_arrays(parts, [field.name for field in array.type], mask=array.is_null())
    if _is_list(array.type):
        lists = pa.LargeListArray if pa.types.is_large_list(array.type) else pa.ListArray
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        inner = _plain(array.values.slice(first, last - first))
        return lists.from_arrays(pa.compute.subtract(array.offsets, first), inner, mask=array.is_null())
    return array


def _too_many_turns(batch: Any, config: ReadConfig) -> list[bool]:
    import pyarrow.compute as pc

    if "turns" not in batch.schema.names or not _is_list(batch.column("turns").type):
        return [False] * batch.num_rows
    lengths = pc.list_value_length(batch.column("turns"))
    return [length is not None and length > config.max_turns for length in lengths.to_pylist()]


def _short_row(batch: Any, row: int) -> list[dict[str, Any]]:
    """The short texts of one row, and as many empty turns as it has."""
    cells: dict[str, Any] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        one = column.slice(row, 1)
        if name == "turns" and _is_list(column.type):
            cells[name] = [None] * len(one.flatten())
        else:
            cells[name] = one[0].as_py() if _row_sizes([one])[0] < SHORT_BYTES else None
    return [cells]


def _is_list(kind: Any) -> bool:
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
        known = np.append(_sizes(array.dictionary), VALUE_BYTES)
        return known[pc.fill_null(array.indices, len(known) - 1).to_numpy(zero_copy_only=False)]
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


def _drafts(row: dict[str, Any], size: int, config: ReadConfig) -> Iterator[Draft]:
    ids = [row[column] for column in id_columns(list(row), config)]
    joined = len(ids) > 1 and all(isinstance(part, str) and part for part in ids)
    name = "/".join(ids) if joined else ids[0] if len(ids) == 1 else None
    shown = name if isinstance(name, str) else None
    if size > config.max_record_bytes:
        raise oversized(size, config, shown)
    if len(row["turns"] or []) > config.max_turns:
        yield Draft(name, [DraftTurn(None, None)] * len(row["turns"]))
        return
    turns = []
    for index, turn in enumerate(row["turns"] or []):
        if turn is None:
            raise BadRecord("E_TYPE", f"turns[{index}]", "nothing", "a turn", shown)
        for key in ("role", "text"):
            _check(turn[key], f"turns[{index}].{key}", shown)
        turns.append(DraftTurn(turn["role"], turn["text"], turn.get("at"), turn.get("author")))
    if (row.get("source") or "").startswith("tau_bench") and not any(
        turn.get("action") for turn in row["turns"] or [] if turn["role"] == "agent"
    ):
        seen_by_customer(turns)
    for turn, raw in zip(turns, row["turns"] or [], strict=True):
        if turn.role in ("agent", "bot") and raw.get("action") and not str(turn.text or "").strip():
            turn.role = "system"
    metadata = {key: row[key] for key in METADATA_FIELDS if isinstance(row.get(key), str)}
    fields: dict[str, Any] = {key: row.get(key) for key in TEXT_FIELDS}
    sources = row.get("sources")
    yield Draft(name, turns, {**fields, "metadata": metadata, "sources": tuple(sources) if sources else None})


def _check(value: object, path: str, name: str | None) -> None:
    if isinstance(value, str):
        try:
            check_characters(path, value)
        except BadRecord as bad:
            bad.dialogue_id = name
            raise


def _rows(source: Source, layout: Layout, config: ReadConfig) -> Iterator[Row]:
    for number, size, row in sized_rows(source, layout.paths, layout.batch_rows, config):
        cells = [row[name] for name in layout.names]
        bad = oversized(size, config) if size > config.max_record_bytes else _cell_fault(cells)
        yield Row(number, 0, cells, bad)


def _cell_fault(cells: list[object]) -> BadRecord | None:
    for cell in cells:
        try:
            _check(cell, "", None)
        except BadRecord as bad:
            return bad
    return None
