"""A taxonomy of three codes that exclude one another, for tests of everything that takes one."""

from __future__ import annotations

import shutil
from pathlib import Path

CODES = ("K1", "K2", "K3")


def write_taxonomy(folder: Path) -> Path:
    """The taxonomy's file in `folder`."""
    return Path(shutil.copyfile(Path(__file__).with_suffix(".yaml"), folder / "own.yaml"))
