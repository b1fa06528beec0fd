"""All label formats, dialint's own and those of other packages, and the detection of a file's format."""

from __future__ import annotations

from itertools import islice

from dialint.detector.errors import ConfigError
from dialint.detector.ingest.outcomes import BadRecord, file_error
from dialint.detector.ingest.readers.tables import TableFormat, detect_table_format, read_rows
from dialint.detector.ingest.sources import Source
from dialint.detector.plugins import Plugin, plugins
from dialint.labeling.exchange.format import LabelFormat

GROUP = "dialint.label_formats"
N_PROBED_ROWS = 50


def find_plugin(name: str) -> Plugin:
    """The entry of the label format called `name`.

    Raises:
        ConfigError: there is none.
    """
    formats = plugins(GROUP)
    if name not in formats:
        raise ConfigError("E_OPTION", f"--format {name[:20]!r}: expected {', '.join(formats)}")
    return formats[name]


def format_by_name(name: str) -> LabelFormat:
    """The label format called `name`.

    Raises:
        ConfigError: there is none, or it cannot be imported.
    """
    label_format: LabelFormat = find_plugin(name).load(LabelFormat)
    return label_format


def detect_format(source: Source, name: str = "auto") -> tuple[Plugin, TableFormat]:
    """The label format of `source`, detected by its first rows unless it is named, and its table format.

    Raises:
        InputRefused: E_FORMAT, no row is of a supported format; or the file is unreadable.
        ConfigError: no format has that name.
    """
    table_format = detect_table_format(source)
    if name != "auto":
        return find_plugin(name), table_format
    formats = plugins(GROUP)
    for located in islice(read_rows(source, table_format), N_PROBED_ROWS):
        for plugin in () if isinstance(located.value, BadRecord) else formats.values():
            if plugin.load(LabelFormat).matches(located.value):
                return plugin, table_format
    expected = f"none of the label formats ({', '.join(formats)}); --format names it"
    raise file_error("E_FORMAT", source.name, expected)
