"""Unpacks the corpus of written dialogues that ships with dialint; `written/README.md` describes its making.

dialint data written --out build/written
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import zstandard
from cyclopts import Parameter

from dialint.detector.artifacts import (
    MANIFEST,
    atomic_file,
    disk_errors,
    filling_folder,
    read_manifest,
    verify_files,
)

WRITTEN = Path(__file__).with_name("written")
"""The packed sets, and the manifest of the unpacked ones."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WrittenConfig:
    """Options of writing the corpus."""

    out: Path
    """Folder for the sets train, dev, calibration and test; must not hold a finished one."""


def written(config: WrittenConfig) -> None:
    """Unpack the dialogues with errors that were written for dialint, as examples to train and measure on.

    Raises:
        OutputRefused: the folder holds a finished set, or the installed corpus is damaged.
    """
    with filling_folder(config.out, "examples"), disk_errors(config.out):
        for packed in sorted(WRITTEN.glob("*.zst")):
            with open(packed, "rb") as source, atomic_file(config.out / packed.stem) as file:
                zstandard.ZstdDecompressor().copy_stream(source, file)
        verify_files(config.out, read_manifest(WRITTEN / MANIFEST)["files"])
        with atomic_file(config.out / MANIFEST) as file:
            file.write((WRITTEN / MANIFEST).read_bytes())
