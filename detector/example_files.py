"""Files of records as JSON lines: above all of labelled examples, which labeling writes and training and
evaluation read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from dialint.detector.artifacts import atomic_file, file_entry
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.records import Example, Record

Kind = TypeVar("Kind", bound=Record)

ENDING = ".jsonl"


def find_set(folder: Path, name: str) -> Path | None:
    """Return the file of the set of that name in a folder of examples, if there is one."""
    path = folder / f"{name}{ENDING}"
    return path if path.is_file() else None


def require_set(folder: Path, name: str) -> Path:
    """Return the file of the set of that name.

    Raises:
        ConfigError: there is none.
    """
    path = find_set(folder, name)
    if path is None:
        if not folder.is_dir():
            makers = "`dialint data written`, `dialint data inject` or `dialint export dataset` makes one"
            raise ConfigError("E_EXAMPLE", f"{folder}: there is no such folder; {makers}")
        names = ", ".join(list_sets(folder)) or "none"
        raise ConfigError("E_EXAMPLE", f"{folder}: holds no set {name} ({ENDING}); its sets: {names}")
    return path


def list_sets(folder: Path) -> list[str]:
    """Return the sets of examples in a folder, by name."""
    files = (path for path in folder.iterdir() if path.suffix == ENDING and path.is_file())
    return sorted({path.stem for path in files if not path.name.startswith(".")})


def read_examples(path: Path) -> Iterator[Example]:
    """Yield every example of a file, in order.

    Raises:
        InputRefused: the file cannot be read or has other content.
    """
    return read_records(path, Example, "E_EXAMPLE")


def read_records(path: Path, kind: type[Kind], code: str) -> Iterator[Kind]:
    """Yield every record of a JSONL file, without blank lines.

    Raises:
        InputRefused: the file cannot be read or has other content; the error has `code`.
    """
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    yield kind.model_validate_json(line)
                except ValidationError as error:
                    problem = error.errors(include_url=False, include_input=False)[0]["msg"]
                    what = f"no valid {kind.__name__.lower()} ({problem})"
                    raise InputRefused(code, f"{path}, line {number}: {what}") from None
    except OSError as error:
        raise InputRefused(code, f"{path}: {error.strerror}") from None


def to_line(record: Record) -> bytes:
    """Return a record as a JSON line, without the fields that have their defaults."""
    return record.model_dump_json(exclude_defaults=True).encode() + b"\n"


def write_lines(path: Path, lines: Iterable[bytes]) -> dict[str, Any]:
    """Write lines to a file; return its entry in a manifest, with the number of lines."""
    rows = 0
    with atomic_file(path) as file:
        for line in lines:
            file.write(line)
            rows += 1
    return file_entry(path, rows)
