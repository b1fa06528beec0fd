"""Reports on what people said, as files: never over another one, whole or not there, sealed like a manifest.

What stands in a report, and how it looks on a screen or a page, is its stage's care.
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
    """What `figures` finds, under what it was made of, with what, and in how many seconds. Of paths, in
    `config` too, only the names are told."""
    started = time.monotonic()
    return {
        "kind": kind,
        "config": {name: _path_name(value) for name, value in config.items()},
        "versions": package_versions("dialint", *libraries),
        "inputs": [file_entry(path) for path in inputs if path is not None],
        **figures(),
        "seconds": round(time.monotonic() - started, 1),
    }


def _path_name(value: Any) -> Any:
    return value.name if isinstance(value, Path) else value


def write_report(report: Report, path: Path | None, page: str | None = None) -> None:
    """Write a report as JSON, or the `page` that shows it; nothing where no path is named.

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
