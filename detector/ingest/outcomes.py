"""The outcome of each record of a log, loaded or rejected with a reason, and their counts.

A file that cannot be read at all raises `dialint.detector.errors.InputRefused`.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from pydantic import ValidationError

from dialint.detector.errors import InputRefused, Message, TooManyBad
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
    masked, at most 20 characters; of an unknown speaker it is the word that has to be mapped.
    """

    file: str
    line: int
    byte_offset: int
    path: str
    code: str
    found: Message
    expected: Message
    dialogue_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Returns the record as one object of the rejects file."""
        return {name: getattr(self, name) for name in self.__slots__}

    def as_example(self, problem: Message, line: object) -> Message:
        """Extends `problem` by this reject, at `line`, as its example."""
        return Message(
            "{problem}, as at line {line}, {path}: {found}; expected {expected}",
            problem=problem, line=line, path=self.path or Message("record"),
            found=self.found, expected=self.expected,
        )  # fmt: skip


class BadRecord(Exception):
    """A record that cannot be used, and the reason; `reject` adds its file and line. `found` is a description
    or an `excerpt` of the value, `expected` a description. A description with values is a `Message`."""

    def __init__(
        self, code: str, path: str, found: str, expected: str, dialogue_id: str | None = None
    ) -> None:
        super().__init__(code)
        self.code = code
        self.path = path
        self.found = Message(found)
        self.expected = Message(expected)
        self.dialogue_id = dialogue_id

    def reject(self, file: str, line: int, offset: int) -> Reject:
        """Returns this fault as a reject of `file`."""
        return Reject(file, line, offset, self.path, self.code, self.found, self.expected, self.dialogue_id)


READING_ERRORS = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, msgspec.MsgspecError,
)  # fmt: skip
"""Exceptions that a format's code may raise over an unexpected value."""


@contextmanager
def record_boundary() -> Iterator[None]:
    """Wraps every format's code: one bad value costs its record, and never ends a job.

    Raises:
        BadRecord: E_SURROGATE or E_TYPE for a value that no text or record can hold; E_RECORD, the code
            raised another of `READING_ERRORS`, which is a defect of the format.
    """
    try:
        yield
    except UnicodeEncodeError:
        raise BadRecord("E_SURROGATE", "", "half a surrogate pair", "whole characters") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(map(str, first["loc"]))
        raise BadRecord("E_TYPE", path, json_kind(first["input"]), Message("another value")) from None
    except READING_ERRORS as error:
        expected = Message("values that the reader of this format can use")
        raise BadRecord("E_RECORD", "", type(error).__name__, expected) from error


def line_too_long(n_bytes: int, max_bytes: int) -> BadRecord:
    """Makes the fault of a record with more bytes than a line may have."""
    found = Message("{n} bytes", n=n_bytes)
    return BadRecord("E_LINE_SIZE", "", found, Message("at most {n} bytes; one record a line", n=max_bytes))


def record_too_large(n_bytes: int, max_bytes: int, dialogue_id: str | None = None) -> BadRecord:
    """Makes the fault of a dialogue, or a row of it, with more bytes than a record may have."""
    found = Message("over {n} bytes", n=n_bytes)
    expected = Message("at most {n} bytes in one dialogue", n=max_bytes)
    return BadRecord("E_RECORD_SIZE", "", found, expected, dialogue_id)


def too_many_turns(n: int, max_turns: int, path: str) -> BadRecord:
    """Makes the fault of a dialogue with too many turns."""
    return BadRecord("E_TURNS", path, str(n), Message("at most {n} turns", n=max_turns))


def json_kind(value: object) -> str:
    """The name of a JSON type, for messages; of any other type, as in Parquet, its name in Python."""
    words = {
        dict: Message("an object"), list: Message("a list"), str: Message("a text"),
        bool: Message("a boolean"), type(None): Message("nothing"), int: Message("a number"),
        float: Message("a number"),
    }  # fmt: skip
    return words.get(type(value), type(value).__name__)


@dataclass
class Counts:
    """Running totals of a job. `read` counts every record: loaded, rejected and skipped. `facts` lists what
    is unusual about each file: its encoding, its delimiter, the order of its dates. `first` is the first
    reject of this run."""

    read: int = 0
    rejected: int = 0
    duplicates: int = 0
    bytes_read: int = 0
    warnings: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    facts: dict[str, list[Message]] = field(default_factory=dict)
    first: Reject | None = None

    def reject(self, record: Reject) -> None:
        """Count a rejected record."""
        self.rejected += 1
        self.codes[record.code] += 1
        self.first = self.first or record

    def check_share(self, max_bad: float) -> None:
        """Raises:
        TooManyBad: the rejected share of what was read is over `max_bad`.
        """
        if self.rejected > max_bad * self.read:
            causes = ", ".join(f"{count} x {code}" for code, count in self.codes.most_common(4))
            problem = Message(
                "{n_bad} of {n} records are bad ({causes}); {share:.1f} % are allowed",
                n_bad=self.rejected, n=self.read, causes=causes, share=100 * max_bad,
            )  # fmt: skip
            if self.first is not None:
                problem = self.first.as_example(problem, f"{self.first.line} ({self.first.file})")
            hint = Message("--max-bad allows more")
            raise TooManyBad("E_TOO_MANY_BAD", "{problem}; {hint}", problem=problem, hint=hint)


def preview_hint(file: str) -> Message:
    """The command to try on a log of unknown shape. As the value ``hint`` of a message it is left out on a
    screen and by the preview itself, which show the value ``problem`` alone (`without_hints`)."""
    return Message("try: dialint ingest preview {file}", file=shlex.quote(file))


def without_hints(message: Message) -> Message:
    """The message without hints at commands (`preview_hint`): of a problem with a hint, the problem."""
    problem = message.values.get("problem")
    if isinstance(problem, Message) and "hint" in message.values:
        return without_hints(problem)
    values = {
        name: without_hints(value) if isinstance(value, Message) else value
        for name, value in message.values.items()
    }
    return Message(message.template, **values)


def file_error(code: str, file: str, message: str, /, **values: object) -> InputRefused:
    """Makes the exception for a file that cannot be read; the message, with its values, begins with its
    name."""
    return InputRefused(code, "{file}: {message}", file=file, message=Message(message, **values))
