"""Crowd tables in files: CSV, Parquet or JSON with columns task, worker, label.

Optional columns: `code` (the question of the task: each code is a problem of its own), `seconds`, and `group`
(of raters with correlated errors, such as judges of one base model; empty for all others). Names are the text
of the file without outer blanks; labels that differ in case, blanks or the composition of characters alone
are one, in the most frequent spelling. An empty label, and one of `NO_LABELS`, is no answer. CSV may have
semicolons between its cells, and then commas in its numbers, or tabs. A bad row is the user's error and
refuses the file, with the line.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.readers.tables import detect_table_format, read_table
from dialint.detector.ingest.sources import open_logs
from dialint.labeling.aggregation.answers import Answers, Floats

NO_LABELS = ("", "nan", "na", "n/a", "#n/a", "<na>", "null")
"""Values that tools write for a missing label, in lower case."""
MAX_NAME = 256
"""Bytes of a name, at most."""
READ = ReadConfig(max_record_bytes=1 << 24)
_NUMBER = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?")


class _Table:
    """The rows of a file, and the kinds of their cells."""

    def __init__(self, path: Path, required: tuple[str, ...]) -> None:
        """
        Raises:
            InputRefused: no such file, or not a table.
        """
        (source,) = open_logs([str(path)])
        self._path, self._required = path, required
        self._format, self._types = detect_table_format(source, READ), dict[str, type]()

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Number and cells of each row.

        Raises:
            InputRefused: a row is bad, or a required column is missing.
        """
        for number, row in read_table(self._path, READ):
            missing = [name for name in self._required if name not in row]
            if missing and self._format not in ("json", "jsonl"):
                expected = f"expected {', '.join(self._required)}"
                raise InputRefused("E_COLUMNS", f"{self._path}: no column {', '.join(missing)}; {expected}")
            yield number, row

    def refuse(self, number: int, message: str, code: str = "E_LABEL") -> NoReturn:
        """Refuse the file because of the content of a row."""
        unit = "row" if self._format == "parquet" else "line"
        raise InputRefused(code, f"{self._path}, {unit} {number}: {message}")

    def number(self, row: Mapping[str, Any], name: str, at: int) -> float:
        """A cell as a number, NaN where it is empty."""
        value = row.get(name)
        if value is None:
            return math.nan
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            self.refuse(at, f"{name} is not a number", "E_TYPE")
        if isinstance(value, str):
            if value.strip().casefold() in NO_LABELS:
                return math.nan
            value = value.replace(",", ".") if self._format == "semicolons" else value
            if not _NUMBER.fullmatch(value):
                self.refuse(at, f"{name} is not a number")
        return float(value)

    def text(self, row: Mapping[str, Any], name: str, at: int) -> str | None:
        """A cell as text, None where it is empty; a column is all text, all numbers or all truth values."""
        value = row.get(name)
        if value is None or value != value:  # pandas writes an empty cell as NaN
            return None
        if not isinstance(value, str | bool | int | float):
            self.refuse(at, f"{name} is not text", "E_TYPE")
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # pandas writes a column with an empty cell as floats
        if self._types.setdefault(name, type(value)) is not type(value):
            self.refuse(at, f"{name} is not of the same type as above", "E_TYPE")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if name != "label":
            return text.strip()
        if len(text.encode()) > MAX_NAME:
            self.refuse(at, f"label is over {MAX_NAME} bytes")
        return text

    def name(self, row: Mapping[str, Any], column: str, at: int) -> str:
        """A cell as a name."""
        name = self.text(row, column, at)
        if not name or len(name.encode()) > MAX_NAME:
            self.refuse(at, f"{column} is missing, empty or over {MAX_NAME} bytes")
        return name


@lru_cache(1024)
def label_key(label: str) -> str:
    """Returns the key that all spellings of a label share."""
    return normalize("NFC", " ".join(label.split()).casefold())


