"""Gold from a file: whether single errors are in single turns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from dialint.detector.errors import InputRefused
from dialint.detector.records import Record

Gold = Mapping[tuple[str, int, str], bool]
"""By dialogue, turn and code: whether the error is there."""


class GoldRow(Record):
    """A line of a gold file."""

    dialogue: Annotated[str, Field(min_length=1)]
    turn: Annotated[int, Field(ge=0)]
    code: str
    present: bool


def read_gold(path: Path) -> dict[tuple[str, int, str], bool]:
    """The gold of a JSONL file with dialogue, turn, code and present; other fields are passed over.

    Raises:
        InputRefused: E_GOLD with the line: unreadable, incomplete, or given twice and differently.
    """
    gold: dict[tuple[str, int, str], bool] = {}
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    row = _row(line, f"{path}, line {number}")
                    key = (row.dialogue, row.turn, row.code)
                    if gold.setdefault(key, row.present) != row.present:
                        raise InputRefused("E_GOLD", f"{path}, line {number}: told otherwise before")
    except OSError as error:
        raise InputRefused("E_GOLD", f"{path}: {error.strerror}") from None
    return gold


def _row(line: bytes, where: str) -> GoldRow:
    try:
        row = json.loads(line)
        return GoldRow(**{name: row[name] for name in GoldRow.model_fields})
    except (ValueError, TypeError, KeyError, RecursionError, ValidationError):
        expected = "dialogue and code (text), turn (a number), present (true or false)"
        raise InputRefused("E_GOLD", f"{where}: expected {expected}") from None
