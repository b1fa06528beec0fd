"""The canonical record: `{"dialogue_id" | "id", "turns": [{"role", "text", "at", "author"}], ...}`.

Reads the fields of `Dialogue` and those of the project's corpora (`source`, `split`); others are
counted and left out. One record in, one draft out.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dialint.detector.ingest.checks import Draft, DraftTurn
from dialint.detector.ingest.outcomes import BadRecord

TEXT_FIELDS = ("language", "channel", "agent", "team", "policy")
METADATA_FIELDS = ("source", "split")
KNOWN_FIELDS = {"id", "dialogue_id", "turns", "sources", "metadata", "masked", "labels", "meta"}
KNOWN_FIELDS.update(TEXT_FIELDS, METADATA_FIELDS)
TURN_FIELDS = {"role", "text", "at", "author", "index", "turn_id", "action"}


def draft(record: dict[str, Any]) -> Draft:
    """The draft of one canonical record.

    Raises:
        BadRecord: E_TYPE or E_ID.
    """
    name = _id(record)
    warnings: Counter[str] = Counter()
    if record.keys() - KNOWN_FIELDS:
        warnings["W_UNKNOWN_FIELD"] += 1
    turns = record.get("turns")
    if not isinstance(turns, list):
        raise BadRecord("E_TYPE", "turns", _kind(turns), "a list of turns", _shown(name))
    fields = {field: record.get(field) for field in TEXT_FIELDS}
    return Draft(
        name,
        [_turn(turn, f"turns[{index}]", warnings, _shown(name)) for index, turn in enumerate(turns)],
        {**fields, **_typed_fields(record, _shown(name))},
        warnings,
    )


def _id(record: dict[str, Any]) -> object:
    if "id" in record and "dialogue_id" in record and record["id"] != record["dialogue_id"]:
        raise BadRecord("E_ID", "id", "two ids", "one of 'id' and 'dialogue_id'")
    return record.get("dialogue_id", record.get("id"))


def _turn(turn: object, path: str, warnings: Counter[str], name: str | None) -> DraftTurn:
    if not isinstance(turn, dict):
        raise BadRecord("E_TYPE", path, _kind(turn), "an object with role and text", name)
    if turn.keys() - TURN_FIELDS:
        warnings["W_UNKNOWN_FIELD"] += 1
    return DraftTurn(turn.get("role"), turn.get("text"), turn.get("at"), turn.get("author"))


def _typed_fields(record: dict[str, Any], name: str | None) -> dict[str, Any]:
    sources = record.get("sources")
    if sources is not None and not (
        isinstance(sources, list) and all(isinstance(item, str) for item in sources)
    ):
        raise BadRecord("E_TYPE", "sources", _kind(sources), "a list of texts", name)
    metadata = record.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise BadRecord("E_TYPE", "metadata", _kind(metadata), "an object", name)
    masked = record.get("masked")
    if masked is not None and not isinstance(masked, bool):
        raise BadRecord("E_TYPE", "masked", _kind(masked), "true or false", name)
    extra = {field: record[field] for field in METADATA_FIELDS if isinstance(record.get(field), str)}
    return {
        "sources": tuple(sources) if sources is not None else None,
        "metadata": {**(metadata or {}), **extra} if metadata or extra else None,
        "masked": masked,
    }


def _shown(name: object) -> str | None:
    return name if isinstance(name, str) else None


def _kind(value: object) -> str:
    names = {dict: "object", list: "list", str: "text", bool: "boolean", type(None): "nothing"}
    return names.get(type(value), "number")
