"""The outcome of each record of a log, loaded or rejected with a reason, and their counts.

A file that cannot be read at all raises `dialint.detector.errors.InputRefused`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dialint.detector.errors import InputRefused, TooManyBad
from dialint.detector.records import Dialogue


class Loaded(msgspec.Struct, frozen=True, gc=False):
    """A valid dialogue with its source: file as named by the user, line (or record number) from 1."""

    dialogue: Dialogue
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Reject:
    """A rejected record: its position, the value found and the value expected.

    `byte_offset` is in the decompressed file, 0 for Parquet. `path` is the JSON path of the field. `found` is
    masked, at most 20 characters.
    """

    file: str
    line: int
    byte_offset: int
    path: str
    code: str
    found: str
    expected: str
    dialogue_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The record as one object of the rejects file."""
        return {name: getattr(self, name) for name in self.__slots__}


class BadRecord(Exception):
    """A record that cannot be used, and why; its file and line are added by `reject`. `found` is a
    description or an `excerpt` of the value."""

    def __init__(
        self, code: str, path: str, found: str, expected: str, dialogue_id: str | None = None
    ) -> None:
        super().__init__(code)
        self.code = code
        self.path = path
        self.found = found
        self.expected = expected
        self.dialogue_id = dialogue_id

    def reject(self, file: str, line: int, offset: int) -> Reject:
        """This fault as a reject of `file`."""
        return Reject(file, line, offset, self.path, self.code, self.found, self.expected, self.dialogue_id)


def line_too_long(n_bytes: int, max_bytes: int) -> BadRecord:
    """The fault of a record with more bytes than a line may have."""
    return BadRecord("E_LINE_SIZE", "", f"{n_bytes} bytes", f"at most {max_bytes} bytes; one record a line")


def record_too_large(n_bytes: int, max_bytes: int, dialogue_id: str | None = None) -> BadRecord:
    """The fault of a dialogue, or a row of it, that has more bytes than a record may have."""
    found = f"over {n_bytes} bytes" if n_bytes else "too much"
    return BadRecord("E_RECORD_SIZE", "", found, f"at most {max_bytes} bytes in one dialogue", dialogue_id)


@dataclass
class Counts:
    """Running totals of a job. `read` counts every record: loaded, rejected and skipped. `facts` lists what
    is unusual about each file: its encoding, its delimiter, the order of its dates."""

    read: int = 0
    rejected: int = 0
    duplicates: int = 0
    bytes_read: int = 0
    warnings: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    facts: dict[str, list[str]] = field(default_factory=dict)

    def check_share(self, max_bad: float) -> None:
        """Raises:
        TooManyBad: the rejected share of what was read is over `max_bad`.
        """
        if self.rejected > max_bad * self.read:
            causes = ", ".join(f"{count} x {code}" for code, count in self.codes.most_common(4))
            raise TooManyBad(
                "E_TOO_MANY_BAD",
                f"{self.rejected} of {self.read} records are bad ({causes}); {max_bad:.1%} are allowed",
            )


def preview_hint(file: str) -> str:
    """The command to try on a log of unknown shape."""
    return f"try: dialint ingest preview {shlex.quote(file)}"


def file_error(code: str, file: str, message: str) -> InputRefused:
    """The exception for a file that cannot be read; the message begins with its name."""
    return InputRefused(code, f"{file}: {message}")
