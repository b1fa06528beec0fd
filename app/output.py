"""The output of commands: lines and tables on standard output, status messages on standard error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dialint.detector.errors import DialintError, WorldError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters and direction marks, except line ends and tabs."""


PIPE_WIDTH = 100
"""Width of a table, in columns, if neither a terminal nor $COLUMNS sets it."""
ERROR_FILE_VARIABLE = "DIALINT_ERROR_FILE"
"""Environment variable with the path of a file to which a command that fails also writes its error as JSON
(code, message template and values), for a program that started the command and translates it."""


def escape_controls(text: str) -> str:
    """Returns `text` with control characters and direction marks written as escapes."""
    return _CONTROLS.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def print_line(line: str) -> None:
    """Prints a line and flushes standard output, which may be a pipe."""
    sys.stdout.write(f"{escape_controls(line)}\n")
    sys.stdout.flush()


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Prints a table, coloured on terminals only, without trailing blanks. Escapes cells of type `str`."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*headings, show_header=bool(headings), box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*(escape_controls(cell) if isinstance(cell, str) else cell for cell in row))
    for column in table.columns:
        column.overflow = "fold"
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    with console.capture() as capture:
        console.print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def print_status(line: str) -> None:
    """Prints a line on standard error; names of files in it may hold line ends and commands of terminals and
    of CI."""
    line = escape_controls(line).replace("\n", "\\n")
    sys.stderr.write(f"dialint: {line}\n")


def print_error(error: DialintError) -> None:
    """Prints an error on standard error, and writes it to the file named by `ERROR_FILE_VARIABLE`, if any."""
    print_status(str(error))
    if path := os.environ.get(ERROR_FILE_VARIABLE):
        from dialint.detector.artifacts import write_json

        with suppress(WorldError):  # the disk is full: the line above is enough
            write_json(Path(path), {"code": error.code, "message": error.text.as_json()})


def print_rich(renderable: RenderableType, *, to_stderr: bool) -> None:
    """Prints a rich object without interpreting markup."""
    from rich.console import Console

    Console(stderr=to_stderr, markup=False, highlight=False, soft_wrap=True).print(renderable)
