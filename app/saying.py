"""What a command says on standard output, a line at a time."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Write a line, seen at once also where standard output is a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
