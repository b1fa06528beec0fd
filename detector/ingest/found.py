"""What the readers of each framing hand to `read`: one record's place and what became of it.

Also the one way from a decoded record to dialogues, whatever framed it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dialint.detector.ingest.checks import Draft, finish
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.records import Dialogue


class Found(NamedTuple):
    """A record at a line (or record number) from 1 and a byte offset: a dialogue or its fault."""

    line: int
    offset: int
    outcome: Dialogue | BadRecord


def finished(
    drafts: Iterable[Draft], line: int, offset: int, config: ReadConfig, warnings: Counter[str]
) -> Iterator[Found]:
    """Each draft checked. A fault raised by the format reader itself ends its record."""
    iterator = iter(drafts)
    while True:
        try:
            draft = next(iterator, None)
            if draft is None:
                return
            yield Found(line, offset, finish(draft, config, warnings))
        except BadRecord as bad:
            yield Found(line, offset, bad)
