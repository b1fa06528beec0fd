"""Crowd tables in files: CSV, Parquet or JSON with columns task, worker, label.

Optional columns: `code` (the question asked of the task: each code is a problem of its own) and `seconds`.
Names stay text as they stand in the file, without outer blanks; labels that
differ in case, blanks or the composition of characters alone are one, in the spelling of most. An empty
label, and one of `NO_LABELS`, is no answer. CSV may have semicolons between its cells, and then commas in its
numbers, or tabs. A bad row is the user's error and refuses the file, with the line.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
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
"""What tools write where there is no label, in lower case."""
MAX_NAME = 256
"""Bytes of a name, at most."""
READ = ReadConfig(max_record_bytes=1 << 20)
NUMBERS = ("seconds", "probability")
_NUMBER = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?")


def _refuse(place: str, message: str, code: str = "E_LABEL") -> NoReturn:
    raise InputRefused(code, f"{place}: {message}")


def _read_cells(
    path: Path, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The place of each row, and its cells of these columns: text, None where it is empty; `NUMBERS` NaN.

    Raises:
        InputRefused: no such file, not a table, a required column is missing, or a cell is not of its kind.
    """
    (source,) = open_logs([str(path)])
    table_format, types = detect_table_format(source, READ), dict[str, type]()
    unit = "row" if table_format == "parquet" else "line"
    for line, row in read_table(path, READ):
        if table_format not in ("json", "jsonl") and (missing := [one for one in required if one not in row]):
            _refuse(str(path), f"no column {', '.join(missing)}; expected {', '.join(required)}", "E_COLUMNS")
        place, cells = f"{path}, {unit} {line}", dict[str, Any]()
        for name in (*required, *optional):
            value = row.get(name)
            if name in NUMBERS:
                if table_format == "semicolons" and value is not None:
                    value = value.replace(",", ".")
                cells[name] = _number(value, name, place)
            else:
                cells[name] = _text(value, name, place, types)
        yield place, cells


def _number(value: object, name: str, place: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        _refuse(place, f"{name} is not a number", "E_TYPE")
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        _refuse(place, f"{name} is not a number")
    return float(value)


def _text(value: object, name: str, place: str, types: dict[str, type]) -> str | None:
    """A cell as text; numbers and truth values are one kind throughout a column, kept in `types`."""
    if value is None or value != value:  # pandas writes an empty cell as NaN
        return None
    if not isinstance(value, str | bool | int | float):
        _refuse(place, f"{name} is not text", "E_TYPE")
    if types.setdefault(name, type(value)) is not type(value):
        _refuse(place, f"{name} is not of the same type as above", "E_TYPE")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if name == "label":
        if len(text.encode()) > MAX_NAME:
            _refuse(place, f"label is over {MAX_NAME} bytes")
        return text
    return text.strip()


def _check_name(name: str | None, column: str, place: str) -> str:
    if not name or len(name.encode()) > MAX_NAME:
        _refuse(place, f"{column} is missing, empty or over {MAX_NAME} bytes")
    return name


@lru_cache(1024)
def label_key(label: str) -> str:
    """What the spellings of one label have in common."""
    return normalize("NFC", " ".join(label.split()).casefold())


def read_answers(path: Path, last_wins: bool = False) -> dict[str, Answers]:
    """The answers of a crowd table by code, codes sorted; one code "" where the file has no such column.

    All codes share `workers` and each has its own tasks and labels. With `last_wins`, of a worker's
    several answers to a task the last one in the file counts.

    Raises:
        InputRefused: unreadable, a column is missing, a row is incomplete, or a worker answered a task
            twice; the message names file and line.
    """
    tasks, workers = dict[str, int](), dict[str, int]()
    rows: dict[str, dict[tuple[int, int], tuple[str, float]]] = defaultdict(dict)
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    with_code = None
    for place, cells in _read_cells(path, ("task", "worker", "label"), ("code", "seconds")):
        if with_code not in (None, cells["code"] is not None):
            _refuse(place, "code is missing, empty or only in some rows")
        with_code = cells["code"] is not None
        task, worker = (_check_name(cells[name], name, place) for name in ("task", "worker"))
        code = _check_name(cells["code"], "code", place) if with_code else ""
        answer = tasks.setdefault(task, len(tasks)), workers.setdefault(worker, len(workers))
        if (key := label_key(cells["label"] or "")) in NO_LABELS:
            continue
        spellings[key][cells["label"]] += 1
        if rows[code].pop(answer, None) is not None and not last_wins:
            _refuse(place, "this worker answered this task before; --last-wins takes the later answer")
        rows[code][answer] = key, cells["seconds"]
    if not spellings:
        raise InputRefused("E_NO_RECORDS", f"{path}: holds no answers")
    labels = {
        key: normalize("NFC", " ".join(max(counts, key=counts.__getitem__).split()))
        for key, counts in spellings.items()
    }
    return {code: _to_answers(rows[code], tuple(tasks), tuple(workers), labels) for code in sorted(rows)}


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
    label = np.array([names.index(labels[key]) for key, _ in rows.values()], np.int32)
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
    path: Path, tables: Mapping[str, Answers], *more: str
) -> Iterator[tuple[str, str, str, str, dict[str, Any]]]:
    """Place, code, task, label and cells of each row that is about a code of the answers in `tables`; labels
    are spelled as there. The file has a column code if the answers have codes."""
    spelled = {code: {label_key(name): name for name in one.labels} for code, one in tables.items()}
    columns = ("task", "label") if "" in tables else ("task", "label", "code")
    for place, cells in _read_cells(path, (*columns, *more)):
        code, task, label = cells.get("code", ""), cells["task"], cells["label"]
        if code in tables:
            if not task or label is None or label_key(label) in NO_LABELS:
                _refuse(place, "task or label is missing")
            yield place, code, task, spelled[code].setdefault(label_key(label), label), cells


def read_gold(path: Path, tables: Mapping[str, Answers]) -> dict[str, dict[str, str]]:
    """Read the gold label of each task by code, for the codes of `tables`; labels are spelled as there.

    The file has columns task, label, and code if the answers have them.

    Raises:
        InputRefused: unreadable, a cell is empty, or a task is there twice.
    """
    gold_labels: dict[str, dict[str, str]] = {code: {} for code in tables}
    for place, code, task, label, _ in _labelled_rows(path, tables):
        if task in gold_labels[code]:
            _refuse(place, "this task stands here twice")
        gold_labels[code][task] = label
    return gold_labels


def gold_indices(answers: Answers, gold_labels: Mapping[str, str]) -> NDArray[np.int64]:
    """The index of each task's gold label among the labels, -1 where there is none, shape (tasks,)."""
    place = {label: number for number, label in enumerate(answers.labels)}
    return np.array(
        [place[gold_labels[task]] if task in gold_labels else -1 for task in answers.tasks], np.int64
    )


ROUNDED = 0.01
"""How far a task's probabilities may be from a sum of 1, as those rounded for people are."""


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
    by_code: dict[str, dict[tuple[str, str], float]] = {code: {} for code in tables}
    for place, code, task, label, cells in _labelled_rows(path, tables, "probability"):
        if not 0 <= cells["probability"] <= 1:
            _refuse(place, "expected a probability from 0 to 1")
        if (task, label) in by_code[code]:
            _refuse(place, "this task and label stand here twice")
        by_code[code][task, label] = cells["probability"]
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
