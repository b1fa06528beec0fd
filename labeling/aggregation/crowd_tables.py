"""Crowd tables in files: CSV, Parquet or JSON with columns task, worker, label.

Optional columns: `code` (the question asked of the task: each code is a problem of its own) and `seconds`.
Names stay text as they stand in the file, without outer blanks; labels that
differ in case, blanks or the composition of characters alone are one, in the spelling of most. An empty
label, and one of `NO_LABELS`, is no answer. CSV may have semicolons between its cells, and then commas in its
numbers, or tabs. A bad row is the user's error and refuses the file, with the line. Arrow reads the columns;
the rows are gone through one by one only to name the place of a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.readers.parquet import check_parquet_columns
from dialint.detector.ingest.readers.tables import (
    SEPARATORS,
    CsvReader,
    TableFormat,
    detect_table_format,
    read_table,
)
from dialint.detector.ingest.sources import Source, open_logs
from dialint.detector.verdict_files import MAX_CELL
from dialint.labeling.aggregation.answers import Answers, Floats

TEXT_COLUMNS = ("task", "worker", "label", "code")
NAMES = {"task", "worker", "code"}
REQUIRED = ("task", "worker", "label")
OPTIONAL = ("code", "seconds")
NO_LABELS = ("", "nan", "na", "n/a", "#n/a", "<na>", "null")
"""What tools write where there is no label, in lower case."""
MAX_NAME = 256
"""Bytes of a name, at most."""
READ = ReadConfig(max_record_bytes=1 << 20)


@dataclass(frozen=True)
class Table:
    """The columns of a file as Arrow arrays."""

    source: Source
    table_format: TableFormat
    values: dict[str, Any]

    def refuse(self, row: int, message: str) -> NoReturn:
        """Refuse the file for what stands in data row `row`, from 0."""
        place = f"row {row + 1}" if self.table_format == "parquet" else f"line {self._line(row)}"
        raise InputRefused("E_LABEL", f"{self.source.path}, {place}: {message}")

    def _line(self, row: int) -> int:
        if self.table_format not in SEPARATORS:
            return next(islice(read_table(self.source.path, READ), row, None))[0]
        reader = CsvReader(self.source, READ, SEPARATORS[self.table_format], MAX_CELL)
        for _ in range(row + 2):  # the header, too
            reader.next_row()
        return reader.line


def open_table(path: Path, required: tuple[str, ...]) -> Table:
    """The `required` columns of a file, and those of `OPTIONAL` that it has; names without outer blanks.

    Raises:
        InputRefused: no such file, not a table, or a required column is missing.
    """
    import pyarrow.compute as pc

    (source,) = open_logs([str(path)])
    table_format = detect_table_format(source, READ)
    if table_format in SEPARATORS:
        values = _read_csv(source, SEPARATORS[table_format], required)
    elif table_format == "parquet":
        values = _read_parquet(path, required)
    else:
        values = _read_json(path, required)
    for name in NAMES & values.keys():
        values[name] = pc.utf8_trim_whitespace(values[name])
    return Table(source, table_format, values)


def _present(path: Path, names: list[str], required: tuple[str, ...]) -> list[str]:
    """The columns to read, of those called `names`."""
    if missing := [name for name in required if name not in names]:
        raise InputRefused(
            "E_COLUMNS", f"{path}: no column {', '.join(missing)}; expected {', '.join(required)}"
        )
    if len(set(names)) < len(names):
        raise InputRefused("E_COLUMNS", f"{path}: a column name stands there twice")
    return [name for name in names if name in (*required, *OPTIONAL)]


def _read_csv(source: Source, delimiter: str, required: tuple[str, ...]) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import csv

    chosen = _present(source.path, CsvReader(source, READ, delimiter).next_row() or [], required)
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(chosen, pa.string()),
        include_columns=chosen,
        strings_can_be_null=True,
        null_values=[""],
    )
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        table = csv.read_csv(source.path, parse_options=parse, convert_options=convert)
    except (pa.ArrowInvalid, OSError):
        for _ in read_table(source.path, READ):  # raises where the bad row is
            pass
        raise InputRefused("E_CSV", f"{source.path}: not CSV in UTF-8") from None
    return {name: table[name].combine_chunks() for name in chosen}


def _read_parquet(path: Path, required: tuple[str, ...]) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        chosen = _present(path, parquet.read_schema(path).names, required)
        check_parquet_columns(path, chosen, READ)
        table = parquet.read_table(path, columns=chosen)
        return {
            name: table[name].cast(pa.string()).combine_chunks() if name in TEXT_COLUMNS else table[name]
            for name in chosen
        }
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise InputRefused("E_PARQUET", f"{path}: not a readable table ({type(error).__name__})") from None


def _read_json(path: Path, required: tuple[str, ...]) -> dict[str, Any]:
    import pyarrow as pa

    columns: dict[str, list[Any]] = {name: [] for name in dict.fromkeys((*required, *OPTIONAL))}
    kinds: dict[str, type] = {}
    for line, record in read_table(path, READ):
        for name, cells in columns.items():
            value = record.get(name)
            expected: tuple[type, ...] = (str, bool, int) if name in TEXT_COLUMNS else (int, float)
            if value is not None and type(value) not in expected:
                what = "text" if name in TEXT_COLUMNS else "a number"
                raise InputRefused("E_TYPE", f"{path}, line {line}: {name} is not {what}")
            if name in TEXT_COLUMNS and value is not None:
                if kinds.setdefault(name, type(value)) is not type(value):
                    raise InputRefused(
                        "E_TYPE", f"{path}, line {line}: {name} is not of the same type as above"
                    )
                value = str(value).lower() if isinstance(value, bool) else str(value)
            cells.append(value)
    return {
        name: pa.array(cells, pa.string() if name in TEXT_COLUMNS else pa.float64())
        for name, cells in columns.items()
        if name in required or any(cell is not None for cell in cells)
    }


def read_numbers(table: Table, name: str) -> Floats:
    """A column of numbers, shape (rows,), NaN where it is empty.

    Raises:
        InputRefused: a cell is not a number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.values[name]
    if table.table_format == "semicolons":
        column = pc.replace_substring(column, ",", ".")
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), float)
    except pa.ArrowInvalid:
        number = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?")
        cells = enumerate(column.to_pylist())
        row = next(row for row, cell in cells if cell is not None and not number.fullmatch(str(cell)))
        table.refuse(row, f"{name} is not a number")


