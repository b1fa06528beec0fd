"""Parquet shards of dialogues, zstd, one row a dialogue: ``train-00000-of-00003.parquet``.

Columns: ``dialogue_id, source, language, group, split, licence, turns[{role, text}]``; readable with
``datasets.load_dataset("parquet", data_files={"train": "train-*.parquet"})``. `dedup` selects the dialogues
and their split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import atomic_file, file_entry
from dialint.detector.errors import InputRefused

_NAME = re.compile(r"(?:train|heldout|measure)-\d{5}-of-\d{5}\.parquet")


def write_shards(folder: Path, split: str, rows: Sequence[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """Write `rows` as shards of at most `size` rows; their manifest entries, with `split`.

    At least one shard is written, so that a split without rows can be read, too.
    """
    import pyarrow as pa
    from pyarrow import parquet

    turn = pa.struct([("role", pa.string()), ("text", pa.string())])
    names = ("dialogue_id", "source", "language", "group", "split", "licence")
    schema = pa.schema([*((name, pa.string()) for name in names), ("turns", pa.list_(turn))])
    total = max(1, -(-len(rows) // size))
    entries = []
    for number in range(total):
        path = folder / f"{split}-{number:05d}-of-{total:05d}.parquet"
        part = list(rows[number * size : (number + 1) * size])
        with atomic_file(path) as file:
            parquet.write_table(pa.Table.from_pylist(part, schema), file, compression="zstd")
        entries.append({**file_entry(path, len(part)), "split": split})
    return entries


def remove_shards(folder: Path) -> None:
    """Remove the shards of a run that never finished, so that no reader's pattern catches them."""
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name):
            path.unlink()


def read_shard(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of one shard, in order.

    Raises:
        InputRefused: not a Parquet file, or without the columns of a shard.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputRefused("E_SHARD", f"{path}: not a readable Parquet file") from error
    if not {"dialogue_id", "source", "turns"} <= set(file.schema_arrow.names):
        raise InputRefused("E_SHARD", f"{path}: not a shard, it lacks dialogue_id, source or turns")
    for batch in file.iter_batches(512):
        yield from batch.to_pylist()
