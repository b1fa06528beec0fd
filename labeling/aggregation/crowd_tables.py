"""Crowd tables in files: CSV, Parquet or JSONL with columns task, worker, label.

Optional columns: `code` (the question asked of the task: each code is a problem of its own), `seconds`
and `at` (seconds since 1970). Names stay text as they stand in the file, without outer blanks; labels that
differ in case, blanks or the composition of characters alone are one, in the spelling of most. An empty
label, and one of `NO_LABELS`, is no answer. CSV may have semicolons between its cells, and then commas in its
numbers, or tabs. A bad row is the user's error and refuses the file, with the line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.readers.parquet import check_parquet_columns
from dialint.labeling.aggregation.answers import Answers, Floats

TEXT_COLUMNS = ("task", "worker", "label", "code")
NAMES = {"task", "worker", "code"}
NUMBERS = ("seconds", "at", "probability")
OPTIONAL = ("code", "seconds", "at")
NO_LABELS = ("", "nan", "na", "n/a", "#n/a", "<na>", "null")
"""What tools write where there is no label, in lower case."""
DELIMITERS = (",", ";", "\t")
MAX_NAME = 256
"""Bytes of a name, at most."""
MAX_LINE = 1 << 20
"""Bytes of a line of JSONL, at most."""


@dataclass(frozen=True)
class Columns:
    """The file's columns as Arrow arrays; `locate` describes the position of a row for a message."""

    values: dict[str, Any]
    locate: Callable[[int], str]
    has_decimal_comma: bool = False


def read_columns(path: Path, required: tuple[str, ...]) -> Columns:
    """The `required` columns of a file, and those of `OPTIONAL` that it has.

    Raises:
        InputRefused: no such file, not a table, or a required column is missing.
    """
    import pyarrow.compute as pc

    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".jsonl": _read_jsonl}
    if path.suffix not in readers:
        raise InputRefused("E_FORMAT", f"{path}: expected a file ending in {', '.join(readers)}")
    if not path.is_file():
        raise InputRefused("E_PATH", f"{path}: no such file")
    columns = readers[path.suffix](path, required)
    for name in NAMES & columns.values.keys():
        columns.values[name] = pc.utf8_trim_whitespace(columns.values[name])
    return columns


def encode_names(path: Path, columns: Columns, name: str) -> tuple[Any, Any]:
    """A text column as indices, shape (rows,), and names, names in order of appearance.

    Raises:
        InputRefused: a cell is empty or too long.
    """
    import pyarrow.compute as pc

    column = columns.values[name]
    size = pc.binary_length(column)
    bad = pc.fill_null(pc.or_(pc.equal(size, 0), pc.greater(size, MAX_NAME)), True)
    if (row := pc.index(bad, True).as_py()) >= 0:
        refuse_row(path, columns, row, f"{name} is missing, empty or over {MAX_NAME} bytes")
    return _dictionary(column)


def label_key(label: str) -> str:
    """What the spellings of one label have in common."""
    return normalize("NFC", " ".join(label.split()).casefold())


def encode_labels(path: Path, columns: Columns) -> tuple[NDArray[np.int32], Any]:
    """The labels as indices, shape (rows,), -1 where there is none, and names in order of appearance.

    Raises:
        InputRefused: a cell is too long.
    """
    import pyarrow.compute as pc

    column = pc.fill_null(columns.values["label"], "")
    if (row := pc.index(pc.greater(pc.binary_length(column), MAX_NAME), True).as_py()) >= 0:
        refuse_row(path, columns, row, f"label is over {MAX_NAME} bytes")
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
    import pyarrow as pa

    encoded = (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column).dictionary_encode()
    names = np.array(encoded.dictionary.to_pylist(), object)
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32), names


