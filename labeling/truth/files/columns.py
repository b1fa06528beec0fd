"""The columns of a table in a file, whatever its form: CSV, Parquet or JSONL.

Names stay text as they stand in the file; a bad row refuses the file, with the line. Knows nothing of what
the columns mean.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.framing.parquet import check_parquet_columns
from dialint.labeling.truth.answers import Floats

TEXTS = ("task", "worker", "label", "code")
NUMBERS = ("seconds", "at", "probability")
OPTIONAL = ("code", "seconds", "at")
MAX_NAME = 256
"""Bytes of a name, at most."""
MAX_LINE = 1 << 20
"""Bytes of a line of JSONL, at most."""


@dataclass(frozen=True)
class Columns:
    """The file's columns as Arrow arrays, and how to name the place of a row in a message."""

    values: dict[str, Any]
    place: Callable[[int], str]


def read_columns(path: Path, required: tuple[str, ...]) -> Columns:
    """The `required` columns of a file, and those of `OPTIONAL` that it has.

    Raises:
        InputRefused: no such file, not a table, or a required column is missing.
    """
    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".jsonl": _read_jsonl}
    if path.suffix not in readers:
        raise InputRefused("E_FORMAT", f"{path}: expected a file ending in {', '.join(readers)}")
    if not path.is_file():
        raise InputRefused("E_PATH", f"{path}: no such file")
    return readers[path.suffix](path, required)


def encoded_names(path: Path, columns: Columns, name: str) -> tuple[Any, Any]:
    """A text column as indices, shape (rows,), and names, names in order of appearance.

    Raises:
        InputRefused: a cell is empty or too long.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = columns.values[name]
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    size = pc.binary_length(column)
    bad = pc.fill_null(pc.or_(pc.equal(size, 0), pc.greater(size, MAX_NAME)), True)
    if (row := pc.index(bad, True).as_py()) >= 0:
        refuse(path, columns, row, f"{name} is missing, empty or over {MAX_NAME} bytes")
    encoded = column.dictionary_encode()
    names = np.array(encoded.dictionary.to_pylist(), object)
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32), names


def numbers(path: Path, columns: Columns, name: str) -> Floats:
    """A column of numbers, shape (rows,), NaN where it is empty.

    Raises:
        InputRefused: a cell is not a number.
    """
    import pyarrow as pa

    column = columns.values[name]
    try:
        cast = column.cast(pa.float64())
    except pa.ArrowInvalid:
        row = next(row for row, cell in enumerate(column.to_pylist()) if not _is_number(cell))
        refuse(path, columns, row, f"{name} is not a number")
    return np.asarray(cast.to_numpy(zero_copy_only=False) if isinstance(cast, pa.Array) else cast, float)


def _wanted(required: tuple[str, ...]) -> tuple[str, ...]:
    return (*required, *(name for name in OPTIONAL if name not in required))


def _is_number(cell: Any) -> bool:
    return cell is None or re.fullmatch(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?", str(cell)) is not None


def refuse(path: Path, columns: Columns, row: int, message: str) -> NoReturn:
    """Refuse the file for what stands in data row `row`, from 0.

    Raises:
        InputRefused: always.
    """
    raise InputRefused("E_LABEL", f"{path}, {columns.place(row)}: {message}")


def _read_csv(path: Path, required: tuple[str, ...]) -> Columns:
    import pyarrow as pa
    from pyarrow import csv as arrow

    wanted = _wanted(required)
    kinds = {name: pa.string() for name in wanted}
    parse = arrow.ParseOptions(newlines_in_values=True)
    convert = arrow.ConvertOptions(
        column_types=kinds,
        include_columns=_header(path, required, wanted),
        strings_can_be_null=True,
        null_values=[""],
    )
    try:
        table = arrow.read_csv(path, parse_options=parse, convert_options=convert)
    except (pa.ArrowInvalid, OSError):
        raise InputRefused("E_CSV", f"{path}, {_ragged(path)}") from None
    return Columns(_arrays(table), lambda row: f"line {_csv_line(path, row)}")


def _arrays(table: Any) -> dict[str, Any]:
    return {name: table[name].combine_chunks() for name in table.column_names}


def _header(path: Path, required: tuple[str, ...], wanted: tuple[str, ...]) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file), [])
    except (UnicodeDecodeError, csv.Error):
        raise InputRefused("E_CSV", f"{path}, line 1: not a header in UTF-8") from None
    return _present(path, names, required, wanted)


def _present(path: Path, names: list[str], required: tuple[str, ...], wanted: tuple[str, ...]) -> list[str]:
    if missing := [name for name in required if name not in names]:
        raise InputRefused(
            "E_COLUMNS", f"{path}: no column {', '.join(missing)}; expected {', '.join(required)}"
        )
    if len(set(names)) < len(names):
        raise InputRefused("E_COLUMNS", f"{path}: a column name stands there twice")
    return [name for name in names if name in wanted]


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        for row in reader:
            if row:
                yield reader.line_num, row


def _csv_line(path: Path, row: int) -> int:
    """The line on which data row `row`, from 0, ends."""
    return next(line for number, (line, _) in enumerate(_csv_rows(path), -1) if number == row)


def _ragged(path: Path) -> str:
    width = 0
    try:
        for line, row in _csv_rows(path):
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

    wanted = _wanted(required)
    try:
        names = parquet.read_schema(path).names
        chosen = _present(path, names, required, wanted)
        check_parquet_columns(path, chosen, ReadConfig())
        table = parquet.read_table(path, columns=chosen)
        values = {
            name: table[name].cast(pa.string()).combine_chunks() if name in TEXTS else table[name]
            for name in table.column_names
        }
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise InputRefused("E_PARQUET", f"{path}: not a readable table ({type(error).__name__})") from None
    return Columns(values, lambda row: f"row {row + 1}")


def _read_jsonl(path: Path, required: tuple[str, ...]) -> Columns:
    import pyarrow as pa

    wanted = _wanted(required)
    lines: list[int] = []
    found: dict[str, list[Any]] = {name: [] for name in wanted}
    kinds: dict[str, type] = {}
    for number, record in _records(path):
        lines.append(number)
        for name, cells in found.items():
            value = record.get(name)
            if name in TEXTS and value is not None:
                if not isinstance(value, str | int) or kinds.setdefault(name, type(value)) is not type(value):
                    message = f"{name} is not text, or not of the same type as above"
                    raise InputRefused("E_TYPE", f"{path}, line {number}: {message}")
                value = str(value).lower() if isinstance(value, bool) else str(value)
            elif value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise InputRefused("E_TYPE", f"{path}, line {number}: {name} is not a number")
            cells.append(value)
    used = {
        name: cells for name, cells in found.items() if name in required or any(c is not None for c in cells)
    }
    types = {name: pa.string() if name in TEXTS else pa.float64() for name in used}
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
