"""Gold in files: JSON lines, a JSON array, CSV, TSV or Parquet, one row for each dialogue, turn and code.

Columns: `dialogue_id` (or `dialogue`), `turn` (the index in the input), `code`, `present` (or `answer`: true
or false, yes or no, 1 or 0) and, optional, `reason` (or `explanation`). Other columns are ignored. A file
with a bad row is refused; the error names the line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import atomic_file
from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.readers.tables import read_table
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.store.records import Gold

ANSWERS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
MAX_CHARACTERS = 4000


def read_gold_file(path: Path, taxonomy: Taxonomy | None = None) -> list[Gold]:
    """Read the gold in a file, in its order, without duplicate rows; without a `taxonomy` any code is
    accepted.

    Raises:
        InputRefused: no such file, not a table, a bad row, or two rows that contradict each other.
    """
    rows: dict[tuple[str, int, str], Gold] = {}
    for line, cells in read_table(path):
        row = _parse_row(cells, Message("{path}, line {line}", path=path, line=line), taxonomy)
        earlier = rows.setdefault((row.dialogue, row.turn, row.code), row)
        if earlier.present != row.present:
            raise InputRefused(
                "E_GOLD", "{path}, line {line}: contradicts an earlier row", path=path, line=line
            )
    return list(rows.values())


def parse_gold_lines(text: str, taxonomy: Taxonomy | None = None) -> list[Gold]:
    """Read gold that somebody pasted as JSON lines; as `read_gold_file`.

    Raises:
        InputRefused: a line that is not a JSON object, a bad row, or two rows that contradict each other.
    """
    rows: dict[tuple[str, int, str], Gold] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            cells = json.loads(line)
        except (ValueError, RecursionError):
            cells = None
        if not isinstance(cells, dict):
            raise InputRefused("E_GOLD", "line {number}: expected a JSON object", number=number)
        row = _parse_row(cells, Message("line {number}", number=number), taxonomy)
        if rows.setdefault((row.dialogue, row.turn, row.code), row).present != row.present:
            raise InputRefused("E_GOLD", "line {number}: contradicts an earlier row", number=number)
    return list(rows.values())


def _parse_row(row: Mapping[str, Any], where: Message, taxonomy: Taxonomy | None) -> Gold:
    dialogue, turn = _cell(row, "dialogue_id", "dialogue"), str(_cell(row, "turn"))
    code, answer = _cell(row, "code"), str(_cell(row, "present", "answer")).strip().lower()
    reason = _cell(row, "reason", "explanation")
    is_code = isinstance(code, str) and (taxonomy is None or code in taxonomy.codes)
    expected_code = Message("the name of a code")
    if taxonomy:
        expected_code = Message("a code of taxonomy {version}", version=taxonomy.version)
    for name, is_good, expected in (
        ("dialogue_id", isinstance(dialogue, str) and dialogue, Message("the id of a dialogue")),
        ("turn", turn.isascii() and turn.isdigit() and len(turn) < 7, Message("the index of a turn, from 0")),
        ("code", is_code, expected_code),
        ("present", answer in ANSWERS, Message("true or false, yes or no, 1 or 0")),
        (
            "reason",
            reason is None or _is_text(reason),
            Message("a text of at most {most} characters", most=MAX_CHARACTERS),
        ),
    ):
        if not is_good:
            raise InputRefused(
                "E_GOLD", "{where}, {name}: expected {expected}", where=where, name=name, expected=expected
            )
    return Gold(
        dialogue=dialogue, turn=int(turn), code=code, present=ANSWERS[answer], source="expert", reason=reason
    )


def _cell(row: Mapping[str, Any], *names: str) -> Any:
    """The first of these cells that exists and is not empty."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_CHARACTERS and "\x00" not in value


def write_gold_file(path: Path, labels: Iterable[Gold]) -> None:
    """Write gold as JSON lines that `read_gold_file` reads.

    Raises:
        WorldError: the file cannot be written.
    """
    with atomic_file(path) as file:
        for one in labels:
            row = {
                "dialogue_id": one.dialogue,
                **one.model_dump(include={"turn", "code", "present", "reason"}),
            }
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
