"""Reads logs inside of zip archives and Excel workbooks.

The members of an archive whose endings are those of logs are read in order; others, such as pictures, are
left out. Refused are names that lead out of the archive, links, encrypted members, archives within archives
and whatever expands beyond `MAX_RATIO` or `MAX_BYTES`. Of a workbook the one sheet with rows is read as a CSV
table; a formula without a stored value is refused. Nothing is unpacked to a file with a name.
"""

from __future__ import annotations

import csv
import io
import lzma
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from errno import EINVAL
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

from dialint.detector.artifacts import MANIFEST
from dialint.detector.errors import InputRefused, Message
from dialint.detector.ingest.outcomes import file_error

LOGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".txt", ".vtt", ".srt", ".xlsx", ".zip")
"""Endings of logs, which may be followed by one of compression."""
BESIDE = (".rejects.jsonl", ".state", f".{MANIFEST}")
"""Endings of what a job writes beside its output."""
_NO_LOG = re.compile(
    r"(?:read[-_ ]?me|licen[cs]e|notice|change(?:s|log)|about)\b.*|"
    r"(?:users|channels|groups|dms|mpims|canvases|lists|integration_logs|file_conversations|org_users)\.json"
)
"""Names of files with the ending of a log that explain an export, or list the people and channels of one."""
ZIP, EMPTY_ZIP = b"PK\x03\x04", b"PK\x05\x06"
MAX_MEMBERS = 200
MAX_BYTES, MAX_WORKBOOK_BYTES = 4_000_000_000, 300_000_000
"""Bytes that an archive, and a workbook, whose texts are held in memory, may expand to."""
MAX_RATIO, RATIO_FROM_BYTES = 200, 1 << 20
_FORMULA = re.compile(rb"<(?:\w{1,20}:)?f[\s/>]")
_MERGED = re.compile(rb'<(?:\w{1,20}:)?mergeCell\s+ref="([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})"')
MAX_COLUMNS, MAX_ROWS = 1_000, 1 << 20

Write = Callable[[IO[bytes]], None]


def is_log(name: str) -> bool:
    """Returns whether a file of this name may be a log."""
    bare = re.sub(r"\.(?:gz|zst)$", "", PurePosixPath(name).name.lower())
    return bare.endswith(LOGS) and not (is_beside(name) or _NO_LOG.fullmatch(bare))


def is_beside(name: str) -> bool:
    """Returns whether a file is hidden, or one that a job writes beside its output."""
    parts = re.split(r"[/\\]", name)
    return (
        parts[-1] == MANIFEST
        or name.endswith(BESIDE)
        or parts[0] == "__MACOSX"
        or any(part.startswith(".") for part in parts)
    )


def archive_kind(file: IO[bytes]) -> Literal["zip", "xlsx"] | None:
    """The kind of archive that a file is; None if it is none."""
    start = file.read(len(ZIP))
    if start == EMPTY_ZIP:
        return "zip"
    if start != ZIP:
        return None
    try:
        names = zipfile.ZipFile(file).NameToInfo
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return "zip"
    is_workbook = "[Content_Types].xml" in names and any(name.startswith("xl/") for name in names)
    return "xlsx" if is_workbook else "zip"


def open_archive(
    name: str, path: Path, kind: Literal["zip", "xlsx"], left_out: list[str]
) -> Iterator[tuple[str, Write]]:
    """Yields the name of each log in an archive, and a function that writes it to a file. The names of other
    members are added to `left_out`.

    Raises:
        InputRefused: E_FORMAT, E_EXPANSION or E_ARCHIVE; so does the function.
    """
    with zip_errors(_damage(name)), zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if not info.is_dir()]
        size = sum(info.file_size for info in members)  # no member gives more bytes than it states
        most = MAX_WORKBOOK_BYTES if kind == "xlsx" else MAX_BYTES
        if size > min(most, max(RATIO_FROM_BYTES, MAX_RATIO * path.stat().st_size)):
            raise file_error("E_EXPANSION", name, "expands to {n} bytes", n=size)
        if kind == "zip" and len(members) > MAX_MEMBERS:
            problem = Message("over {n} files; unpack it and name the folder", n=MAX_MEMBERS)
            raise file_error("E_ARCHIVE", name, problem)
        if kind == "xlsx":
            yield name, partial(_write_sheet, name, path, left_out)
            return
        if min((info.header_offset for info in archive.infolist()), default=0):
            problem = Message(
                "it begins with files that its directory does not list, as if archives were joined"
            )
            raise file_error("E_ARCHIVE", name, problem)
        logs = [info for info in members if _check_member(name, info)]
        if not logs:
            raise file_error("E_FORMAT", name, "a zip file without logs")
        left_out += [info.filename for info in members if info not in logs and not is_beside(info.filename)]
        if len({info.filename for info in logs}) < len(logs):
            raise file_error("E_ARCHIVE", name, "a name stands twice in it")
        for info in sorted(logs, key=lambda info: info.filename):
            yield f"{name}/{info.filename}", partial(_copy_member, name, archive, info)


