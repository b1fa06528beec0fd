"""Logs in, checked dialogues and rejects out: the one door to this room.

`open_logs` says which files, `inspect` refuses what must be refused whole before anything is scored,
`read` streams the rest in bounded memory and in the order of the files. Personal data are not masked
here and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from detector.ingest.checks import Draft, finish
from detector.ingest.config import ReadConfig
from detector.ingest.duplicates import Seen, content_hash
from detector.ingest.inspection import inspect
from detector.ingest.jsonlines import read_lines
from detector.ingest.outcomes import BadRecord, Counts, Loaded, Reject
from detector.ingest.recognition import Recognised, recognise
from detector.ingest.records import Found
from detector.ingest.sources import Source, open_logs

__all__ = ["Counts", "Loaded", "ReadConfig", "Reject", "Source", "inspect", "open_logs", "read"]

BATCH = 1024
EARLY_STOP_FROM = 10_000
