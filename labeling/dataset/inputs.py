"""Reads aggregated labels for a dataset: `Label` records, or tables of probabilities.

The files are of dialint, so a bad line refuses the file; ``dialint import`` reads other tools' labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.readers.tables import detect_table_format, read_rows
from dialint.detector.ingest.sources import open_logs
from dialint.detector.records import Label
from dialint.detector.taxonomy import Taxonomy

SUM_TOLERANCE = 0.01
"""How far a sum of probabilities may be from 1, since they may be rounded."""
COLUMN = "probability:"
EXPECTED = (
    "a label record, a task called dialogue/turn/code with the probability of a yes, or a task called "
    "dialogue/turn with those of codes that exclude one another, together 1"
)


def read_labels(path: Path, taxonomy: Taxonomy) -> Iterator[Label]:
    """The labels of a file: `Label` records, or a table of ``dialint label aggregate`` (CSV, Parquet, JSONL).
    Its tasks are called dialogue/turn/code, with that of a yes, or dialogue/turn, with that of each
    of the codes that exclude one another; a label without a probability has probability 1 there.

    Raises:
        InputRefused: E_LABEL with the line; whatever makes the file unreadable.
    """
    (source,) = open_logs([str(path)])
    for line, _, row in read_rows(source, detect_table_format(source)):
        if isinstance(row, BadRecord):
            raise InputRefused("E_LABEL", f"{path}, line {line}: {row.code}, expected {row.expected}")
        try:
            if "task" not in row:
                yield Label.model_validate_json(json.dumps(row, default=str))
            elif codes := taxonomy.rivals(str(row.get("label"))):
                dialogue, _, turn = str(row["task"]).rpartition("/")
                if not dialogue:
                    raise ValueError("a turn of no dialogue")
                yield from _labels(row, dialogue, turn, _distribution(row, codes))
            else:
                name, own = str(row["task"]), row.get("code")
                if isinstance(own, str) and not name.endswith(f"/{own}"):
                    name = f"{name}/{own}"
                dialogue, turn, code = name.rsplit("/", 2)
                yield from _labels(row, dialogue, turn, {code: _probability_of_yes(row)})
        except (ValueError, TypeError, OverflowError):
            raise InputRefused("E_LABEL", f"{path}, line {line}: expected {EXPECTED}") from None


def _labels(
    row: dict[str, Any], dialogue: str, turn: str, probabilities: dict[str, float]
) -> Iterator[Label]:
    """A label of each code, those of probability 0 too: the share of people must not replace them."""
    for code, probability in probabilities.items():
        yield Label(
            dialogue_id=dialogue,
            turn=int(turn),
            code=code,
            probability=probability,
            method=str(row.get("method") or "aggregated"),
            n_labelers=int(row.get("n_labelers") or 0),
        )


def _values(row: dict[str, Any]) -> dict[str, float]:
    """The probability of each label that the row has one of."""
    columns = {name.removeprefix(COLUMN): p for name, p in row.items() if name.startswith(COLUMN)}
    return {name: float(p) for name, p in dict(row.get("probabilities") or columns).items() if p is not None}


def _distribution(row: dict[str, Any], codes: tuple[str, ...]) -> dict[str, float]:
    """Probabilities of `codes`, which sum to 1."""
    values = _values(row)
    if not values and {"probability", "worker"}.isdisjoint(row):
        values = {row["label"]: 1.0}
    total = sum(values.values())
    if set(values) - set(codes) or not abs(total - 1.0) <= SUM_TOLERANCE:
        raise ValueError("no distribution over these codes")
    return {code: values.get(code, 0.0) / total for code in codes}


def _probability_of_yes(row: dict[str, Any]) -> float:
    if values := _values(row):
        return values.get("yes", 0.0)
    if row.get("probability") is None or row.get("label") not in ("yes", "no"):
        raise ValueError("no probability of a yes")
    return float(row["probability"]) if row["label"] == "yes" else 1.0 - float(row["probability"])
