"""Reads aggregated labels for a dataset: `Label` records, or tables of probabilities.

The files are ours, so a bad line refuses the file; foreign labels come in by ``dialint import``.
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

ROUNDED = 0.01
"""How far probabilities may be from a sum of 1, as those rounded for people are."""
YES = ("probability_yes", "probability:yes", "p_yes", "yes")
"""What a table may call the probability of a yes; the probabilities may also be one object."""


def read_labels(path: Path, taxonomy: Taxonomy) -> Iterator[Label]:
    """The labels of a file: `Label` records, or a table (CSV, Parquet or JSONL) of tasks called
    dialogue/turn/code with the probability of a yes, or dialogue/turn with that of each of the codes
    that exclude one another; one that names a label and no probability is certain of it.

    Raises:
        InputRefused: E_LABEL with the line; whatever makes the file unreadable.
    """
    (source,) = open_logs([str(path)])
    for line, _, row in read_rows(source, detect_table_format(source)):
        where = f"{path}, line {line}"
        if isinstance(row, BadRecord):
            raise InputRefused("E_LABEL", f"{where}: {row.code}, expected {row.expected}")
        if codes := _rivals(row, taxonomy):
            yield from _of_turn(row, codes, where)
        elif "task" in row:
            yield _of_task(row, where)
        else:
            yield _parse_label(json.dumps(row, default=str), where)


def _parse_label(line: str, where: str) -> Label:
    try:
        return Label.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InputRefused("E_LABEL", f"{where}: no valid label ({first['msg']})") from None


def _rivals(row: dict[str, Any], taxonomy: Taxonomy) -> tuple[str, ...]:
    """The codes of which a row of a table names one as the winner."""
    return taxonomy.rivals(str(row.get("label"))) if "task" in row else ()


def _of_turn(row: dict[str, Any], codes: tuple[str, ...], where: str) -> Iterator[Label]:
    """A label of each of `codes`, those of probability 0 as well: people's shares must not stand for them."""
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
    """Raises ValueError where the row does not hold one."""
    start = "probability:"
    given = row.get("probabilities") or {n[len(start) :]: p for n, p in row.items() if n.startswith(start)}
    if not given and {"probability", "worker"}.isdisjoint(row):
        given = {row["label"]: 1.0}
    if not isinstance(given, dict) or set(given) - set(codes):
        raise ValueError("other codes than these")
    found = {code: float(given.get(code) or 0.0) for code in codes}
    whole = sum(found.values())
    if not abs(whole - 1.0) <= ROUNDED:
        raise ValueError("not a distribution")
    return {code: probability / whole for code, probability in found.items()}


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
