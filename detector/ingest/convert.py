"""Writes dialogues in formats that other tools read, and counts the values that a format cannot hold.

The canonical JSON lines hold all of a dialogue, Parquet and CSV nearly all, chat formats for models little
more than roles and texts. Texts are not masked.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO, Literal

from dialint.detector.ingest.formats.canonical import METADATA_FIELDS, TEXT_FIELDS
from dialint.detector.ingest.log_format import FIELDS
from dialint.detector.records import Dialogue, Turn
from dialint.detector.verdict_files import escape_cell, needs_escape

OutputFormat = Literal["dialint", "openai", "sharegpt", "csv", "parquet"]

ENDINGS: dict[OutputFormat, tuple[str, ...]] = {
    "dialint": (".jsonl",),
    "openai": (".jsonl",),
    "sharegpt": (".jsonl", ".json"),
    "csv": (".csv",),
    "parquet": (".parquet",),
}
AGENTS = "agents, read again as bots"
TURN_FIELDS: dict[str, Callable[[Turn], bool]] = {
    "at": lambda turn: turn.at is not None,
    "author": lambda turn: turn.author is not None,
    "tool calls": lambda turn: bool(turn.tool_calls),
    "ids of tool results": lambda turn: turn.tool_call_id is not None,
    "tool errors": lambda turn: turn.tool_error is not None,
    AGENTS: lambda turn: turn.role == "agent",
}
"""Whether a turn has a value, by the name under which it is counted."""
RETAINED_FIELDS: dict[OutputFormat, frozenset[str]] = {
    "dialint": frozenset((*TURN_FIELDS, *TEXT_FIELDS, "sources", "metadata")),
    "openai": frozenset(("author", "tool calls", "ids of tool results")),
    "sharegpt": frozenset(("tool calls",)),
    "csv": frozenset(("at", "author", AGENTS, "language", "channel", "agent", "team")),
    "parquet": frozenset((*TURN_FIELDS, *TEXT_FIELDS, "sources")),
}
"""The fields that a format holds beside ids, texts and roles."""
OPENAI_ROLES = {"customer": "user", "agent": "assistant", "bot": "assistant"}
SHAREGPT_ROLES = {"customer": "human", "agent": "gpt", "bot": "gpt", "tool": "observation"}
CSV_COLUMNS = ("dialogue_id", "role", "text", "created_at", "author", *FIELDS)
MARKED = "cell marked with ' for spreadsheets"
GROUP = 256


def write_log(dialogues: Iterable[Dialogue], out: BinaryIO, to: OutputFormat) -> tuple[int, Counter[str]]:
    """Write dialogues in a format. Returns their number, and the number of lost values of each field."""
    lost: Counter[str] = Counter()
    n = 0

    def count_dialogues() -> Iterator[Dialogue]:
        nonlocal n
        for n, dialogue in enumerate(dialogues, 1):  # noqa: B007  the number of them
            lost.update(_count_lost(dialogue, to))
            yield dialogue

    if to == "parquet":
        _write_parquet(count_dialogues(), out)
    elif to == "csv":
        _write_csv(count_dialogues(), out, lost)
    else:
        convert = {"dialint": as_record, "openai": _as_openai, "sharegpt": _as_sharegpt}[to]
        for dialogue in count_dialogues():
            out.write(json.dumps(convert(dialogue), ensure_ascii=False).encode() + b"\n")
    return n, lost


def _count_lost(dialogue: Dialogue, to: OutputFormat) -> Counter[str]:
    results = Counter(name for name in (*TEXT_FIELDS, "sources") if getattr(dialogue, name))
    metadata = set(dialogue.metadata) - (set(METADATA_FIELDS) if to == "parquet" else set())
    results["metadata"] = len(metadata)
    for name, has_value in TURN_FIELDS.items():
        results[name] = sum(map(has_value, dialogue.turns))
    return Counter({name: n for name, n in results.items() if n and name not in RETAINED_FIELDS[to]})


def as_record(dialogue: Dialogue) -> dict[str, Any]:
    """The canonical record of a dialogue, without fields that have no value."""
    fields = dialogue.model_dump(mode="json", exclude_defaults=True, exclude={"turns", "id"})
    return {"id": dialogue.id, "turns": [_turn(turn) for turn in dialogue.turns], **fields}


def _turn(turn: Turn) -> dict[str, Any]:
    calls = [call.model_dump(exclude_none=True) for call in turn.tool_calls]
    record = {
        "role": turn.role, "text": turn.text, "at": turn.at and turn.at.isoformat(), "author": turn.author,
        "tool_calls": calls or None, "tool_call_id": turn.tool_call_id, "tool_error": turn.tool_error,
    }  # fmt: skip
    return {name: value for name, value in record.items() if value is not None}


def _as_openai(dialogue: Dialogue) -> dict[str, Any]:
    messages = []
    for turn in dialogue.turns:
        message: dict[str, Any] = {"role": OPENAI_ROLES.get(turn.role, turn.role), "content": turn.text}
        if turn.author:
            message["name"] = turn.author
        for call in turn.tool_calls:
            function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
            own_id = {} if call.id is None else {"id": call.id}
            message.setdefault("tool_calls", []).append({**own_id, "type": "function", "function": function})
        if turn.tool_call_id is not None:
            message["tool_call_id"] = turn.tool_call_id
        messages.append(message)
    return {"id": dialogue.id, "messages": messages}


def _as_sharegpt(dialogue: Dialogue) -> dict[str, Any]:
    """A turn's calls follow its words, one entry each."""
    turns = []
    for turn in dialogue.turns:
        if turn.text or not turn.tool_calls:
            turns.append({"from": SHAREGPT_ROLES.get(turn.role, turn.role), "value": turn.text})
        for call in turn.tool_calls:
            value = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
            turns.append({"from": "function_call", "value": value})
    return {"id": dialogue.id, "conversations": turns}


