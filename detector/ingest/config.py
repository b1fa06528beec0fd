"""Options of reading logs; every field but the limits is an option of `dialint score`.

Only settings: nothing here opens a log, but a mapping file is read with the options.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from dialint.detector.errors import ConfigError, Message
from dialint.detector.ingest.mapping import LogMapping, build_mapping, check_reading, load_mapping
from dialint.detector.ingest.tree_mapping import shipped_names
from dialint.detector.plugins import describe, plugins

FORMATS = "dialint.formats"
"""The group of plugins that read logs by code; the other formats are mapping files (`shipped_names`)."""
TABLES = ("csv", "parquet")
IntLimit = Annotated[int, Parameter(parse=False)]
FloatLimit = Annotated[float, Parameter(parse=False)]
"""Limits that keep hostile logs from filling the memory: set from Python only."""
OPTIONS = {"fields": "--column", "roles": "--role", "privacy": "--privacy"}


@dataclass(frozen=True)
class ReadConfig:
    """Options of reading logs, and the limits on their size."""

    format: Annotated[str, Parameter(name="--input-format")] = "auto"
    """Format of the logs; `auto` recognises each file by its content. A file of Python (.py) reads them by
    the formats that it defines."""

    mapping: Path | None = None
    """File (.yaml) that says how logs of another shape are read; `dialint ingest preview LOG --write FILE`
    makes one. The options below override it."""

    column: tuple[str, ...] = ()
    """Which column (CSV, Parquet) or path (JSON) holds what: `text=message_body`, `text=messages[].body`.
    Several columns make one id: `id=split+dialogue_id`."""

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

    max_turns: IntLimit = 5_000
    """Turns a dialogue may have (E_TURNS)."""

    max_turn_bytes: IntLimit = 100_000
    """Bytes of text a turn may have (E_TURN_SIZE)."""

    max_record_bytes: IntLimit = 8_000_000
    """Bytes a line, a record of a JSON document (E_LINE_SIZE), or a dialogue of any format may have
    (E_RECORD_SIZE)."""

    max_document_bytes: IntLimit = 32_000_000
    """Bytes a JSON file may have that can only be read as a whole (E_LINE_SIZE)."""

    max_ratio: FloatLimit = 200.0
    """Greatest ratio of the expanded to the stored size of a compressed or Parquet file, from a megabyte on
    (E_EXPANSION)."""

    max_expanded_bytes: IntLimit = 100_000_000_000
    """Bytes a compressed or Parquet file may expand to (E_EXPANSION)."""

    max_row_group_bytes: IntLimit = 256_000_000
    """Bytes a Parquet row group may hold (E_PARQUET)."""

    def __post_init__(self) -> None:
        if self.format not in ("auto", *TABLES) and self.format_file is None:
            names = ("auto", *TABLES, *plugins(FORMATS), *shipped_names())
            if self.format not in names:
                raise ConfigError(
                    "E_OPTION", "--input-format {name!r}: expected a file of Python, or one of {names}",
                    name=self.format, names=", ".join(names),
                )  # fmt: skip
        if not 0.0 <= self.max_bad <= 1.0:
            raise ConfigError("E_OPTION", "--max-bad: expected a share between 0 and 1")
        check_reading(self.encoding, self.delimiter, self.time_format, self.time_zone)
        self.mapped  # noqa: B018  refuses what cannot be

    @cached_property
    def mapped(self) -> LogMapping:
        """The mapping file, if there is one, overridden by the options.

        Raises:
            ConfigError: E_MAPPING or E_OPTION.
        """
        base = load_mapping(self.mapping) if self.mapping else LogMapping()
        own = build_mapping(
            "E_OPTION",
            lambda section, name: f"{OPTIONS[section]} {name}",
            _pairs("column", self.column, value_first=False),
            _pairs("role", self.role, value_first=True),
            _pairs("privacy", self.privacy, value_first=True),
        )
        return replace(
            base,
            fields={**base.fields, **own.fields},
            roles={**base.roles, **own.roles},
            privacy={**base.privacy, **own.privacy},
            places={**base.places, **own.places},
            encoding=base.encoding if self.encoding == "auto" else self.encoding,
            delimiter=base.delimiter if self.delimiter == "auto" else self.delimiter,
            time_format=base.time_format if self.time_format == "auto" else self.time_format,
            time_zone=self.time_zone or base.time_zone,
        )

    @property
    def format_file(self) -> Path | None:
        """The file of Python that defines the formats, if there is one."""
        return Path(self.format) if self.format.endswith(".py") else None

    def describe(self) -> dict[str, Any]:
        """Every setting as JSON, with the content of the mapping file in place of its name, and the packages
        or the file of others that may read a log.

        Raises:
            ConfigError: E_PLUGIN, two packages offer a format of one name.
            OSError: the file cannot be read; a log that was read by it says so before.
        """
        settings = {**asdict(self), "mapping": self.mapped.as_json()}
        if self.format_file is not None:
            digest = hashlib.sha256(self.format_file.read_bytes()).hexdigest()
            others = [{"file": self.format_file.name, "sha256": digest}]
        else:
            entries = plugins(FORMATS)
            others = describe(entry for name, entry in entries.items() if self.format in ("auto", name))
        return {**settings, "plugins": others} if others else settings


def _pairs(option: str, values: tuple[str, ...], *, value_first: bool) -> dict[str, str]:
    results = {}
    for value in values:
        left, _, right = value.rpartition("=") if value_first else value.partition("=")
        if not left or not right:
            problem = Message("--{option} {value!r}: expected a pair such as a=b", option=option, value=value)
            raise ConfigError("E_OPTION", problem)
        results[left] = right
    return results
