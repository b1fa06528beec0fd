"""Writes reports on labelers as files: complete or not at all, with a checksum like a manifest.

The figures of a report, and how they are rendered for a terminal or a page, belong to its stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import (
    atomic_file,
    disk_errors,
    file_entry,
    make_output_folder,
    package_versions,
    write_manifest,
)

Report = dict[str, Any]


def make_report(
    kind: str,
    config: Mapping[str, Any],
    figures: Callable[[], Mapping[str, Any]],
    *,
    inputs: Iterable[Path | None] = (),
    libraries: Iterable[str] = (),
) -> Report:
    """The result of `figures`, together with the config, versions, inputs and seconds that it took. Paths,
    those in `config` too, are reduced to their names."""
    started = time.monotonic()
    return {
        "kind": kind,
        "config": {name: value.name if isinstance(value, Path) else value for name, value in config.items()},
        "versions": package_versions("dialint", *libraries),
        "inputs": [file_entry(path) for path in inputs if path is not None],
        **figures(),
        "seconds": round(time.monotonic() - started, 1),
    }


def write_report(report: Report, path: Path | None, page: str | None = None) -> None:
    """Write a report as JSON, or its `page` instead; nothing if `path` is none.

    Raises:
        WorldError: the disk is full or failed.
    """
    if path is None:
        return
    with disk_errors(path):
        make_output_folder(path.parent)
    if page is None:
        write_manifest(path, report)
        return
    with atomic_file(path) as file:
        file.write(page.encode())
