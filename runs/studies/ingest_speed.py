"""How many dialogues a second one core reads and checks, from plain JSONL.

Run: ``python runs/studies/ingest_speed.py``. The log is synthetic: random words, four short turns (about 330
bytes) a dialogue. It measures `dialint.detector.ingest.read` whole: recognition, checks, duplicates, records;
not the inspection pass, masking or scoring.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.formats.registry import CANONICAL
from dialint.detector.ingest.outcomes import Counts
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.ingest.readers.json_logs import read_lines

WORDS = (
    "order",
    "parcel",
    "refund",
    "hello",
    "please",
    "thanks",
    "number",
    "check",
    "moment",
    "late",
    "bank",
)
MIN_WORDS, MAX_WORDS = 3, 12
"""Words in a turn."""


@dataclass(frozen=True)
class IngestSpeed:
    """Dialogues a second and core: the whole of `read`, the strict way alone, the inspection pass."""

    n_dialogues: int
    bytes_per_dialogue: float
    read: float
    strict: float
    inspect: float


def ingest_speed(n: int = 200_000, seed: int = 7) -> IngestSpeed:
    """Write `n` synthetic dialogues to a temporary folder and read them back."""
    with tempfile.TemporaryDirectory(prefix="dialint-speed-") as folder:
        path = Path(folder) / "log.jsonl"
        _write(path, n, random.Random(seed))
        source = open_logs([str(path)])[0]
        config = ReadConfig()
        started = time.process_time()
        inspect(source, config)
        inspected = time.process_time()
        n_read = sum(1 for _ in read([source], config, Counts()))
        done = time.process_time()
        n_strict = sum(map(len, read_lines(source, CANONICAL, config, Counter(), fast=False)))
        strict = time.process_time()
    if n_read != n or n_strict != n:
        raise AssertionError(f"read {n_read} and {n_strict} of {n} dialogues")
    return IngestSpeed(
        n, source.size / n, n / (done - inspected), n / (strict - done), n / (inspected - started)
    )


def _write(path: Path, n: int, chance: random.Random) -> None:
    with path.open("w") as file:
        for number in range(n):
            turns = [
                {
                    "role": role,
                    "text": " ".join(chance.choices(WORDS, k=chance.randint(MIN_WORDS, MAX_WORDS))),
                }
                for role in ("customer", "agent", "customer", "agent")
            ]
            file.write(json.dumps({"dialogue_id": f"d{number}", "turns": turns}) + "\n")


if __name__ == "__main__":
    found = ingest_speed()
    print(f"{found.n_dialogues} synthetic dialogues of {found.bytes_per_dialogue:.0f} bytes, one core:")
    print(f"read {found.read:,.0f}/s, strict way {found.strict:,.0f}/s, inspect {found.inspect:,.0f}/s")
