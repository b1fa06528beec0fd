"""What commands print: lines and tables on standard output, status messages on standard error."""

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
"""Characters that a terminal obeys instead of showing them, except line ends and tabs."""


PIPE_WIDTH = 100
"""Columns of a table where neither a terminal nor $COLUMNS says how wide it is."""
ERROR_FILE_VARIABLE = "DIALINT_ERROR_FILE"
"""Environment: where a command that ends with an error also leaves it as JSON, its code and its message with
the values, for a program that started the command and shows it in another language."""


def escape_controls(text: str) -> str:
    """`text` with control characters and direction marks written as escapes."""
    return _CONTROLS.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def print_line(line: str) -> None:
    """Print a line and flush, so that it is visible at once in a pipe too."""
    sys.stdout.write(f"{escape_controls(line)}\n")
    sys.stdout.flush()


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Print a table, coloured on a terminal only, no line with blanks at its end; a `Text` is one of ours."""
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
    sys.stderr.write(f"dialint: {line}\n")


def print_error(error: DialintError) -> None:
    """Print an error on standard error, and leave it in the file that `ERROR_FILE_VARIABLE` names."""
    print(f"dialint: {error}", file=sys.stderr)
    if path := os.environ.get(ERROR_FILE_VARIABLE):
        from dialint.detector.artifacts import write_json

        with suppress(WorldError):  # the disk is full: the line above must do
            write_json(Path(path), {"code": error.code, "message": error.text.as_json()})


def print_rich(renderable: RenderableType, *, to_stderr: bool) -> None:
    """Print a rich object; nothing in it is read as markup."""
    from rich.console import Console

    Console(stderr=to_stderr, markup=False, highlight=False, soft_wrap=True).print(renderable)
