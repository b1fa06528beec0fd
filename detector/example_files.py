"""Files of labelled examples, which labeling writes and training and evaluation read: JSONL or Parquet by
ending."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.records import Dialogue, Example, Judgement, Label, Preference, Record, ToolCall, Turn

Kind = TypeVar("Kind", bound=Record)

ENDINGS = (".jsonl", ".parquet")
BATCH_ROWS = 2048
TEXTS = ("language", "channel", "agent", "team", "policy")
"""Columns of Parquet that are a dialogue's texts of the same names."""


def find_set(folder: Path, name: str) -> Path | None:
    """Return the file of the set of that name in a folder of examples, if there is one."""
    return next((path for end in ENDINGS if (path := folder / f"{name}{end}").is_file()), None)


def require_set(folder: Path, name: str) -> Path:
    """Return the file of the set of that name.

    Raises:
        ConfigError: there is none.
    """
    path = find_set(folder, name)
    if path is None:
        if not folder.is_dir():
            makers = "`dialint data inject` or `dialint export dataset` makes one"
            raise ConfigError("E_EXAMPLE", f"{folder}: there is no such folder; {makers}")
        names = ", ".join(list_sets(folder)) or "none"
        raise ConfigError(
            "E_EXAMPLE", f"{folder}: holds no set {name} ({' or '.join(ENDINGS)}); its sets: {names}"
        )
    return path


def list_sets(folder: Path) -> list[str]:
    """Return the sets of examples in a folder, by name."""
    files = (path for path in folder.iterdir() if path.suffix in ENDINGS and path.is_file())
    return sorted({path.stem for path in files if not path.name.startswith(".")})


def read_examples(path: Path) -> Iterator[Example]:
    """Yield every example of a file, in order.

    Raises:
        InputRefused: the file cannot be read or holds something else.
    """
    if path.suffix == ".parquet":
        return _read_parquet(path, _example, "E_EXAMPLE")
    return read_records(path, Example, "E_EXAMPLE")


def read_records(path: Path, kind: type[Kind], code: str) -> Iterator[Kind]:
    """Yield every record of a JSONL file.

    Raises:
        InputRefused: the file cannot be read or holds something else; the error has `code`.
    """
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield kind.model_validate_json(line)
                except ValueError:
                    what = kind.__name__.lower()
                    raise InputRefused(code, f"{path}, line {number}: no valid {what}") from None
    except OSError as error:
        raise InputRefused(code, f"{path}: {error.strerror}") from None


def read_preferences(path: Path) -> Iterator[Preference]:
    """Yield every preference of a file, in order.

    Raises:
        InputRefused: the file cannot be read or holds something else.
    """
    if path.suffix == ".parquet":
        return _read_parquet(path, _preference, "E_PREFERENCE")
    return read_records(path, Preference, "E_PREFERENCE")


def _read_parquet(path: Path, make: Callable[[dict[str, Any]], Kind], code: str) -> Iterator[Kind]:
    import pyarrow as pa
    from pyarrow import parquet

    done = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS):
                for row in batch.to_pylist():
                    yield make(row)
                    done += 1
    except (pa.ArrowException, OSError):
        raise InputRefused(code, f"{path}: not a readable table") from None
    except (KeyError, TypeError, ValueError):
        raise InputRefused(code, f"{path}, row {done + 1}: no valid record") from None


def _example(row: dict[str, Any]) -> Example:
    labels = tuple(Label(**label) for label in row["labels"])
    return Example(
        dialogue=_dialogue(row),
        labels=labels,
        split=row["split"],
        pair=row["pair"],
        unlabelled=tuple(row.get("unlabelled") or ()),
    )


def _preference(row: dict[str, Any]) -> Preference:
    names = ("turn", "code", "outcome", "annotation", "release", "split")
    return Preference(
        dialogue=_dialogue(row),
        chosen=Judgement(**row["chosen"]),
        rejected=Judgement(**row["rejected"]),
        reason=row.get("reason"),
        **{name: row[name] for name in names},
    )


def _dialogue(row: dict[str, Any]) -> Dialogue:
    turns = tuple(
        Turn(
            **{
                **turn,
                "at": datetime.fromisoformat(turn["at"]) if turn["at"] else None,
                "tool_calls": tuple(ToolCall(**call) for call in json.loads(turn.get("tool_calls") or "[]")),
            }
        )
        for turn in row["turns"]
    )
    return Dialogue(
        id=row["dialogue_id"],
        turns=turns,
        sources=tuple(row["sources"]),
        masked=row["masked"],
        metadata=json.loads(row["metadata"]) if row["metadata"] else {},
        **{name: row[name] for name in TEXTS},
    )