def read_answers(path: Path, last_wins: bool = False) -> dict[str, Answers]:
    """The answers of a crowd table by code, codes sorted; one code "" where the file has no such column.

    All codes share `workers` and each has its own tasks and labels. With `last_wins`, of a worker's
    several answers to a task the last one in the file counts.

    Raises:
        InputRefused: unreadable, a column is missing, a row is incomplete, or a worker answered a task
            twice; the message names file and line.
    """
    table = _Table(path, ("task", "worker", "label"))
    indices: dict[str, dict[str, int]] = {"task": {}, "worker": {}}
    seen: dict[tuple[str, object], int] = {}  # of texts that were read before: most of a large table
    rows: dict[str, dict[tuple[int, int], tuple[str, float]]] = defaultdict(dict)
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    with_code = None
    groups: dict[int, str] = {}

    def index(row: Mapping[str, Any], column: str, at: int) -> int:
        value = row.get(column)
        if type(value) is str and (place := seen.get((column, value))) is not None:
            return place
        names = indices[column]
        place = names.setdefault(table.name(row, column, at), len(names))
        if type(value) is str:
            seen[column, value] = place
        return place

    for number, row in table:
        if with_code not in (None, row.get("code") is not None):
            table.refuse(number, "code is missing, empty or only in some rows")
        with_code = row.get("code") is not None
        answer = index(row, "task", number), index(row, "worker", number)
        code = table.name(row, "code", number) if with_code else ""
        group = table.text(row, "group", number) or ""
        if groups.setdefault(answer[1], group) != group:
            table.refuse(number, "this worker was in another group before")
        label = table.text(row, "label", number) or ""
        if (key := label_key(label)) in NO_LABELS:
            continue
        spellings[key][label] += 1
        if rows[code].pop(answer, None) is not None and not last_wins:
            table.refuse(number, "this worker answered this task before; --last-wins takes the later answer")
        rows[code][answer] = key, table.number(row, "seconds", number)
    if not spellings:
        raise InputRefused("E_NO_RECORDS", f"{path}: holds no answers")
    labels = {
        key: normalize("NFC", " ".join(max(counts, key=counts.__getitem__).split()))
        for key, counts in spellings.items()
    }
    task_names, worker_names = tuple(indices["task"]), tuple(indices["worker"])
    tables = {code: _to_answers(rows[code], task_names, worker_names, labels) for code in sorted(rows)}
    group_names = tuple(groups[worker] for worker in range(len(worker_names)))
    return {
        code: replace(one, groups=group_names if any(group_names) else None) for code, one in tables.items()
    }


def _to_answers(
    rows: Mapping[tuple[int, int], tuple[str, float]],
    tasks: tuple[str, ...],
    workers: tuple[str, ...],
    labels: Mapping[str, str],
) -> Answers:
    """The table of one code: tasks in the order of the file, labels sorted."""
    task, worker = np.array(list(rows), np.int32).T
    used, place = np.unique(task, return_inverse=True)
    names = sorted({labels[key] for key, _ in rows.values()})
    place_of = {name: number for number, name in enumerate(names)}
    label = np.array([place_of[labels[key]] for key, _ in rows.values()], np.int32)
    seconds = np.array([each for _, each in rows.values()], float)
    return Answers(
        place.astype(np.int32),
        np.ascontiguousarray(worker),
        label,
        tuple(tasks[index] for index in used),
        workers,
        tuple(names),
        None if np.isnan(seconds).all() else seconds,
    )


def _labelled_rows(
    table: _Table, tables: Mapping[str, Answers]
) -> Iterator[tuple[int, dict[str, Any], str, str, str]]:
    """Number, cells, code, task and label of each row that is about a code of the answers in `tables`; labels
    are spelled as there."""
    spelled = {code: {label_key(name): name for name in one.labels} for code, one in tables.items()}
    for number, row in table:
        code = "" if "" in tables else table.text(row, "code", number) or ""
        if code in tables:
            task, label = table.text(row, "task", number), table.text(row, "label", number)
            if not task or label is None or label_key(label) in NO_LABELS:
                table.refuse(number, "task or label is missing")
            yield number, row, code, task, spelled[code].setdefault(label_key(label), label)


