"""Parquet logs: one row per dialogue with a list of turns (the project's corpora), or one per message.

Reads by record batch in bounded memory; a file that is not what its footer says is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from detector.ingest.checks import Draft, DraftTurn
from detector.ingest.config import ReadConfig
from detector.ingest.found import Found, finished
from detector.ingest.outcomes import refuse
from detector.ingest.sources import Source

BATCH_ROWS = 256
BUFFER_BYTES = 1 << 20
