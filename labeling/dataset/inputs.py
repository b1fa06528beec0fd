"""Reads aggregated labels for a dataset: `Label` records, or tables of probabilities.

The files are of dialint, so a bad line refuses the file; ``dialint import`` reads other tools' labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.readers.tables import detect_table_format, read_rows
from dialint.detector.ingest.sources import open_logs
from dialint.detector.records import Label
from dialint.detector.taxonomy import Taxonomy

SUM_TOLERANCE = 0.01
"""How far a sum of probabilities may be from 1, since they may be rounded."""
YES_COLUMNS = ("probability_yes", "probability:yes", "p_yes", "yes")
"""Columns that may hold the probability of a yes; the probabilities may also be one object."""


def read_labels(path: Path, taxonomy: Taxonomy) -> Iterator[Label]:
    """The labels of a file: `Label` records, or a table (CSV, Parquet or JSONL) of tasks called
    dialogue/turn/code with the probability of a yes, or dialogue/turn with that of each of the codes
    that exclude one another; a row with a label and no probability has probability 1.

    Raises:
        InputRefused: E_LABEL with the line; whatever makes the file unreadable.
    """
    (source,) = open_logs([str(path)])
    for line, _, row in read_rows(source, detect_table_format(source)):
        where = f"{path}, line {line}"
        if isinstance(row, BadRecord):
            raise InputRefused("E_LABEL", f"{where}: {row.code}, expected {row.expected}")
        if codes := taxonomy.rivals(str(row.get("label"))) if "task" in row else ():
            yield from _turn_labels(row, codes, where)
        elif "task" in row:
            yield _task_label(row, where)
        else:
            yield _parse_label(json.dumps(row, default=str), where)


def _parse_label(line: str, where: str) -> Label:
    try:
        return Label.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InputRefused("E_LABEL", f"{where}: no valid label ({first['msg']})") from None


def _turn_labels(row: dict[str, Any], codes: tuple[str, ...], where: str) -> Iterator[Label]:
    """A label of each of `codes`, those of probability 0 too: the share of people must not replace them."""
    dialogue, _, turn = str(row["task"]).rpartition("/")
    try:
        if not dialogue:
            raise ValueError("a turn of no dialogue")
        for code, probability in _distribution(row, codes).items():
            yield Label(
                dialogue_id=dialogue,
                turn=int(turn),
                code=code,
                probability=probability,
                method=str(row.get("method") or "aggregated"),
                n_labelers=int(row.get("n_labelers") or 0),
            )
    except (ValueError, TypeError, OverflowError):
        expected = f"a task called dialogue/turn and probabilities of {', '.join(codes)}, together 1"
        raise InputRefused("E_LABEL", f"{where}: expected {expected}") from None


def _distribution(row: dict[str, Any], codes: tuple[str, ...]) -> dict[str, float]:
    """Probabilities of `codes`, which sum to 1.

    Raises:
        ValueError: the row does not hold them.
    """
    start = "probability:"
    values = row.get("probabilities") or {n[len(start) :]: p for n, p in row.items() if n.startswith(start)}
    if not values and {"probability", "worker"}.isdisjoint(row):
        values = {row["label"]: 1.0}
    if not isinstance(values, dict) or set(values) - set(codes):
        raise ValueError("other codes than these")
    probabilities = {code: float(values.get(code) or 0.0) for code in codes}
    total = sum(probabilities.values())
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        raise ValueError("not a distribution")
    return {code: probability / total for code, probability in probabilities.items()}


def _task_label(row: dict[str, Any], where: str) -> Label:
    name, code = str(row["task"]), row.get("code")
    if isinstance(code, str) and not name.endswith(f"/{code}"):
        name = f"{name}/{code}"
    parts = name.rsplit("/", 2)
    try:
        return Label(
            dialogue_id=parts[0],
            turn=int(parts[1]),
            code=parts[2],
            probability=float(_probability_of_yes(row)),
            method=str(row.get("method") or "aggregated"),
            n_labelers=int(row.get("n_labelers") or 0),
        )
    except (ValueError, TypeError, IndexError, OverflowError):
        expected = f"a task called dialogue/turn/code and one of {', '.join(YES_COLUMNS)}, 0 to 1"
        raise InputRefused("E_LABEL", f"{where}: expected {expected}") from None


def _probability_of_yes(row: dict[str, Any]) -> Any:
    """The value of the row's probability of a yes.

    Raises:
        ValueError: there is none.
    """
    nested = row.get("probabilities")
    if isinstance(nested, dict):
        return nested.get("yes") or 0.0
    for name in YES_COLUMNS:
        if row.get(name) is not None:
            return row[name]
    if row.get("probability") is not None and row.get("label") in ("yes", "no"):
        probability = float(row["probability"])
        return probability if row["label"] == "yes" else 1.0 - probability
    raise ValueError("no probability of a yes")