@contextmanager
def zip_errors(refusal: Exception) -> Iterator[None]:
    """Turns what `zipfile` and its decompressors raise into `refusal`, but no error of the disk."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, RuntimeError, IndexError):
        raise refusal from None
    except OSError as error:
        if error.errno not in (None, EINVAL):  # bz2's are without a number; EINVAL: a place before the file
            raise
        raise refusal from None


def _damage(name: str) -> InputRefused:
    return file_error("E_ARCHIVE", name, "the zip data are damaged, or of a kind that is not read")


def _check_member(name: str, info: zipfile.ZipInfo) -> bool:
    """Returns whether a member is a log; refuses unsafe ones of any kind."""
    parts = re.split(r"[/\\]", info.filename)
    is_link = stat.S_ISLNK(info.external_attr >> 16)
    if is_link or ".." in parts or parts[0] == "" or re.match(r"[A-Za-z]:", info.filename):
        raise file_error("E_ARCHIVE", name, "it holds a link or a name that leads out of it")
    if not is_log(info.filename):
        return False
    if info.flag_bits & 1:
        raise file_error("E_ARCHIVE", name, "it is encrypted")
    if info.filename.lower().endswith((".zip", ".xlsx")):
        raise file_error("E_ARCHIVE", name, "it holds another archive; unpack it and name the folder")
    return True


def _copy_member(name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: IO[bytes]) -> None:
    with zip_errors(_damage(name)), archive.open(info) as member:
        shutil.copyfileobj(member, file, 1 << 20)


def _write_sheet(name: str, path: Path, left_out: list[str], file: IO[bytes]) -> None:
    """Write the one visible sheet with rows as CSV. The titles of hidden ones are added to `left_out`.

    Raises:
        InputRefused: E_FORMAT, there is none, or several; E_CELL, a formula without a value; E_ARCHIVE,
            damage.
    """
    from openpyxl import load_workbook
    from openpyxl.utils import get_column_letter

    stream = open(path, "rb")  # noqa: SIM115  the library closes no file that it cannot read
    try:
        book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        hidden, sheets = list[Any](), list[Any]()
        for sheet in filter(_has_rows, book.worksheets):
            (sheets if sheet.sheet_state == "visible" else hidden).append(sheet)
        left_out += [repr(sheet.title) for sheet in hidden]
        if len(sheets) != 1:
            names = ", ".join(repr(sheet.title) for sheet in sheets) or "-"
            problem = Message("{n} sheets with rows: {names}; leave one of them", n=len(sheets), names=names)
            raise file_error("E_FORMAT", name, problem)
        formulas = _formulas(path, stream, sheets[0].title)
        merged = _merged_cells(path, sheets[0])
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        n_blank = width = 0
        above: dict[int, tuple[int, str]] = {}  # of merged cells the last row and the value, by column
        for number, row in enumerate(_rows(sheets[0], MAX_ROWS), 1):
            for column, formula in enumerate(next(formulas, ()), 1):
                if formula is not None and (column > len(row) or row[column - 1] is None):
                    raise file_error(
                        "E_CELL", name,
                        "sheet {sheet!r}, cell {cell}: a formula without a stored value; open the workbook "
                        "in Excel or LibreOffice and save it",
                        sheet=sheets[0].title, cell=f"{get_column_letter(column)}{number}",
                    )  # fmt: skip
            cells = list(map(_cell, row[:MAX_COLUMNS]))
            for column, last in merged.get(number, ()) if width else ():  # below the header
                above[column] = last, cells[column] if column < len(cells) else ""
            if any(cell.strip() for cell in cells):
                cells += [""] * (max(above, default=-1) + 1 - len(cells))
                for column, (last, value) in above.items():
                    cells[column] = value if number <= last else cells[column]
            while cells and not cells[-1].strip():
                cells.pop()
            if not cells:
                n_blank += 1
                continue
            width = width or len(cells)  # the header's
            cells += [""] * (width - len(cells))
            text.write("\n" * n_blank)  # so that lines are rows
            n_blank = 0
            writer.writerow(cells)
        text.flush()
        text.detach()
        book.close()
    except (OSError, InputRefused):
        raise
    except Exception:  # noqa: BLE001  whatever the library makes of a damaged workbook
        problem = Message("the workbook is damaged, or of a kind that is not read")
        raise file_error("E_ARCHIVE", name, problem) from None
    finally:
        stream.close()


def _formulas(path: Path, stream: IO[bytes], title: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a sheet with formulas in place of their values; none if the workbook has no formula."""
    from openpyxl import load_workbook

    with zipfile.ZipFile(path) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        if not any(_FORMULA.search(archive.read(name)) for name in sheets):
            return iter(())
    return _rows(load_workbook(stream, read_only=True, keep_links=False)[title], MAX_ROWS)


def _merged_cells(path: Path, sheet: Any) -> dict[int, list[tuple[int, int]]]:
    """The cells of a sheet that are merged downwards: column, from 0, and last row, by their first row."""
    from openpyxl.utils import column_index_from_string

    merged: dict[int, list[tuple[int, int]]] = {}
    with zipfile.ZipFile(path) as archive:
        for column, first, last in _MERGED.findall(archive.read(sheet._worksheet_path)):
            at = column_index_from_string(column.decode()) - 1
            if int(first) < int(last) and at < MAX_COLUMNS:
                merged.setdefault(int(first), []).append((at, int(last)))
    return merged


def _has_rows(sheet: Any) -> bool:
    return any(value is not None for row in _rows(sheet, 2) for value in row)


def _rows(sheet: Any, most: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a sheet, each as long as its own cells, whatever size the sheet states: one cell in the
    last corner would fill all rows to that width."""
    sheet.reset_dimensions()
    yield from sheet.iter_rows(values_only=True, max_row=most)


def _cell(value: object) -> str:
    """The text of a cell: times as ISO 8601, whole numbers without a point."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return "" if value is None else str(value)
