"""One look at a whole file before anything of it is scored: is it what it claims, and intact?

Streams; keeps no content. What is wrong with single records is left to `read`.
"""

from __future__ import annotations

import hashlib

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.framing.csvrows import check_csv
from dialint.detector.ingest.framing.encodings import blocks
from dialint.detector.ingest.framing.lines import BOM
from dialint.detector.ingest.framing.mapped import check_mapped
from dialint.detector.ingest.framing.parquet import check_parquet
from dialint.detector.ingest.framing.recognition import Recognised, recognise
from dialint.detector.ingest.outcomes import refuse
from dialint.detector.ingest.sources import Source


def inspect(source: Source, config: ReadConfig) -> str:
    """The SHA-256 (hex) of the raw bytes of a file that may be read.

    Raises:
        InputRefused: rows 1-4, 7, 30, 34, 35, 37, 40-42 of the list of bad inputs.
    """
    source.check_unchanged()
    digest = hashlib.sha256()
    found = recognise(source, config)
    if found.framing == "parquet":
        with open(source.path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256")
        check_parquet(source, config)
    else:
        _check_text(source, config, found, digest)
    if found.framing == "csv":
        check_csv(source, config)
    elif found.by_mapping:
        check_mapped(source, found, config)
    source.check_unchanged()
    return digest.hexdigest()


def _check_text(source: Source, config: ReadConfig, found: Recognised, digest: hashlib._Hash) -> None:
    """Every block decompressed: integrity, line ends, and the size of what must be held whole."""
    size = feeds = returns = 0
    last_return = False
    for block in blocks(source, config, digest.update):
        size += len(block)
        feeds += block.count(b"\n")
        returns += last_return + block.count(b"\r")
        last_return = block.endswith(b"\r")
        returns -= last_return
    if not feeds and returns:
        hint = "lines end with a carriage return only; convert them to line feeds (tr '\\r' '\\n')"
        raise refuse("E_FORMAT", source.name, hint)
    if found.framing == "document" and found.split == "whole" and size > config.max_document_bytes + len(BOM):
        limit = f"over {config.max_document_bytes} bytes in one JSON value; export one conversation a file"
        raise refuse("E_LINE_SIZE", source.name, limit)
