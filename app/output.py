"""What a command says on standard output: a line or a table at a time, whatever is in a name."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence

_ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal does something about instead of showing it; line ends and tabs are ours."""


def escape_controls(text: str) -> str:
    """`text` with control characters and marks of direction written out."""
    return _ACTIVE.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)


def print_line(line: str) -> None:
    """Write a line, seen at once also where standard output is a pipe."""
    sys.stdout.write(f"{escape_controls(line)}\n")
    sys.stdout.flush()


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*headings, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(escape_controls, row))
    Console(highlight=False, markup=False, emoji=False).print(table)
