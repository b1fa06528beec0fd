"""What a command says on standard output: a line or a table at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence


def say(line: str) -> None:
    """Write a line, seen at once also where standard output is a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def say_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*headings, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False).print(table)
