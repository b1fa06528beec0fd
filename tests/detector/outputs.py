"""Finished outputs of `dialint score`, made without scoring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.records import Verdict
from dialint.detector.verdict_files import FileFormat, convert_verdicts, manifest_path, verdict_line


def finished(
    folder: Path, verdicts: Sequence[Verdict], file_format: FileFormat = "jsonl", **more: Any
) -> Path:
    """The file of `verdicts` in `folder`, beside it its manifest, which holds `more`, too."""
    out = folder / f"verdicts.{file_format}"
    with open(out, "wb") as file:
        convert_verdicts(map(verdict_line, verdicts), file, file_format)
    manifest = {"kind": "verdicts", "format": file_format, "files": [file_entry(out)], **more}
    write_manifest(manifest_path(out), manifest)
    return out
