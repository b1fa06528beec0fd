"""What a user may say about a log before it is read; every field is an option of `dialint score`.

Only settings: nothing here opens a file.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from detector.errors import ConfigError
from detector.ingest.times import check_time_format
from detector.records import Role

ROLES: dict[str, Role] = {
    "customer": "customer",
    "agent": "agent",
    "bot": "bot",
    "system": "system",
    "tool": "system",
}
"""Roles of the canonical format; what a tool says is a system line."""

FORMATS = (
    "canonical",
    "openai",
    "sharegpt",
    "csv",
    "parquet",
    "zendesk",
    "zendesk-messaging",
    "intercom",
    "freshdesk",
    "hubspot",
    "twilio",
    "connect",
    "abcd",
    "multiwoz",
    "sgd",
    "tau",
    "tau2",
)


NO_ENCODING = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7")
"""Codecs of Python that are no encodings of logs."""


@dataclass(frozen=True)
class ReadConfig:
    """How logs are read and what is too much."""

    format: Annotated[str, Parameter(name="--input-format")] = "auto"
    """Format of the logs; `auto` recognises each file by its content."""

    column: tuple[str, ...] = ()
    """Which CSV or Parquet column holds what: `text=message_body`. Several columns make one id:
    `id=split+dialogue_id`."""

    role: tuple[str, ...] = ()
    """Which speaker is what: `Operator=agent`. Values: customer, agent, bot, system."""

    privacy: tuple[str, ...] = ()
    """What a word in the privacy column means: `Nein=public`, `Ja=internal`; `blank` is an empty cell.
    Internal notes are left out."""

    strip: bool = True
    """Read messages in HTML as text and leave out quoted replies, signatures and the lines of help desks'
    templates."""

    delimiter: str = "auto"
    """Delimiter of CSV logs: one character, or `tab`; `auto` takes the comma, semicolon, tab or bar that
    gives the columns that are needed."""

    encoding: str = "auto"
    """Encoding of the logs, such as cp1251; `auto` takes UTF-8, what a byte order mark says, or a guess where
    it is safe."""

    time_format: str = "auto"
    """How times stand in CSV and Parquet logs: `day-first`, `month-first`, or a pattern such as
    `%d.%m.%Y %H:%M`; `auto` reads ISO 8601, epoch numbers, and what the whole column leaves no doubt of."""

    time_zone: str | None = None
    """Time zone of times that name none, such as Europe/Berlin."""

    sort_turns: bool = False
    """Sort turns by time where they are out of order, instead of rejecting the dialogue (E_TIME)."""

    max_bad: float = 0.05
    """Share of bad records that stops the job (E_TOO_MANY_BAD)."""

    max_turns: int = 5_000
    """Turns a dialogue may have (E_TURNS)."""

    max_turn_bytes: int = 100_000
    """Bytes of text a turn may have (E_TURN_SIZE)."""

    max_record_bytes: int = 8_000_000
    """Bytes a line, a record of a JSON document (E_LINE_SIZE), or a dialogue of any format may have
    (E_RECORD_SIZE)."""

    max_document_bytes: int = 32_000_000
    """Bytes a JSON file may have that can only be read as a whole (E_LINE_SIZE)."""

    max_ratio: float = 200.0
    """How many times its size a compressed or Parquet file may expand, once past a megabyte
    (E_EXPANSION)."""

    max_expanded_bytes: int = 100_000_000_000
    """Bytes a compressed or Parquet file may expand to (E_EXPANSION)."""

    max_row_group_bytes: int = 256_000_000
    """Bytes a Parquet row group may hold (E_PARQUET)."""

    def __post_init__(self) -> None:
        if self.format not in ("auto", *FORMATS):
            raise ConfigError(
                "E_OPTION", f"--input-format {self.format!r}: expected auto, {', '.join(FORMATS)}"
            )
        if not 0.0 <= self.max_bad <= 1.0:
            raise ConfigError("E_OPTION", "--max-bad: expected a share between 0 and 1")
        if self.delimiter not in ("auto", "tab") and len(self.delimiter) != 1:
            raise ConfigError("E_OPTION", "--delimiter: expected one character, 'tab' or 'auto'")
        if self.encoding != "auto" and not _is_encoding(self.encoding):
            raise ConfigError(
                "E_OPTION", f"--encoding {self.encoding!r}: not known; such as utf-8, cp1251, cp1252, utf-16"
            )
        check_time_format(self.time_format, self.time_zone)
        self.columns()
        self.roles()
        self.private_words()

    def columns(self) -> dict[str, str]:
        """Meaning of a column (id, text, role, ...) to its name in the file."""
        return _pairs("column", self.column, value_first=False)

    def private_words(self) -> dict[str, bool]:
        """Words of the privacy column, folded, and whether each means that a message is internal."""
        found = {}
        for word, meaning in _pairs("privacy", self.privacy, value_first=True).items():
            if meaning not in ("internal", "public"):
                raise ConfigError("E_OPTION", f"--privacy {meaning!r}: expected internal or public")
            found[" ".join(word.casefold().split())] = meaning == "internal"
        return found

    def roles(self) -> dict[str, Role]:
        """Name of a speaker in the file, as written there, to its role."""
        found: dict[str, Role] = {}
        for name, role in _pairs("role", self.role, value_first=True).items():
            if role not in ROLES:
                raise ConfigError("E_OPTION", f"--role {role!r}: expected {', '.join(ROLES)}")
            found[name] = ROLES[role]
        return found


def _is_encoding(name: str) -> bool:
    """Whether Python has a codec of text to bytes by this name that works piece by piece."""
    try:
        codec = codecs.lookup(name)
        is_text = "a".encode(name) != b"" and codec.incrementaldecoder is not None
    except (LookupError, UnicodeError, ValueError):
        return False
    return is_text and codec.name not in NO_ENCODING


COLUMN_MEANINGS = ("id", "text", "role", "author", "time", "order", "private", "type", "language", "channel")


def _pairs(option: str, values: tuple[str, ...], *, value_first: bool) -> dict[str, str]:
    found = {}
    for value in values:
        left, equals, right = value.rpartition("=") if value_first else value.partition("=")
        if not equals or not left or not right:
            raise ConfigError("E_OPTION", f"--{option} {value!r}: expected a pair such as a=b")
        if option == "column" and left not in COLUMN_MEANINGS:
            raise ConfigError("E_OPTION", f"--column {left!r}: expected one of {', '.join(COLUMN_MEANINGS)}")
        found[left] = right
    return found
