"""The project's own format: canonical JSON records, and the rows of its Parquet corpora.

The record is `{"dialogue_id" | "id", "turns": [{"role", "text", "at", "author"}], ...}`: the fields of
`Dialogue` and those of the corpora (`source`, `split`); other fields are counted and left out. A turn of an
agent may have `tool_calls` (`[{"name", "arguments", "id"}]`), one of the role ``tool`` `tool_call_id` and
`tool_error`. A row has the same columns; its turns' `action` holds calls as JSON.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from dialint.detector.errors import Message
from dialint.detector.ingest.formats.tool_turns import (
    read_calls,
    read_reasoning,
    read_star_query,
    silence,
    tool_turn,
)
from dialint.detector.ingest.log_format import FIELDS, LogFormat, RawDialogue, RawTurn, first_object
from dialint.detector.ingest.mapping import nearest
from dialint.detector.ingest.outcomes import BadRecord, json_kind
from dialint.detector.ingest.words import format_word, is_note_type
from dialint.detector.records import Dialogue

TEXT_FIELDS = (*FIELDS, "policy")
METADATA_FIELDS = ("source", "split")
OWN_FIELDS = ("id", "dialogue_id", "turns", "sources", "metadata", "masked", "labels", "meta")
RECORD_FIELDS = frozenset((*OWN_FIELDS, *TEXT_FIELDS, *METADATA_FIELDS))
ROW_TURN_FIELDS = ("role", "text", "at", "author", "action", "tool_call_id", "tool_error")
TURN_FIELDS = frozenset((*ROW_TURN_FIELDS, "index", "turn_id", "tool_calls"))
TOOL_RESULT = "tool_result"
STAR_QUERY, STAR_RESULT = "query", "kb"


def _matches(record: Any) -> bool:
    first = first_object(record, "turns")
    return "role" in first and ("text" in first or "content" not in first)


def _read(record: dict[str, Any], _: str) -> Iterator[RawDialogue]:
    warnings: Counter[str] = Counter()
    warnings.update(_unknown_field(key, "") for key in record.keys() - RECORD_FIELDS)
    if "id" in record and "dialogue_id" in record and record["id"] != record["dialogue_id"]:
        raise BadRecord("E_ID", "id", "two ids", "one of 'id' and 'dialogue_id'")
    raw_id = record.get("dialogue_id", record.get("id"))
    name = raw_id if isinstance(raw_id, str) else None
    turns = record.get("turns")
    if not isinstance(turns, list):
        raise BadRecord("E_TYPE", "turns", json_kind(turns), "a list of turns", name)
    yield RawDialogue(
        raw_id,
        [_turn(turn, f"turns[{index}]", warnings, name) for index, turn in enumerate(turns)],
        {**{field: record.get(field) for field in TEXT_FIELDS}, **_typed_fields(record, name)},
        warnings,
    )


@lru_cache(1024)
def _unknown_field(name: str, path: str) -> Message:
    """The warning about a field that is not read, with the most similar known one."""
    suggestion = nearest(name, sorted(TURN_FIELDS if path else RECORD_FIELDS))
    return Message("W_UNKNOWN_FIELD {path}{name}{nearest}", path=path, name=format_word(name),
                   nearest=f", {suggestion.strip()}" if suggestion else "")  # fmt: skip


def _turn(turn: object, path: str, warnings: Counter[str], name: str | None) -> RawTurn:
    if not isinstance(turn, dict):
        raise BadRecord("E_TYPE", path, json_kind(turn), "an object with role and text", name)
    unknown = turn.keys() - TURN_FIELDS
    warnings.update(_unknown_field(key, "turns[].") for key in unknown)
    return RawTurn(
        turn.get("role"),
        turn.get("text"),
        turn.get("at"),
        turn.get("author"),
        internal=True if any(is_note_type(turn[key]) for key in unknown) else None,
        tool_calls=read_calls(turn.get("tool_calls"), f"{path}.tool_calls", name, warnings),
        tool_call_id=turn.get("tool_call_id"),
        tool_error=turn.get("tool_error"),
    )


def _typed_fields(record: dict[str, Any], name: str | None) -> dict[str, Any]:
    sources, metadata, masked = record.get("sources"), record.get("metadata"), record.get("masked")
    if not isinstance(sources, list | None) or not all(isinstance(item, str) for item in sources or ()):
        raise BadRecord("E_TYPE", "sources", json_kind(sources), "a list of texts", name)
    if not isinstance(metadata, dict | None):
        raise BadRecord("E_TYPE", "metadata", json_kind(metadata), "an object", name)
    if not isinstance(masked, bool | None):  # only our masking says so
        raise BadRecord("E_TYPE", "masked", json_kind(masked), "true or false", name)
    extra = {field: record[field] for field in METADATA_FIELDS if isinstance(record.get(field), str)}
    return {
        "sources": None if sources is None else tuple(sources),
        "metadata": {**(metadata or {}), **extra} if metadata or extra else None,
    }


canonical = LogFormat("canonical", _matches, _read)


def row_format(ids: tuple[str, ...]) -> LogFormat:
    """The format of Parquet rows of one dialogue each, whose id is that of the columns `ids`."""

    def read(row: dict[str, Any], _: str) -> Iterator[RawDialogue]:
        parts = [row[column] for column in ids]
        joined = len(parts) > 1 and all(isinstance(part, str) and part for part in parts)
        raw_id = "/".join(parts) if joined else parts[0] if len(parts) == 1 else None
        name = raw_id if isinstance(raw_id, str) else None
        turns: list[RawTurn] = []
        is_tau = (row.get("source") or "").startswith("tau_bench")
        for index, turn in enumerate(row["turns"] or []):
            if turn is None:
                raise BadRecord("E_TYPE", f"turns[{index}]", "nothing", "a turn", name)
            turns.append(_row_turn(turn, f"turns[{index}]", name, is_tau=is_tau))
        if is_tau and not any(turn.tool_calls for turn in turns):
            read_reasoning(turns)
        values = {key: row.get(key) for key in TEXT_FIELDS}
        values["metadata"] = {key: row[key] for key in METADATA_FIELDS if isinstance(row.get(key), str)}
        values["sources"] = tuple(row.get("sources") or ()) or None
        yield RawDialogue(raw_id, turns, values)

    return LogFormat("parquet", lambda record: "turns" in record, read)


def _row_turn(raw: dict[str, Any], path: str, name: str | None, *, is_tau: bool) -> RawTurn:
    """Reads one turn. `action` marks a tool's result, or holds the JSON of an agent's calls, beside which an
    agent of tau-bench says nothing; an agent's blank turn with another action is a step that the customer did
    not see."""
    turn = RawTurn(raw["role"], raw["text"], raw.get("at"), raw.get("author"))
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


def as_record(dialogue: Dialogue) -> dict[str, Any]:
    """The canonical record of a dialogue, without fields that have no value."""
    turns = []
    for turn in dialogue.turns:
        calls = [call.model_dump(exclude_none=True) for call in turn.tool_calls]
        record = {
            "role": turn.role, "text": turn.text, "at": turn.at and turn.at.isoformat(),
            "author": turn.author, "tool_calls": calls or None, "tool_call_id": turn.tool_call_id,
            "tool_error": turn.tool_error,
        }  # fmt: skip
        turns.append({name: value for name, value in record.items() if value is not None})
    fields = dialogue.model_dump(mode="json", exclude_defaults=True, exclude={"turns", "id"})
    return {"id": dialogue.id, "turns": turns, **fields}
