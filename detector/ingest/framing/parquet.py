"""Parquet logs: one row per dialogue with a list of turns (the project's corpora), or one per message.

Reads by record batch in bounded memory; a file that is not what its footer says is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from detector.ingest.canonical import METADATA_FIELDS, TEXT_FIELDS
from detector.ingest.checks import Draft, DraftTurn
from detector.ingest.config import ReadConfig
from detector.ingest.formats.tau import seen_by_customer
from detector.ingest.found import Found, finished
from detector.ingest.framing.messages import Columns, Row, gather, identity
from detector.ingest.framing.regroup import Runs, regrouped
from detector.ingest.framing.strictjson import check_characters
from detector.ingest.outcomes import BadRecord, refuse
from detector.ingest.sources import Source

BATCH_ROWS = 256
BUFFER_BYTES = 1 << 20
GROUP = 256


def read_parquet(source: Source, config: ReadConfig, warnings: Counter[str]) -> Iterator[list[Found]]:
    """Batches of dialogues, numbered by row from 1.

    Raises:
        InputRefused: E_PARQUET.
    """
    layout = check_parquet(source, config)
    if isinstance(layout, Columns):
        batch: list[Found] = []
        runs = Runs()
        for row in _rows(source, layout):
            runs.add(identity(row.cells, layout))
        rows = _rows(source, layout)
        for found in gather(rows if runs.together() else regrouped(rows, layout), layout, config, warnings):
            batch.append(found)
            if len(batch) >= GROUP:
                yield batch
                batch = []
        yield batch
        return
    number = 1
    for dialogues in _batches(source, layout):
        batch = []
        for dialogue in dialogues:
            batch.extend(finished(_drafts(dialogue, config), number, 0, config, warnings))
            number += 1
        yield batch


def check_parquet(source: Source, config: ReadConfig) -> list[str] | Columns:
    """The columns to read of a nested file, or those of a table with one message a row; looks at the
    footer only.

    Raises:
        InputRefused: E_PARQUET for a damaged footer, an unknown codec, a row group over the limit or
            columns that are neither; E_NO_RECORDS for no rows.
    """
    with _open(source) as file:
        metadata, schema = file.metadata, file.schema_arrow
        if metadata.num_rows == 0:
            raise refuse("E_NO_RECORDS", source.name, "no rows")
        for index in range(metadata.num_row_groups):
            group = metadata.row_group(index)
            _check_group(group, index, source, config)
        names = schema.names
        if "turns" in names and config.columns().keys() <= {"id"}:
            inner = _turn_fields(schema.field("turns").type)
            ids = id_columns(names, config)
            if not {"role", "text"} <= inner or not ids:
                expected = "columns dialogue_id and turns, a list of {role, text}"
                raise refuse("E_PARQUET", source.name, f"wrong schema; expected {expected}")
            wanted = {*ids, "turns", "sources", *TEXT_FIELDS, *METADATA_FIELDS}
            return [name for name in names if name in wanted]
        columns = Columns.of(names, config)
        if isinstance(columns, str):
            raise refuse("E_PARQUET", source.name, f"wrong schema; {columns}")
        return columns


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


@contextmanager
def _open(source: Source) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    limits = {"thrift_string_size_limit": 64 << 20, "thrift_container_size_limit": 1 << 20}
    try:
        with pq.ParquetFile(source.path, pre_buffer=False, buffer_size=BUFFER_BYTES, **limits) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError) as error:
        raise refuse("E_PARQUET", source.name, f"cannot be read ({type(error).__name__})") from None


def _batches(source: Source, columns: list[str] | None) -> Iterator[list[dict[str, Any]]]:
    with _open(source) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=columns, use_threads=False):
            yield batch.to_pylist()


def _drafts(row: dict[str, Any], config: ReadConfig) -> Iterator[Draft]:
    ids = [row[column] for column in id_columns(list(row), config)]
    joined = len(ids) > 1 and all(isinstance(part, str) and part for part in ids)
    name = "/".join(ids) if joined else ids[0] if len(ids) == 1 else None
    shown = name if isinstance(name, str) else None
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


def _rows(source: Source, columns: Columns) -> Iterator[Row]:
    number = 1
    for batch in _batches(source, None):
        for row in batch:
            cells = list(row.values())
            yield Row(number, 0, cells, _cell_fault(cells))
            number += 1


def _cell_fault(cells: list[object]) -> BadRecord | None:
    for cell in cells:
        try:
            _check(cell, "", None)
        except BadRecord as bad:
            return bad
    return None
