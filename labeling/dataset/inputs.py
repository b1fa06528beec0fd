"""What a dataset is built from, read back: our annotations and aggregated labels.

Both are files of ours, so a bad line refuses the file; foreign labels come in by ``dialint import``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from detector.errors import InputRefused
from detector.ingest.outcomes import BadRecord
from detector.ingest.sources import open_logs
from detector.records import Label, Record
from labeling.annotation import Annotation
from labeling.platforms.framing import framing_of, placed_rows

Kind = TypeVar("Kind", bound=Record)
YES = ("probability_yes", "probability:yes", "p_yes", "yes")
"""What a table may call the probability of a yes; the probabilities may also be one object."""


def read_annotations(path: Path) -> Iterator[Annotation]:
    """The annotations of a JSONL file of ours, in order.

    Raises:
        InputRefused: E_ANNOTATION with the line.
    """
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _record(Annotation, line, f"{path}, line {number}", "E_ANNOTATION")
    except OSError as error:
        raise InputRefused("E_ANNOTATION", f"{path}: {error.strerror}") from None


def read_labels(path: Path) -> Iterator[Label]:
    """The labels of a file: `Label` records, or a table of tasks called dialogue/turn/code with the
    probability of a yes (CSV, Parquet or JSONL).

    Raises:
        InputRefused: E_LABEL with the line; whatever makes the file unreadable.
    """
    (source,) = open_logs([str(path)])
    for line, _, row in placed_rows(source, framing_of(source)):
        where = f"{path}, line {line}"
        if isinstance(row, BadRecord):
            raise InputRefused("E_LABEL", f"{where}: {row.code}, expected {row.expected}")
        if "task" in row:
            yield _of_task(row, where)
        else:
            yield _record(Label, json.dumps(row, default=str).encode(), where, "E_LABEL")


def _record(kind: type[Kind], line: bytes, where: str, code: str) -> Kind:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InputRefused(code, f"{where}: no valid {kind.__name__.lower()} ({first['msg']})") from None


def _of_task(row: dict[str, Any], where: str) -> Label:
    name, code = str(row["task"]), row.get("code")
    if isinstance(code, str) and not name.endswith(f"/{code}"):
        name = f"{name}/{code}"
    parts = name.rsplit("/", 2)
    try:
        return Label(
            dialogue_id=parts[0],
            turn=int(parts[1]),
            code=parts[2],
            probability=float(_yes(row)),
            method=str(row.get("method") or "aggregated"),
            n_labelers=int(row.get("n_labelers") or 0),
        )
    except (ValueError, TypeError, IndexError, OverflowError):
        expected = f"a task called dialogue/turn/code and one of {', '.join(YES)}, 0 to 1"
        raise InputRefused("E_LABEL", f"{where}: expected {expected}") from None


def _yes(row: dict[str, Any]) -> Any:
    """Raises ValueError where the row does not say."""
    nested = row.get("probabilities")
    if isinstance(nested, dict):
        return nested.get("yes") or 0.0
    for name in YES:
        if row.get(name) is not None:
            return row[name]
    if row.get("probability") is not None and row.get("label") in ("yes", "no"):
        probability = float(row["probability"])
        return probability if row["label"] == "yes" else 1.0 - probability
    raise ValueError("no probability of a yes")
