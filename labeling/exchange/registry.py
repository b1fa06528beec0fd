"""All shapes of labels, and which of them a file has by its content."""

from __future__ import annotations

from itertools import islice

from dialint.detector.errors import ConfigError
from dialint.detector.ingest.outcomes import BadRecord, refuse
from dialint.detector.ingest.readers.tables import TableFormat, detect_table_format, read_rows
from dialint.detector.ingest.sources import Source
from dialint.labeling.exchange import argilla, crowd_table, doccano, label_studio, native, prodigy, toloka
from dialint.labeling.exchange.format import LabelFormat

SHAPES: tuple[LabelFormat, ...] = (
    native.SHAPE,
    label_studio.SHAPE,
    toloka.SHAPE,
    crowd_table.SHAPE,
    prodigy.SHAPE,
    argilla.SHAPE,
    doccano.SHAPE,
)
"""In order of recognition: those with the plainest marks first."""
LOOKED_AT = 50


def format_by_name(name: str) -> LabelFormat:
    """The shape called `name`.

    Raises:
        ConfigError: there is none.
    """
    for shape in SHAPES:
        if shape.name == name:
            return shape
    raise ConfigError("E_OPTION", f"--format {name[:20]!r}: expected {', '.join(s.name for s in SHAPES)}")


def detect_format(source: Source, name: str = "auto") -> tuple[LabelFormat, TableFormat]:
    """The shape of `source`, by its first rows unless it is named, and how its rows are framed.

    Raises:
        InputRefused: E_FORMAT where no row has a known shape; whatever makes the file unreadable.
        ConfigError: no shape has that name.
    """
    framing = detect_table_format(source)
    if name != "auto":
        return format_by_name(name), framing
    for placed in islice(read_rows(source, framing), LOOKED_AT):
        if isinstance(placed.row, BadRecord):
            continue
        for shape in SHAPES:
            if shape.matches(placed.row):
                return shape, framing
    names = ", ".join(shape.name for shape in SHAPES)
    raise refuse("E_FORMAT", source.name, f"no known shape of labels ({names}); --format names it")
