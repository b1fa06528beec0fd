"""Parquet logs: one row per dialogue with a list of turns (the project's corpora), or one per message.

Reads by record batch in bounded memory: the size of decoded columns is checked before decoding
(`parquet_pages`), texts stay in their dictionaries until the size of each row is known, and only columns with
a meaning are read. A file that contradicts its footer is refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dialint.detector.errors import Message
from dialint.detector.ingest.column_words import may_mark_notes
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.formats.registry import METADATA_FIELDS, TEXT_FIELDS
from dialint.detector.ingest.formats.tool_turns import (
    read_calls,
    read_reasoning,
    read_star_query,
    silence,
    tool_turn,
)
from dialint.detector.ingest.mapping import MappedRecord as MappedShape
from dialint.detector.ingest.outcomes import BadRecord, file_error, preview_hint, record_too_large
from dialint.detector.ingest.readers.mapped_logs import iterate_rows, mapped_format, survey_records
from dialint.detector.ingest.readers.message_rows import (
    Columns,
    Row,
    Survey,
    check_privacy,
    gather_dialogues,
    group_on_disk,
)
from dialint.detector.ingest.readers.parquet_rows import (
    BATCH_ROWS,
    check_leaves,
    leaf_paths,
    open_parquet,
    sized_rows,
)
from dialint.detector.ingest.readers.strict_json import check_characters
from dialint.detector.ingest.sources import Source
from dialint.detector.ingest.validation import Draft, DraftTurn, ParsedRecord, validate_drafts

GROUP = 256
_LIST_LEVEL = re.compile(r"\.list\.(?:element|item)|\.bag\.array_element")
TOOL_RESULT = "tool_result"
STAR_QUERY, STAR_RESULT = "query", "kb"
TURN_FIELDS = ("role", "text", "at", "author", "action", "tool_call_id", "tool_error")


@dataclass(frozen=True)
class Layout:
    """The leaves at `paths` that are read. For one message a row, `table` is the meaning of the columns
    `names`; None for one dialogue a row. `mapped` extracts the messages of a row by a mapping."""

    paths: list[str]
    names: list[str]
    table: Columns | None = None
    batch_rows: int = BATCH_ROWS
    mapped: MappedShape | None = None


def read_parquet(source: Source, config: ReadConfig, warnings: Counter[str]) -> Iterator[list[ParsedRecord]]:
    """Batches of dialogues, numbered by row from 1.

    Raises:
        InputRefused: E_PARQUET or E_EXPANSION.
    """
    layout = check_parquet(source, config)
    batch: list[ParsedRecord] = []
    ways = _mapped_dialogues if layout.mapped else _table_dialogues if layout.table else _nested_dialogues
    for result in ways(source, layout, config, warnings):
        batch.append(result)
        if len(batch) >= GROUP:
            yield batch
            batch = []
    yield batch


def _table_dialogues(
    source: Source, layout: Layout, config: ReadConfig, warnings: Counter[str]
) -> Iterator[ParsedRecord]:
    assert layout.table is not None
    survey = Survey(layout.table, config)
    for row in _rows(source, layout, config):
        survey.add(row)
    rows, columns = _rows(source, layout, config), survey.columns(source.name)
    if not survey.is_together:
        rows = group_on_disk(rows, columns)
    return gather_dialogues(rows, columns, config, warnings, survey.times(source.name))


def _mapped_dialogues(
    source: Source, layout: Layout, config: ReadConfig, warnings: Counter[str]
) -> Iterator[ParsedRecord]:
    assert layout.mapped is not None
    survey = survey_records(_objects_of(source, layout, config), source, config)
    if layout.mapped.by_row:
        columns = survey.columns(source.name)
        rows = iterate_rows(_objects_of(source, layout, config), layout.mapped)
        if not survey.is_together:
            rows = group_on_disk(rows, columns)
        yield from gather_dialogues(rows, columns, config, warnings, survey.times(source.name))
        return
    shape = mapped_format(config, survey, source.name, streamed=False)
    for number, _, row in _objects_of(source, layout, config):
        if isinstance(row, BadRecord):
            yield ParsedRecord(number, 0, row)
        else:
            drafts = shape.drafts(row, f"{source.label}:{number}")
            yield from validate_drafts(drafts, number, 0, config, warnings)


def _objects_of(source: Source, layout: Layout, config: ReadConfig) -> Iterator[tuple[int, int, Any]]:
    """Number, offset 0 and cells of every row, or the fault for which it cannot be used."""
    for number, size, row in sized_rows(source, layout.paths, layout.batch_rows, config):
        bad = (
            record_too_large(size, config.max_record_bytes)
            if size > config.max_record_bytes
            else _text_fault(row)
        )
        yield number, 0, bad or row


def _text_fault(value: object) -> BadRecord | None:
    """The first fault of a text anywhere in a row."""
    if isinstance(value, str):
        return _cell_fault([value])
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((bad for item in below if (bad := _text_fault(item))), None)


def _nested_dialogues(
    source: Source, layout: Layout, config: ReadConfig, warnings: Counter[str]
) -> Iterator[ParsedRecord]:
    for number, size, row in sized_rows(source, layout.paths, layout.batch_rows, config):
        yield from validate_drafts(_drafts(row, size, config), number, 0, config, warnings)


def check_parquet(source: Source, config: ReadConfig) -> Layout:
    """The layout of a file. Reads the footer and page headers, and counts the values of columns with very
    many.

    Raises:
        InputRefused: E_PARQUET for a damaged footer, an unknown codec, a row group over the limit or an
        unknown
            schema; E_EXPANSION for columns that expand to too much; E_PRIVACY for a privacy cell of unknown
            meaning; E_NO_RECORDS for no rows.
    """
    with open_parquet(source) as file:
        if file.metadata.num_rows == 0:
            raise file_error("E_NO_RECORDS", source.name, "no rows")
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
            raise file_error(
                "E_PARQUET",
                source.name,
                "wrong schema; expected columns dialogue_id and turns, a list of {role, text}",
            )
        wanted = {*ids, "sources", *TEXT_FIELDS, *METADATA_FIELDS}
        chosen = [name for name in names if name in wanted]
        paths = [path for name in chosen for path in leaf_paths(file, name)] + _turn_paths(
            leaf_paths(file, "turns")
        )
        return Layout(paths, [*chosen, "turns"])
    columns = Columns.of(names, config)
    if isinstance(columns, Message):
        problem, hint = Message("wrong schema; {problem}", problem=columns), preview_hint(source.name)
        raise file_error("E_PARQUET", source.name, "{problem}; or {hint}", problem=problem, hint=hint)
    notes = [
        at for at in columns.notes
        if _is_text(file.schema_arrow.types[at]) and names.count(names[at]) == 1 and may_mark_notes(names[at])
    ]  # fmt: skip
    retained = sorted({*columns.ids, *columns.positions.values(), *notes})
    table = replace(
        columns,
        notes=tuple(map(retained.index, notes)),
        ids=tuple(retained.index(position) for position in columns.ids),
        positions={meaning: retained.index(position) for meaning, position in columns.positions.items()},
    )
    chosen = [names[position] for position in retained]
    if any(names.count(name) > 1 for name in chosen):
        raise file_error("E_PARQUET", source.name, "wrong schema; a column that is read stands there twice")
    return Layout([path for name in chosen for path in leaf_paths(file, name)], chosen, table)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


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
        raise file_error(
            "E_PARQUET",
            source.name,
            "wrong schema; no path of the mapping is in it: there are {names}",
            names=there,
        )
    return Layout(paths, [], mapped=shape)


def _turn_paths(paths: list[str]) -> list[str]:
    """The leaves below `turns` of the fields of a turn that are read."""
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


def _drafts(row: dict[str, Any], size: int, config: ReadConfig) -> Iterator[Draft]:
    ids = [row[column] for column in id_columns(list(row), config)]
    joined = len(ids) > 1 and all(isinstance(part, str) and part for part in ids)
    name = "/".join(ids) if joined else ids[0] if len(ids) == 1 else None
    dialogue_id = name if isinstance(name, str) else None
    if size > config.max_record_bytes:
        raise record_too_large(size, config.max_record_bytes, dialogue_id)
    if len(row["turns"] or []) > config.max_turns:
        yield Draft(name, [DraftTurn(None, None)] * len(row["turns"]))
        return
    turns = []
    is_tau = (row.get("source") or "").startswith("tau_bench")
    for index, turn in enumerate(row["turns"] or []):
        if turn is None:
            raise BadRecord("E_TYPE", f"turns[{index}]", "nothing", "a turn", dialogue_id)
        for key in ("role", "text"):
            _check(turn[key], f"turns[{index}].{key}", dialogue_id)
        turns.append(_turn(turn, f"turns[{index}]", dialogue_id, is_tau=is_tau))
    if is_tau and not any(turn.tool_calls for turn in turns):
        read_reasoning(turns)
    metadata = {key: row[key] for key in METADATA_FIELDS if isinstance(row.get(key), str)}
    fields: dict[str, Any] = {key: row.get(key) for key in TEXT_FIELDS}
    sources = row.get("sources")
    yield Draft(name, turns, {**fields, "metadata": metadata, "sources": tuple(sources) if sources else None})


def _turn(raw: dict[str, Any], path: str, name: str | None, *, is_tau: bool) -> DraftTurn:
    """One turn. In `action` stands that a turn is a tool's result, or the JSON of an agent's calls, beside
    which an agent of tau-bench says nothing; an agent's blank turn with another action is a step that the
    customer did not see."""
    turn = DraftTurn(raw["role"], raw["text"], raw.get("at"), raw.get("author"))
    turn.tool_call_id, turn.tool_error = raw.get("tool_call_id"), raw.get("tool_error")
    action = raw.get("action")
    if not action:
        return turn
    if action == STAR_QUERY and raw["role"] == "system":
        call = read_star_query(raw["text"] or "")
        if call is not None:
            turn.role = "agent"
            silence(turn, (call,))
        return turn
    if action in (TOOL_RESULT, STAR_RESULT) and raw["role"] in ("system", "tool"):
        return tool_turn(raw["text"] or "", at=raw.get("at"))
    if raw["role"] not in ("agent", "bot"):
        return turn
    if action.startswith("[{"):
        try:
            calls = json.loads(action)
        except (ValueError, RecursionError):
            calls = None
        if isinstance(calls, list) and all(isinstance(call, dict) and call.get("name") for call in calls):
            turn.tool_calls = read_calls(calls, f"{path}.action", name)
            if is_tau:
                silence(turn, turn.tool_calls)
            return turn
    if not str(raw["text"] or "").strip():
        turn.role = "system"
    return turn


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
        bad = (
            record_too_large(size, config.max_record_bytes)
            if size > config.max_record_bytes
            else _cell_fault(cells)
        )
        yield Row(number, 0, cells, bad)


def _cell_fault(cells: list[object]) -> BadRecord | None:
    for cell in cells:
        try:
            _check(cell, "", None)
        except BadRecord as bad:
            return bad
    return None