def encode_names(table: Table, name: str) -> tuple[NDArray[np.int32], Any]:
    """A text column as indices, shape (rows,), and names, names in order of appearance.

    Raises:
        InputRefused: a cell is empty or too long.
    """
    import pyarrow.compute as pc

    size = pc.binary_length(table.values[name])
    bad = pc.fill_null(pc.or_(pc.equal(size, 0), pc.greater(size, MAX_NAME)), True)
    if (row := pc.index(bad, True).as_py()) >= 0:
        table.refuse(row, f"{name} is missing, empty or over {MAX_NAME} bytes")
    return _dictionary(table.values[name])


def label_key(label: str) -> str:
    """What the spellings of one label have in common."""
    return normalize("NFC", " ".join(label.split()).casefold())


def encode_labels(table: Table) -> tuple[NDArray[np.int32], Any]:
    """The labels as indices, shape (rows,), -1 where there is none, and names in order of appearance.

    Raises:
        InputRefused: a cell is too long.
    """
    import pyarrow.compute as pc

    column = pc.fill_null(table.values["label"], "")
    if (row := pc.index(pc.greater(pc.binary_length(column), MAX_NAME), True).as_py()) >= 0:
        table.refuse(row, f"label is over {MAX_NAME} bytes")
    index, spellings = _dictionary(column)
    counts = np.bincount(index, minlength=len(spellings))
    groups: dict[str, list[int]] = {}
    for place, spelling in enumerate(spellings):
        if (key := label_key(spelling)) not in NO_LABELS:
            groups.setdefault(key, []).append(place)
    of_spelling = np.full(len(spellings), -1, np.int32)
    for number, places in enumerate(groups.values()):
        of_spelling[places] = number
    most = [spellings[max(places, key=counts.__getitem__)] for places in groups.values()]
    names = [normalize("NFC", " ".join(spelling.split())) for spelling in most]
    return of_spelling[index], np.array(names, object)


def _dictionary(column: Any) -> tuple[NDArray[np.int32], Any]:
    encoded = column.dictionary_encode()
    names = np.array(encoded.dictionary.to_pylist(), object)
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32), names


