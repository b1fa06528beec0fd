"""Examples and preference pairs as Parquet, zstd, one row each; readable with `datasets`, and by
`dialint.detector.example_files`.

Turns and labels are nested columns, open-ended fields (metadata) are JSON text. Says nothing of splits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, NamedTuple

from dialint.detector.example_files import TEXTS
from dialint.detector.records import Dialogue, Example, Judgement, Label, Preference, Record, Turn

BATCH_ROWS = 2048


class Table(NamedTuple):
    """A schema, whose records it holds, and how one becomes a row of it."""

    schema: Any
    kind: type[Record]
    row: Callable[[Any], dict[str, Any]]

    def writer(self, out: BinaryIO) -> Any:
        """A Parquet writer onto `out`."""
        from pyarrow import parquet

        return parquet.ParquetWriter(out, self.schema, compression="zstd")

    def of(self, lines: Iterable[bytes]) -> Any:
        """Records, as JSON lines, as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(
            [self.row(self.kind.model_validate_json(line)) for line in lines], self.schema
        )


def example_table() -> Table:
    """Columns of examples."""
    import pyarrow as pa

    label = pa.struct([(name, _kind(name)) for name in Label.model_fields])
    fields = [("labels", pa.list_(label)), ("split", pa.string()), ("pair", pa.string())]
    return Table(_schema(fields), Example, _example)


def preference_table() -> Table:
    """Columns of preference pairs."""
    import pyarrow as pa

    judged = pa.struct([(name, pa.string()) for name in Judgement.model_fields])
    named = [(name, pa.string()) for name in ("code", "outcome", "annotation", "release", "split")]
    return Table(
        _schema([("turn", pa.int64()), ("chosen", judged), ("rejected", judged), *named]),
        Preference,
        _preference,
    )


def _schema(fields: list[Any]) -> Any:
    import pyarrow as pa

    # examples are texts of their own, without the way back to a log
    turn = pa.struct([(name, _kind(name)) for name in Turn.model_fields if name != "edits"])
    named = [(name, pa.string()) for name in ("dialogue_id", *TEXTS, "metadata")]
    more = [("turns", pa.list_(turn)), ("sources", pa.list_(pa.string())), ("masked", pa.bool_())]
    return pa.schema([*named, *more, *fields])


def _kind(name: str) -> Any:
    import pyarrow as pa

    if name in ("index", "turn", "n_labelers", "start", "end"):
        return pa.int64()
    return {"probability": pa.float64(), "at": pa.string()}.get(name, pa.string())


def _said(dialogue: Dialogue) -> dict[str, Any]:
    turns = [
        {"index": turn.index, "role": turn.role, "text": turn.text, "author": turn.author}
        | {"at": turn.at.isoformat() if turn.at else None}
        for turn in dialogue.turns
    ]
    texts = {name: getattr(dialogue, name) for name in TEXTS}
    metadata = json.dumps(dialogue.metadata, ensure_ascii=False) if dialogue.metadata else None
    more = {
        "metadata": metadata,
        "turns": turns,
        "sources": list(dialogue.sources),
        "masked": dialogue.masked,
    }
    return {"dialogue_id": dialogue.id, **texts, **more}


def _example(example: Example) -> dict[str, Any]:
    labels = [dict(label) for label in example.labels]
    return {**_said(example.dialogue), "labels": labels, "split": example.split, "pair": example.pair}


def _preference(pair: Preference) -> dict[str, Any]:
    named = {
        name: getattr(pair, name) for name in ("turn", "code", "outcome", "annotation", "release", "split")
    }
    return {**_said(pair.dialogue), **named, "chosen": dict(pair.chosen), "rejected": dict(pair.rejected)}