def _key_columns(tables: Mapping[str, Answers]) -> tuple[str, ...]:
    return ("task", "label") if "" in tables else ("task", "label", "code")


def read_gold(path: Path, tables: Mapping[str, Answers]) -> dict[str, dict[str, str]]:
    """Read the gold label of each task by code, for the codes of `tables`; labels are spelled as there.

    The file has columns task, label, and code if the answers have them.

    Raises:
        InputRefused: unreadable, a cell is empty, or a task is there twice.
    """
    table = _Table(path, _key_columns(tables))
    gold_labels: dict[str, dict[str, str]] = {code: {} for code in tables}
    for number, _, code, task, label in _labelled_rows(table, tables):
        if task in gold_labels[code]:
            table.refuse(number, "this task stands here twice")
        gold_labels[code][task] = label
    return gold_labels


def gold_indices(answers: Answers, gold_labels: Mapping[str, str]) -> NDArray[np.int64]:
    """The index of each task's gold label among the labels, -1 where there is none, shape (tasks,)."""
    place = {label: number for number, label in enumerate(answers.labels)}
    return np.array(
        [place[gold_labels[task]] if task in gold_labels else -1 for task in answers.tasks], np.int64
    )


ROUNDED = 0.01
"""Tolerance of the sum of a task's probabilities, 1, as rounded ones differ from it."""


def read_model_answers(
    path: Path, tables: Mapping[str, Answers]
) -> tuple[dict[str, Answers], dict[str, Floats]]:
    """Read a model's probabilities by code, shape (tasks, labels), rows of NaN where it has none, and return
    them with the answers, which have the labels that only the model has: a label without any answer, such as
    a rare error, may still be true.

    The file has columns task, label, probability, and code if the answers have them. The difference from 1 is
    distributed over the labels that are not in the file; a task whose probabilities sum to more than 1 is
    refused.

    Raises:
        InputRefused: unreadable, not a probability, or a label twice.
    """
    table = _Table(path, (*_key_columns(tables), "probability"))
    by_code: dict[str, dict[tuple[str, str], float]] = {code: {} for code in tables}
    for number, row, code, task, label in _labelled_rows(table, tables):
        probability = table.number(row, "probability", number)
        if not 0 <= probability <= 1:
            table.refuse(number, "expected a probability from 0 to 1")
        if (task, label) in by_code[code]:
            table.refuse(number, "this task and label stand here twice")
        by_code[code][task, label] = probability
    wider = {code: one.with_labels(label for _, label in by_code[code]) for code, one in tables.items()}
    return wider, {code: _fill(path, one, by_code[code]) for code, one in wider.items()}


def _fill(path: Path, answers: Answers, cells: Mapping[tuple[str, str], float]) -> Floats:
    """The probabilities of all labels, where `cells` has some of a task's."""
    tasks = {name: place for place, name in enumerate(answers.tasks)}
    columns = {name: place for place, name in enumerate(answers.labels)}
    probabilities = np.full((len(tasks), len(columns)), np.nan)
    for (task, label), value in cells.items():
        if task in tasks:
            probabilities[tasks[task], columns[label]] = value
    has_value = ~np.isnan(probabilities)
    rest = 1.0 - np.nansum(probabilities, axis=1)
    open_labels = (~has_value).sum(axis=1)
    has_model = np.asarray(has_value.any(axis=1))
    if (has_model & ((rest < -ROUNDED) | ((open_labels == 0) & (rest > ROUNDED)))).any():
        raise InputRefused("E_NUMBER", f"{path}: probabilities of a task do not sum to 1")
    filled = np.where(has_value, probabilities, (np.maximum(rest, 0.0) / np.maximum(open_labels, 1))[:, None])
    with np.errstate(invalid="ignore"):
        return np.where(has_model[:, None], filled / filled.sum(axis=1, keepdims=True), np.nan)
