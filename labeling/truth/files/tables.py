"""Crowd tables in files: CSV, Parquet or JSONL with columns task, worker, label.

Optional columns: `code` (the question asked of the task: each code is a problem of its own), `seconds`
and `at` (seconds since 1970). Names stay text as they stand in the file. A bad row is the user's error and
refuses the file, with the line; nothing is guessed and nothing skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import InputRefused
from dialint.labeling.truth.answers import Answers, Floats
from dialint.labeling.truth.files.columns import Columns, encoded_names, numbers, read_columns, refuse

Places = NDArray[np.int64]
REQUIRED = ("task", "worker", "label")


def read_answers(path: Path, last_wins: bool = False) -> dict[str, Answers]:
    """The answers of a crowd table by code, codes sorted; one code "" where the file has no such column.

    All codes share `workers` and each has its own tasks and labels. With `last_wins`, of a worker's
    several answers to a task the last one in the file counts.

    Raises:
        InputRefused: unreadable, a column is missing, a row is incomplete, or a worker answered a task
            twice; the message names file and line.
    """
    columns = read_columns(path, REQUIRED)
    if not len(columns.values["task"]):
        raise InputRefused("E_NO_RECORDS", f"{path}: holds no answers")
    encoded = {
        name: encoded_names(path, columns, name) for name in (*REQUIRED, "code") if name in columns.values
    }
    timing: dict[str, Floats] = {
        name: numbers(path, columns, name) for name in ("seconds", "at") if name in columns.values
    }
    kept = _once(path, columns, encoded, last_wins)
    codes, code_names = encoded.get("code", (np.zeros(len(kept), np.int32), np.array([""])))
    return {
        str(code_names[number]): _answers(encoded, timing, kept & (codes == number))
        for number in np.argsort(code_names)
    }


ROUNDED = 0.01
"""How far a task's probabilities may be from a sum of 1, as those rounded for people are."""


def read_model(path: Path, answers: Answers, code: str = "") -> tuple[Answers, Floats]:
    """The answers, with the labels that only the model names as well, and the model's probabilities of one
    code, shape (tasks, labels): a label that nobody has given yet, as a rare error, is one all the same.

    Raises:
        InputRefused: as `read_probabilities`.
    """
    columns = _model_columns(path, code)
    codes = columns.values["code"].to_pylist() if code else [""] * len(columns.values["label"])
    named = {name for name, of in zip(columns.values["label"].to_pylist(), codes, strict=True) if of == code}
    answers = answers.with_labels(name for name in named if name is not None)
    return answers, _probabilities(path, columns, answers.labels, answers.tasks, code)


def read_probabilities(path: Path, labels: tuple[str, ...], tasks: tuple[str, ...], code: str = "") -> Floats:
    """A model's probabilities of one code, shape (tasks, labels), rows of NaN where it is silent.

    The file has columns task, label, probability, and code if `code` is not "". What a task's labels leave
    to 1 is shared among the labels not named; a task of which the labels sum to more than 1 is refused.

    Raises:
        InputRefused: unreadable, not a probability, an unknown label, or a label twice.
    """
    return _probabilities(path, _model_columns(path, code), labels, tasks, code)


def read_gold(path: Path, coded: bool) -> dict[str, dict[str, str]]:
    """The label that is known for sure of each task, by code, one code "" where the answers are not `coded`.

    The file has columns task, label, and code if they are.

    Raises:
        InputRefused: unreadable, a cell is empty, or a task is known twice.
    """
    names_of = ("task", "label", *(("code",) if coded else ()))
    columns, texts = read_columns(path, names_of), []
    for name in names_of:
        place, names = encoded_names(path, columns, name)
        texts.append([str(names[one]) for one in place])
    known: dict[str, dict[str, str]] = {}
    for row, (task, label, *code) in enumerate(zip(*texts, strict=True)):
        of = known.setdefault(code[0] if code else "", {})
        if task in of:
            refuse(path, columns, row, "this task stands here twice")
        of[task] = label
    return known


def known_places(answers: Answers, known: Mapping[str, str]) -> Places:
    """The place of each task's known label among the labels, -1 where none is known, shape (tasks,)."""
    place = {label: number for number, label in enumerate(answers.labels)}
    return np.array([place[known[task]] if task in known else -1 for task in answers.tasks], np.int64)


def _model_columns(path: Path, code: str) -> Columns:
    return read_columns(path, ("task", "label", "probability", *(("code",) if code else ())))


def _probabilities(
    path: Path, columns: Columns, labels: tuple[str, ...], tasks: tuple[str, ...], code: str
) -> Floats:
    names = {name: place for place, name in enumerate(tasks)}
    known = {name: place for place, name in enumerate(labels)}
    found = np.full((len(tasks), len(labels)), np.nan)
    given = numbers(path, columns, "probability")
    texts = [columns.values[name].to_pylist() for name in ("task", "label")]
    codes = columns.values["code"].to_pylist() if code else [""] * len(given)
    for row, (task, label, of, value) in enumerate(zip(*texts, codes, given, strict=True)):
        if of != code:
            continue
        if label not in known or not 0 <= value <= 1:
            refuse(path, columns, row, "expected a known label and a probability from 0 to 1")
        if (place := names.get(task)) is not None:
            if not np.isnan(found[place, known[label]]):
                refuse(path, columns, row, "this task and label stand here twice")
            found[place, known[label]] = value
    return _completed(path, found)


def _completed(path: Path, found: Floats) -> Floats:
    named = ~np.isnan(found)
    rest = 1.0 - np.nansum(found, axis=1)
    open_labels = (~named).sum(axis=1)
    spoken = np.asarray(named.any(axis=1))
    if (spoken & ((rest < -ROUNDED) | ((open_labels == 0) & (rest > ROUNDED)))).any():
        raise InputRefused("E_NUMBER", f"{path}: probabilities of a task do not sum to 1")
    filled = np.where(named, found, (np.maximum(rest, 0.0) / np.maximum(open_labels, 1))[:, None])
    with np.errstate(invalid="ignore"):
        return np.where(spoken[:, None], filled / filled.sum(axis=1, keepdims=True), np.nan)


def _answers(
    encoded: dict[str, tuple[Any, Any]], timing: dict[str, Floats], chosen: NDArray[np.bool_]
) -> Answers:
    tasks, task = _seen(*encoded["task"], chosen)
    labels, label = _seen(*encoded["label"], chosen)
    order = np.argsort(labels)
    label = np.argsort(order)[label].astype(np.int32)
    worker, workers = encoded["worker"]
    optional = {name: values[chosen] for name, values in timing.items()}
    return Answers(
        task, worker[chosen], label, tuple(tasks), tuple(workers), tuple(labels[order]), **optional
    )


def _seen(index: Any, names: Any, chosen: NDArray[np.bool_]) -> tuple[Any, Any]:
    found, place = np.unique(index[chosen], return_inverse=True)
    return names[found], place.astype(np.int32)


def _once(
    path: Path, columns: Columns, encoded: dict[str, tuple[Any, Any]], last_wins: bool
) -> NDArray[np.bool_]:
    """Which rows count, shape (rows,): all, or the last of each task and worker."""
    key = encoded["task"][0].astype(np.int64)
    for name in ("worker", "code"):
        if name in encoded:
            key = key * len(encoded[name][1]) + encoded[name][0]
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(key[order][1:] == key[order][:-1])
    kept = np.ones(len(key), bool)
    if len(again) and not last_wins:
        row = int(order[again + 1].min())
        message = "this worker answered this task before; --last-wins takes the later answer"
        refuse(path, columns, row, message)
    kept[order[again]] = False
    return kept
