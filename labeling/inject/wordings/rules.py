"""What a rewriting rule is: a pattern and what it becomes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """`pattern` is a regular expression, case ignored; `becomes` are templates of which one is taken."""

    pattern: str
    becomes: tuple[str, ...]