def read_numbers(path: Path, columns: Columns, name: str) -> Floats:
    """A column of numbers, shape (rows,), NaN where it is empty.

    Raises:
        InputRefused: a cell is not a number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = columns.values[name]
    if columns.has_decimal_comma:
        column = pc.replace_substring(column, ",", ".")
    try:
        cast = column.cast(pa.float64())
    except pa.ArrowInvalid:
        row = next(row for row, cell in enumerate(column.to_pylist()) if not _is_number(cell))
        refuse_row(path, columns, row, f"{name} is not a number")
    return np.asarray(cast.to_numpy(zero_copy_only=False) if isinstance(cast, pa.Array) else cast, float)


def _is_number(cell: Any) -> bool:
    return cell is None or re.fullmatch(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?", str(cell)) is not None


def refuse_row(path: Path, columns: Columns, row: int, message: str) -> NoReturn:
    """Refuse the file for what stands in data row `row`, from 0."""
    raise InputRefused("E_LABEL", f"{path}, {columns.locate(row)}: {message}")


def _read_csv(path: Path, required: tuple[str, ...]) -> Columns:
    import pyarrow as pa
    from pyarrow import csv as arrow

    wanted = (*required, *(name for name in OPTIONAL if name not in required))
    kinds = {name: pa.string() for name in wanted}
    delimiter, present = _header(path, required, wanted)
    parse = arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = arrow.ConvertOptions(
        column_types=kinds,
        include_columns=present,
        strings_can_be_null=True,
        null_values=[""],
    )
    try:
        table = arrow.read_csv(path, parse_options=parse, convert_options=convert)
    except (pa.ArrowInvalid, OSError):
        raise InputRefused("E_CSV", f"{path}, {_describe_bad_row(path, delimiter)}") from None
    arrays = {name: table[name].combine_chunks() for name in table.column_names}
    return Columns(arrays, lambda row: f"line {_csv_line(path, delimiter, row)}", delimiter == ";")


def _header(path: Path, required: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[str, list[str]]:
    """The delimiter that gives the most of the required columns, and the columns that are there."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            line = file.readline(MAX_LINE)
        rows = {delimiter: next(csv.reader([line], delimiter=delimiter), []) for delimiter in DELIMITERS}
    except (UnicodeDecodeError, csv.Error):
        raise InputRefused("E_CSV", f"{path}, line 1: not a header in UTF-8") from None
    delimiter = max(DELIMITERS, key=lambda each: len({*required} & {*rows[each]}))
    return delimiter, _present(path, rows[delimiter], required, wanted)


def _present(path: Path, names: list[str], required: tuple[str, ...], wanted: tuple[str, ...]) -> list[str]:
    if missing := [name for name in required if name not in names]:
        raise InputRefused(
            "E_COLUMNS", f"{path}: no column {', '.join(missing)}; expected {', '.join(required)}"
        )
    if len(set(names)) < len(names):
        raise InputRefused("E_COLUMNS", f"{path}: a column name stands there twice")
    return [name for name in names if name in wanted]


def _csv_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        for row in reader:
            if row:
                yield reader.line_num, row


def _csv_line(path: Path, delimiter: str, row: int) -> int:
    """The line on which data row `row`, from 0, ends."""
    return next(line for number, (line, _) in enumerate(_csv_rows(path, delimiter), -1) if number == row)


def _describe_bad_row(path: Path, delimiter: str) -> str:
    width = 0
    try:
        for line, row in _csv_rows(path, delimiter):
            width = width or len(row)
            if len(row) != width:
                return f"line {line}: {len(row)} cells, expected {width}"
    except UnicodeDecodeError as error:
        return f"byte {error.start} of a block: not UTF-8"
    except csv.Error as error:
        return f"not CSV: {error}"
    return "the last line: not CSV, or not UTF-8"


def _read_parquet(path: Path, required: tuple[str, ...]) -> Columns:
    import pyarrow as pa
    from pyarrow import parquet

    wanted = (*required, *(name for name in OPTIONAL if name not in required))
    try:
        names = parquet.read_schema(path).names
        chosen = _present(path, names, required, wanted)
        check_parquet_columns(path, chosen, ReadConfig())
        table = parquet.read_table(path, columns=chosen)
        values = {
            name: table[name].cast(pa.string()).combine_chunks() if name in TEXT_COLUMNS else table[name]
            for name in table.column_names
        }
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise InputRefused("E_PARQUET", f"{path}: not a readable table ({type(error).__name__})") from None
    return Columns(values, lambda row: f"row {row + 1}")


