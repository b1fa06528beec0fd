"""Reads a log as a job does: inspected first, then all of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.read import Counts, Loaded, ReadConfig, Reject, inspect, open_logs, read
from dialint.detector.records import Dialogue

ANY_SHARE = ReadConfig(max_bad=1.0)


def load(path: Path, config: ReadConfig = ANY_SHARE) -> tuple[list[Loaded], list[Reject], Counts]:
    sources, counts = open_logs([str(path)]), Counts()
    for source in sources:
        inspect(source, config)
    outcomes = list(read(sources, config, counts))
    loaded = [one for one in outcomes if isinstance(one, Loaded)]
    rejects = [one for one in outcomes if isinstance(one, Reject)]
    assert counts.read == len(outcomes) + counts.duplicates
    assert counts.rejected == len(rejects)
    return loaded, rejects, counts


def dialogues(path: Path, config: ReadConfig = ANY_SHARE) -> tuple[list[Dialogue], list[Reject], Counts]:
    """The good dialogues of a log, its rejects, and what was counted."""
    loaded, rejects, counts = load(path, config)
    return [one.dialogue for one in loaded], rejects, counts


def role_texts(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in dialogue.turns]


def refused(path: Path, config: ReadConfig = ANY_SHARE) -> InputRefused:
    """An error of `inspect`, before anything is read."""
    with pytest.raises(InputRefused) as caught:
        inspect(open_logs([str(path)])[0], config)
    return caught.value


def write_lines(path: Path, *records: object) -> Path:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