def read_answers(path: Path, last_wins: bool = False) -> dict[str, Answers]:
    """The answers of a crowd table by code, codes sorted; one code "" where the file has no such column.

    All codes share `workers` and each has its own tasks and labels. With `last_wins`, of a worker's
    several answers to a task the last one in the file counts.

    Raises:
        InputRefused: unreadable, a column is missing, a row is incomplete, or a worker answered a task
            twice; the message names file and line.
    """
    table = open_table(path, REQUIRED)
    encoded = {"label": encode_labels(table)}
    if not (encoded["label"][0] >= 0).any():
        raise InputRefused("E_NO_RECORDS", f"{path}: holds no answers")
    for name in NAMES & table.values.keys():
        encoded[name] = encode_names(table, name)
    seconds = read_numbers(table, "seconds") if "seconds" in table.values else None
    counted = _select_rows(table, encoded, last_wins)
    codes, code_names = encoded.get("code", (np.zeros(len(counted), np.int32), np.array([""])))
    return {
        str(code_names[number]): _answers(encoded, seconds, counted & (codes == number))
        for number in np.argsort(code_names)
        if (counted & (codes == number)).any()
    }


def _select_rows(table: Table, encoded: Mapping[str, tuple[Any, Any]], last_wins: bool) -> NDArray[np.bool_]:
    """Which rows count, shape (rows,): all that have a label, or the last of each task and worker."""
    counted = np.asarray(encoded["label"][0] >= 0, bool)
    rows = np.flatnonzero(counted)
    key = encoded["task"][0].astype(np.int64)
    for name in ("worker", "code"):
        if name in encoded:
            key = key * len(encoded[name][1]) + encoded[name][0]
    order = rows[np.argsort(key[rows], kind="stable")]
    again = np.flatnonzero(key[order][1:] == key[order][:-1])
    if len(again) and not last_wins:
        row = int(order[again + 1].min())
        table.refuse(row, "this worker answered this task before; --last-wins takes the later answer")
    counted[order[again]] = False
    return counted


def _answers(
    encoded: dict[str, tuple[Any, Any]], seconds: Floats | None, chosen: NDArray[np.bool_]
) -> Answers:
    tasks, task = _reindex(*encoded["task"], chosen)
    labels, label = _reindex(*encoded["label"], chosen)
    order = np.argsort(labels)
    label = np.argsort(order)[label].astype(np.int32)
    worker, workers = encoded["worker"]
    took = None if seconds is None else seconds[chosen]
    return Answers(task, worker[chosen], label, tuple(tasks), tuple(workers), tuple(labels[order]), took)


def _reindex(index: Any, names: Any, chosen: NDArray[np.bool_]) -> tuple[Any, Any]:
    used, place = np.unique(index[chosen], return_inverse=True)
    return names[used], place.astype(np.int32)


def _labelled_rows(table: Table, tables: Mapping[str, Answers]) -> Iterator[tuple[int, str, str, str]]:
    """Row, code, task and label of each row that is about a code of the answers in `tables`; labels are
    spelled as there."""
    spelled = {code: {label_key(name): name for name in one.labels} for code, one in tables.items()}
    tasks, labels = (table.values[name].to_pylist() for name in ("task", "label"))
    codes = [""] * len(tasks) if "" in tables else table.values["code"].to_pylist()
    for row, (code, task, label) in enumerate(zip(codes, tasks, labels, strict=True)):
        if code in tables:
            if not task or label is None or label_key(label) in NO_LABELS:
                table.refuse(row, "task or label is missing")
            yield row, code, task, spelled[code].setdefault(label_key(label), label)


def _key_columns(tables: Mapping[str, Answers]) -> tuple[str, ...]:
    return ("task", "label") if "" in tables else ("task", "label", "code")


def read_gold(path: Path, tables: Mapping[str, Answers]) -> dict[str, dict[str, str]]:
    """Read the gold label of each task by code, for the codes of `tables`; labels are spelled as there.

    The file has columns task, label, and code if the answers have them.

    Raises:
        InputRefused: unreadable, a cell is empty, or a task is there twice.
    """
    table = open_table(path, _key_columns(tables))
    gold_labels: dict[str, dict[str, str]] = {code: {} for code in tables}
    for row, code, task, label in _labelled_rows(table, tables):
        if task in gold_labels[code]:
            table.refuse(row, "this task stands here twice")
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
    table = open_table(path, (*_key_columns(tables), "probability"))
    values = read_numbers(table, "probability")
    cells: dict[str, dict[tuple[str, str], float]] = {code: {} for code in tables}
    for row, code, task, label in _labelled_rows(table, tables):
        if not 0 <= values[row] <= 1:
            table.refuse(row, "expected a probability from 0 to 1")
        if (task, label) in cells[code]:
            table.refuse(row, "this task and label stand here twice")
        cells[code][task, label] = values[row]
    wider = {code: one.with_labels(label for _, label in cells[code]) for code, one in tables.items()}
    return wider, {code: _fill(path, one, cells[code]) for code, one in wider.items()}


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
