"""The formats by which a log may be read, in the order in which they are tried.

Formats that are read by code are entries of the group ``dialint.formats``: dialint's own, those of installed
packages, or those of a file that ``--input-format FILE.py`` names; the others are mapping files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from dialint.detector.ingest.config import FORMATS, ReadConfig
from dialint.detector.ingest.formats.mapped import log_format
from dialint.detector.ingest.log_format import LogFormat, TextFormat
from dialint.detector.ingest.tree_mapping import shipped_mappings, shipped_names
from dialint.detector.plugins import plugins


def log_formats(config: ReadConfig) -> Iterator[LogFormat]:
    """The formats of JSON records that a log may have. Mapping files are read when the first is asked for.

    Raises:
        ConfigError: E_PLUGIN.
    """
    if config.format == "auto" and config.mapped.tree is not None:
        yield log_format(config.mapped.tree)
        return
    coded = [one for one in _load_formats(config) if isinstance(one, LogFormat)]
    yield from (one for one in coded if not one.is_common)
    if config.format in ("auto", *shipped_names()):
        yield from (one for one in _mapped_formats() if config.format in ("auto", one.name))
    yield from (one for one in coded if one.is_common)


def text_formats(config: ReadConfig) -> list[TextFormat]:
    """The formats of texts that a log may have.

    Raises:
        ConfigError: E_PLUGIN.
    """
    return [one for one in _load_formats(config) if isinstance(one, TextFormat)]


def _load_formats(config: ReadConfig) -> list[LogFormat | TextFormat]:
    kind = LogFormat | TextFormat
    if config.format_file is not None:
        entries = plugins(FORMATS, [config.format_file], kind).values()
        return [entry.load(kind) for entry in entries if entry.content is not None]
    return [entry.load(kind) for name, entry in plugins(FORMATS).items() if config.format in ("auto", name)]


@cache
def _mapped_formats() -> tuple[LogFormat, ...]:
    return tuple(map(log_format, shipped_mappings()))
