"""The JSON formats of logs, in the order in which they are tried, and the canonical format itself.

A `LogFormat` reads one record; `format_detection` decides whether records are one a line or inside a
document. The canonical record is
`{"dialogue_id" | "id", "turns": [{"role", "text", "at", "author"}], ...}`: the fields of `Dialogue` and those
of the project's corpora (`source`, `split`); other fields are counted and left out. A turn of an agent may
have `tool_calls` (`[{"name", "arguments", "id"}]`), one of the role ``tool`` `tool_call_id` and `tool_error`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from dialint.detector.errors import Message
from dialint.detector.ingest.formats import fields, mapped, openai, research, traces
from dialint.detector.ingest.formats.log_format import LogFormat
from dialint.detector.ingest.formats.tool_turns import read_calls
from dialint.detector.ingest.mapping import nearest
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.privacy import format_word, is_note_type
from dialint.detector.ingest.tree_mapping import shipped_mappings
from dialint.detector.ingest.validation import Draft, DraftTurn

TEXT_FIELDS = ("language", "channel", "agent", "team", "policy")
METADATA_FIELDS = ("source", "split")
RECORD_FIELDS = {"id", "dialogue_id", "turns", "sources", "metadata", "masked", "labels", "meta"}
RECORD_FIELDS.update(TEXT_FIELDS, METADATA_FIELDS)
TURN_FIELDS = {"role", "text", "at", "author", "index", "turn_id", "action"}
TURN_FIELDS.update({"tool_calls", "tool_call_id", "tool_error"})


def canonical_draft(record: dict[str, Any]) -> Draft:
    """The draft of one canonical record.

    Raises:
        BadRecord: E_TYPE or E_ID.
    """
    name = _id(record)
    warnings: Counter[str] = Counter()
    warnings.update(_unknown_field(key, "") for key in record.keys() - RECORD_FIELDS)
    turns = record.get("turns")
    if not isinstance(turns, list):
        raise BadRecord("E_TYPE", "turns", _kind(turns), "a list of turns", _as_text(name))
    fields = {field: record.get(field) for field in TEXT_FIELDS}
    return Draft(
        name,
        [_turn(turn, f"turns[{index}]", warnings, _as_text(name)) for index, turn in enumerate(turns)],
        {**fields, **_typed_fields(record, _as_text(name))},
        warnings,
    )


@lru_cache(1024)
def _unknown_field(name: str, path: str) -> Message:
    """The warning about a field that is not read, with the known one that is most like it."""
    known = nearest(name, sorted(TURN_FIELDS if path else RECORD_FIELDS))
    return Message("W_UNKNOWN_FIELD {path}{name}{nearest}", path=path, name=format_word(name),
                   nearest=f", {known.strip()}" if known else "")  # fmt: skip


def _id(record: dict[str, Any]) -> object:
    if "id" in record and "dialogue_id" in record and record["id"] != record["dialogue_id"]:
        raise BadRecord("E_ID", "id", "two ids", "one of 'id' and 'dialogue_id'")
    return record.get("dialogue_id", record.get("id"))


def _turn(turn: object, path: str, warnings: Counter[str], name: str | None) -> DraftTurn:
    if not isinstance(turn, dict):
        raise BadRecord("E_TYPE", path, _kind(turn), "an object with role and text", name)
    unknown = turn.keys() - TURN_FIELDS
    warnings.update(_unknown_field(key, "turns[].") for key in unknown)
    result = DraftTurn(turn.get("role"), turn.get("text"), turn.get("at"), turn.get("author"))
    if any(is_note_type(turn[key]) for key in unknown):
        result.internal = True
    if turn.get("tool_calls") is not None:
        result.tool_calls = read_calls(turn["tool_calls"], f"{path}.tool_calls", name)
    result.tool_call_id, result.tool_error = turn.get("tool_call_id"), turn.get("tool_error")
    return result


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
        raise BadRecord("E_TYPE", "masked", _kind(masked), "true or false", name)  # only our masking says so
    extra = {field: record[field] for field in METADATA_FIELDS if isinstance(record.get(field), str)}
    return {
        "sources": tuple(sources) if sources is not None else None,
        "metadata": {**(metadata or {}), **extra} if metadata or extra else None,
    }


def _as_text(name: object) -> str | None:
    return name if isinstance(name, str) else None


def _kind(value: object) -> str:
    names = {
        dict: Message("object"), list: Message("list"), str: Message("text"), bool: Message("boolean"),
        type(None): Message("nothing"),
    }  # fmt: skip
    return names.get(type(value), Message("number"))


def _canonical_matches(record: Any) -> bool:
    first = fields.first(record, "turns")
    return "role" in first and ("text" in first or "content" not in first)


CANONICAL = LogFormat("canonical", _canonical_matches, lambda record, _: [canonical_draft(record)])


CODED: tuple[LogFormat, ...] = (
    CANONICAL,
    LogFormat("tau", research.matches_tau, research.drafts_tau),
    LogFormat("tau2", research.matches_tau2, research.drafts_tau2, members=("simulations",)),
    LogFormat("abcd", research.matches_abcd, research.drafts_abcd, members=("train", "dev", "test")),
    LogFormat("multiwoz", research.matches_multiwoz, research.drafts_multiwoz, members=("*",)),
    LogFormat("opentelemetry", traces.matches_opentelemetry, traces.drafts, parts=traces.parts),
    LogFormat("openinference", traces.matches_openinference, traces.drafts, parts=traces.parts),
)
CHATS: tuple[LogFormat, ...] = (
    LogFormat("openai", openai.matches, openai.drafts),
    LogFormat("sharegpt", openai.matches_sharegpt, openai.drafts_sharegpt),
)
"""Forms that stand in the records of many tools, and are tried last."""


@cache
def _mapped_formats() -> tuple[LogFormat, ...]:
    return tuple(mapped.log_format(mapping) for mapping in shipped_mappings())


def log_formats() -> Iterator[LogFormat]:
    """Every format of JSON records; mapping files are read when the first of them is asked for."""
    yield from CODED
    yield from _mapped_formats()
    yield from CHATS
