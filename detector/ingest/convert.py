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

from dialint.detector.ingest.formats.registry import METADATA_FIELDS, TEXT_FIELDS
from dialint.detector.records import Dialogue, Turn
from dialint.detector.verdict_files import escape_cell, needs_escape

LogFormat = Literal["dialint", "openai", "sharegpt", "csv", "parquet"]

ENDINGS: dict[LogFormat, tuple[str, ...]] = {
    "dialint": (".jsonl",),
    "openai": (".jsonl",),
    "sharegpt": (".jsonl", ".json"),
    "csv": (".csv",),
    "parquet": (".parquet",),
}
RETAINED_FIELDS: dict[LogFormat, frozenset[str]] = {
    "dialint": frozenset(
        {"at", "author", "agents, read again as bots", *TEXT_FIELDS, "sources", "metadata", "masked"}
    ),
    "openai": frozenset({"author"}),
    "sharegpt": frozenset(),
    "csv": frozenset({"at", "author", "agents, read again as bots", "language", "channel", "agent", "team"}),
    "parquet": frozenset({"at", "author", "agents, read again as bots", *TEXT_FIELDS, "sources"}),
}
"""The fields that a format holds beside ids, texts and roles."""
OPENAI_ROLES = {"customer": "user", "agent": "assistant", "bot": "assistant", "system": "system"}
SHAREGPT_ROLES = {"customer": "human", "agent": "gpt", "bot": "gpt", "system": "system"}
CSV_FIELDS = ("language", "channel", "agent", "team")
CSV_COLUMNS = ("dialogue_id", "role", "text", "created_at", "author", *CSV_FIELDS)
MARKED = "cell marked with ' for spreadsheets"
GROUP = 256


def write_log(dialogues: Iterable[Dialogue], out: BinaryIO, to: LogFormat) -> tuple[int, Counter[str]]:
    """Write dialogues in a format. Returns their number, and the number of lost values of each field."""
    lost: Counter[str] = Counter()
    count = [0]

    def count_dialogues() -> Iterator[Dialogue]:
        for dialogue in dialogues:
            count[0] += 1
            lost.update(_lost(dialogue, to))
            yield dialogue

    if to == "parquet":
        _write_parquet(count_dialogues(), out)
    elif to == "csv":
        _write_csv(count_dialogues(), out, lost)
    else:
        converters: dict[LogFormat, Callable[[Dialogue], dict[str, Any]]] = {
            "dialint": as_record,
            "openai": _as_openai,
            "sharegpt": _as_sharegpt,
        }
        for dialogue in count_dialogues():
            out.write(json.dumps(converters[to](dialogue), ensure_ascii=False).encode() + b"\n")
    return count[0], lost


def _lost(dialogue: Dialogue, to: LogFormat) -> Counter[str]:
    retained = RETAINED_FIELDS[to]
    results = Counter(name for name in (*TEXT_FIELDS, "sources", "masked") if getattr(dialogue, name))
    metadata = set(dialogue.metadata) - (set(METADATA_FIELDS) if to == "parquet" else set())
    results["metadata"] += len(metadata)
    results["at"] = sum(turn.at is not None for turn in dialogue.turns)
    results["author"] = sum(turn.author is not None for turn in dialogue.turns)
    results["agents, read again as bots"] = sum(turn.role == "agent" for turn in dialogue.turns)
    return Counter({name: n for name, n in results.items() if n and name not in retained})


def as_record(dialogue: Dialogue) -> dict[str, Any]:
    """The canonical record of a dialogue, without fields that have no value."""
    fields = dialogue.model_dump(mode="json", exclude_defaults=True, exclude={"turns", "id"})
    return {"id": dialogue.id, "turns": [_turn(turn) for turn in dialogue.turns], **fields}


def _turn(turn: Turn) -> dict[str, Any]:
    record: dict[str, Any] = {"role": turn.role, "text": turn.text}
    if turn.at is not None:
        record["at"] = turn.at.isoformat()
    if turn.author is not None:
        record["author"] = turn.author
    return record


def _as_openai(dialogue: Dialogue) -> dict[str, Any]:
    messages = [
        {
            "role": OPENAI_ROLES[turn.role],
            "content": turn.text,
            **({"name": turn.author} if turn.author else {}),
        }
        for turn in dialogue.turns
    ]
    return {"id": dialogue.id, "messages": messages}


def _as_sharegpt(dialogue: Dialogue) -> dict[str, Any]:
    turns = [{"from": SHAREGPT_ROLES[turn.role], "value": turn.text} for turn in dialogue.turns]
    return {"id": dialogue.id, "conversations": turns}


def _write_csv(dialogues: Iterable[Dialogue], out: BinaryIO, lost: Counter[str]) -> None:
    """One message a row; cells that a spreadsheet would take for formulas are marked."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(CSV_COLUMNS)
    for dialogue in dialogues:
        fields = [getattr(dialogue, name) for name in CSV_FIELDS]
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

    texts = ("role", "text", "at", "author")
    turn = pa.struct([(name, pa.string()) for name in texts])
    columns = [(name, pa.string()) for name in (*TEXT_FIELDS, *METADATA_FIELDS)]
    schema = pa.schema(
        [
            ("dialogue_id", pa.string()),
            ("turns", pa.list_(turn)),
            ("sources", pa.list_(pa.string())),
            *columns,
        ]
    )
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        iterator = iter(dialogues)
        while group := list(islice(iterator, GROUP)):
            rows = [
                {
                    "dialogue_id": one.id,
                    "turns": [_turn(turn) for turn in one.turns],
                    "sources": list(one.sources) or None,
                    **{name: getattr(one, name) for name in TEXT_FIELDS},
                    **{name: one.metadata.get(name) for name in METADATA_FIELDS},
                }
                for one in group
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
