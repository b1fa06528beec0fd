"""Gold from a file: whether single errors are in single turns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dialint.labeling.store.gold_files import read_gold_file

Gold = Mapping[tuple[str, int, str], bool]
"""By dialogue, turn and code: whether the error is there."""


def read_gold(path: Path) -> dict[tuple[str, int, str], bool]:
    """The gold of a file in the format of `dialint label gold import`.

    Raises:
        InputRefused: no such file, or a bad or contradictory row, with its line.
    """
    return {(one.dialogue, one.turn, one.code): one.present for one in read_gold_file(path)}