def _write_csv(dialogues: Iterable[Dialogue], out: BinaryIO, lost: Counter[str]) -> None:
    """One message a row; cells that a spreadsheet would take for formulas are marked."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(CSV_COLUMNS)
    for dialogue in dialogues:
        fields = [getattr(dialogue, name) for name in FIELDS]
        for turn in dialogue.turns:
            at = turn.at.isoformat() if turn.at else None
            cells = (dialogue.id, turn.role, turn.text, at, turn.author, *fields)
            lost[MARKED] += sum(bool(cell) and needs_escape(cell) for cell in cells if cell is not None)
            writer.writerow([escape_cell(cell) if cell else "" for cell in cells])
    text.flush()
    text.detach()


def _write_parquet(dialogues: Iterable[Dialogue], out: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = ("role", "text", "at", "author", "action", "tool_call_id")
    turn = pa.struct([*((name, pa.string()) for name in texts), ("tool_error", pa.bool_())])
    columns = [(name, pa.string()) for name in (*TEXT_FIELDS, *METADATA_FIELDS)]
    lists = [("dialogue_id", pa.string()), ("turns", pa.list_(turn)), ("sources", pa.list_(pa.string()))]
    schema = pa.schema([*lists, *columns])
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        iterator = iter(dialogues)
        while group := list(islice(iterator, GROUP)):
            rows = [
                {
                    "dialogue_id": one.id,
                    "turns": [_parquet_turn(turn) for turn in one.turns],
                    "sources": list(one.sources) or None,
                    **{name: getattr(one, name) for name in TEXT_FIELDS},
                    **{name: one.metadata.get(name) for name in METADATA_FIELDS},
                }
                for one in group
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _parquet_turn(turn: Turn) -> dict[str, Any]:
    """The turn with its calls as JSON text, since their arguments have no common columns."""
    record = _turn(turn)
    calls = record.pop("tool_calls", None)
    return {**record, "action": json.dumps(calls, ensure_ascii=False)} if calls else record