def _read_jsonl(path: Path, required: tuple[str, ...]) -> Columns:
    import pyarrow as pa

    wanted = (*required, *(name for name in OPTIONAL if name not in required))
    lines: list[int] = []
    columns: dict[str, list[Any]] = {name: [] for name in wanted}
    kinds: dict[str, type] = {}
    for number, record in _records(path):
        lines.append(number)
        for name, cells in columns.items():
            value = record.get(name)
            if name in TEXT_COLUMNS and value is not None:
                if not isinstance(value, str | int) or kinds.setdefault(name, type(value)) is not type(value):
                    message = f"{name} is not text, or not of the same type as above"
                    raise InputRefused("E_TYPE", f"{path}, line {number}: {message}")
                value = str(value).lower() if isinstance(value, bool) else str(value)
            elif value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise InputRefused("E_TYPE", f"{path}, line {number}: {name} is not a number")
            cells.append(value)
    used = {
        name: cells
        for name, cells in columns.items()
        if name in required or any(c is not None for c in cells)
    }
    types = {name: pa.string() if name in TEXT_COLUMNS else pa.float64() for name in used}
    values = {name: pa.array(cells, types[name]) for name, cells in used.items()}
    return Columns(values, lambda row: f"line {lines[row]}")


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import msgspec

    decode = msgspec.json.Decoder(dict[str, Any]).decode
    with open(path, "rb") as file:
        lines = iter(partial(file.readline, MAX_LINE + 1), b"")
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_LINE:
                raise InputRefused("E_LINE_SIZE", f"{path}, line {number}: over {MAX_LINE} bytes")
            if not line.strip():
                continue
            try:
                yield number, decode(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
            except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
                raise InputRefused("E_JSON", f"{path}, line {number}: not a JSON object") from None


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
    label, labels = encode_labels(path, columns)
    if not (label >= 0).any():
        raise InputRefused("E_NO_RECORDS", f"{path}: holds no answers")
    encoded: dict[str, tuple[Any, Any]] = {"label": (label, labels)}
    for name in NAMES & columns.values.keys():
        encoded[name] = encode_names(path, columns, name)
    timing: dict[str, Floats] = {
        name: read_numbers(path, columns, name) for name in ("seconds", "at") if name in columns.values
    }
    counted = _select_rows(path, columns, encoded, last_wins)
    codes, code_names = encoded.get("code", (np.zeros(len(counted), np.int32), np.array([""])))
    return {
        str(code_names[number]): _answers(encoded, timing, counted & (codes == number))
        for number in np.argsort(code_names)
        if (counted & (codes == number)).any()
    }


ROUNDED = 0.01
"""How far a task's probabilities may be from a sum of 1, as those rounded for people are."""


def read_model_answers(path: Path, answers: Answers, code: str = "") -> tuple[Answers, Floats]:
    """Read the model's probabilities of one code, shape (tasks, labels), rows of NaN where it has none, and
    the answers with the labels that only the model has: a label without any answer, such as a rare error, may
    still be true.

    The file has columns task, label, probability, and code if `code` is not "". The difference from 1 is
    distributed over the labels that are not in the file; a task whose probabilities sum to more than 1 is
    refused.

    Raises:
        InputRefused: unreadable, not a probability, or a label twice.
    """
    columns = read_columns(path, ("task", "label", "probability", *(("code",) if code else ())))
    codes = columns.values["code"].to_pylist() if code else [""] * len(columns.values["label"])
    labels = [name for name, of in zip(columns.values["label"].to_pylist(), codes, strict=True) if of == code]
    existing = {label_key(name) for name in answers.labels}
    new = {label_key(name): name for name in labels if name is not None and label_key(name) not in existing}
    answers = answers.with_labels(new.values())
    return answers, _probabilities(path, columns, answers, code)


def read_gold(path: Path, tables: Mapping[str, Answers]) -> dict[str, dict[str, str]]:
    """Read the gold label of each task, by code; one code "" where the answers of the `tables` have none.

    The file has columns task, label, and code if they have. Labels are spelled as in the answers.

    Raises:
        InputRefused: unreadable, a cell is empty, or a task is there twice.
    """
    names_of = ("task", *(("code",) if list(tables) != [""] else ()))
    columns, texts = read_columns(path, ("label", *names_of)), []
    for name in names_of:
        place, names = encode_names(path, columns, name)
        texts.append([str(names[one]) for one in place])
    spelled = {code: {label_key(name): name for name in one.labels} for code, one in tables.items()}
    label_places, labels = encode_labels(path, columns)
    gold_labels: dict[str, dict[str, str]] = {}
    for row, (place, task, *code) in enumerate(zip(label_places, *texts, strict=True)):
        if place < 0:
            refuse_row(path, columns, row, "label is missing")
        of_code = code[0] if code else ""
        of = gold_labels.setdefault(of_code, {})
        if task in of:
            refuse_row(path, columns, row, "this task stands here twice")
        of[task] = spelled.get(of_code, {}).get(label_key(labels[place]), labels[place])
    return gold_labels


def gold_indices(answers: Answers, gold_labels: Mapping[str, str]) -> Places:
    """The index of each task's gold label among the labels, -1 where there is none, shape (tasks,)."""
    place = {label: number for number, label in enumerate(answers.labels)}
    return np.array(
        [place[gold_labels[task]] if task in gold_labels else -1 for task in answers.tasks], np.int64
    )


def _probabilities(path: Path, columns: Columns, answers: Answers, code: str) -> Floats:
    names = {name: place for place, name in enumerate(answers.tasks)}
    label_index = {label_key(name): place for place, name in enumerate(answers.labels)}
    probabilities = np.full((len(names), len(label_index)), np.nan)
    values = read_numbers(path, columns, "probability")
    texts = [columns.values[name].to_pylist() for name in ("task", "label")]
    codes = columns.values["code"].to_pylist() if code else [""] * len(values)
    for row, (task, label, of, value) in enumerate(zip(*texts, codes, values, strict=True)):
        if of != code:
            continue
        column = None if label is None else label_index.get(label_key(label))
        if column is None or not 0 <= value <= 1:
            refuse_row(path, columns, row, "expected a known label and a probability from 0 to 1")
        if (place := names.get(task)) is not None:
            if not np.isnan(probabilities[place, column]):
                refuse_row(path, columns, row, "this task and label stand here twice")
            probabilities[place, column] = value
    return _complete(path, probabilities)


def _complete(path: Path, probabilities: Floats) -> Floats:
    has_value = ~np.isnan(probabilities)
    rest = 1.0 - np.nansum(probabilities, axis=1)
    open_labels = (~has_value).sum(axis=1)
    has_model = np.asarray(has_value.any(axis=1))
    if (has_model & ((rest < -ROUNDED) | ((open_labels == 0) & (rest > ROUNDED)))).any():
        raise InputRefused("E_NUMBER", f"{path}: probabilities of a task do not sum to 1")
    filled = np.where(has_value, probabilities, (np.maximum(rest, 0.0) / np.maximum(open_labels, 1))[:, None])
    with np.errstate(invalid="ignore"):
        return np.where(has_model[:, None], filled / filled.sum(axis=1, keepdims=True), np.nan)


def _answers(
    encoded: dict[str, tuple[Any, Any]], timing: dict[str, Floats], chosen: NDArray[np.bool_]
) -> Answers:
    tasks, task = _reindex(*encoded["task"], chosen)
    labels, label = _reindex(*encoded["label"], chosen)
    order = np.argsort(labels)
    label = np.argsort(order)[label].astype(np.int32)
    worker, workers = encoded["worker"]
    optional = {name: values[chosen] for name, values in timing.items()}
    return Answers(
        task, worker[chosen], label, tuple(tasks), tuple(workers), tuple(labels[order]), **optional
    )


def _reindex(index: Any, names: Any, chosen: NDArray[np.bool_]) -> tuple[Any, Any]:
    used, place = np.unique(index[chosen], return_inverse=True)
    return names[used], place.astype(np.int32)


def _select_rows(
    path: Path, columns: Columns, encoded: Mapping[str, tuple[Any, Any]], last_wins: bool
) -> NDArray[np.bool_]:
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
        message = "this worker answered this task before; --last-wins takes the later answer"
        refuse_row(path, columns, row, message)
    counted[order[again]] = False
    return counted
