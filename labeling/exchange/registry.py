"""All label formats, and the detection of a file's format by its content."""

from __future__ import annotations

from itertools import islice

from dialint.detector.errors import ConfigError
from dialint.detector.ingest.outcomes import BadRecord, file_error
from dialint.detector.ingest.readers.tables import TableFormat, detect_table_format, read_rows
from dialint.detector.ingest.sources import Source
from dialint.labeling.exchange import argilla, crowd_table, doccano, label_studio, native, prodigy, toloka
from dialint.labeling.exchange.format import LabelFormat

FORMATS: tuple[LabelFormat, ...] = (
    native.FORMAT,
    label_studio.FORMAT,
    toloka.FORMAT,
    crowd_table.FORMAT,
    prodigy.FORMAT,
    argilla.FORMAT,
    doccano.FORMAT,
)
"""In order of detection: those with the most distinctive fields first."""
N_PROBED_ROWS = 50


def format_by_name(name: str) -> LabelFormat:
    """The label format called `name`.

    Raises:
        ConfigError: there is none.
    """
    for label_format in FORMATS:
        if label_format.name == name:
            return label_format
    raise ConfigError("E_OPTION", f"--format {name[:20]!r}: expected {', '.join(s.name for s in FORMATS)}")


def detect_format(source: Source, name: str = "auto") -> tuple[LabelFormat, TableFormat]:
    """The label format of `source`, detected by its first rows unless it is named, and its table format.

    Raises:
        InputRefused: E_FORMAT, no row is of a supported format; or the file is unreadable.
        ConfigError: no format has that name.
    """
    table_format = detect_table_format(source)
    if name != "auto":
        return format_by_name(name), table_format
    for located in islice(read_rows(source, table_format), N_PROBED_ROWS):
        if isinstance(located.row, BadRecord):
            continue
        for label_format in FORMATS:
            if label_format.matches(located.row):
                return label_format, table_format
    names = ", ".join(label_format.name for label_format in FORMATS)
    raise file_error("E_FORMAT", source.name, f"none of the label formats ({names}); --format names it")
