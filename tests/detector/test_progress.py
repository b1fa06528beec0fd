"""Progress shows numbers: on a terminal as a bar, elsewhere as lines, and nothing if told so."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from marked_dialogues import in_turn

from dialint.detector import progress as module
from dialint.detector import watchdog
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.interface import DetectorConfig
from dialint.detector.progress import progress, track
from dialint.detector.watchdog import WatchConfig, WatchedDetector


def test_lines_say_how_many_how_fast_and_how_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 0.0, 100.0, 200.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    with progress("scoring") as tell:
        tell(1_000, 0.5)  # an earlier run did these
        tell(1_500, 0.6, tokens=70_000, findings=12)
        tell(3_000, 0.9, tokens=90_000, findings=1_500)
    assert capsys.readouterr().err.splitlines() == [
        "dialint: scoring: 1,500 dialogues, 5 a second, 70,000 tokens, 12 findings, 60 %, 400 s left",
        "dialint: scoring: 3,000 dialogues, 10 a second, 90,000 tokens, 1,500 findings, 90 %, 50 s left",
    ]


def test_lines_promise_nothing_when_the_share_is_unknown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.0)
    with progress("importing", "verdicts") as tell:
        tell(1)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dialint: importing: 1 verdicts, ")
    assert "left" not in line


def test_bar_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(module, "SHOW_EVERY_S", 0.0)
    monkeypatch.setenv("COLUMNS", "160")
    with progress("scoring") as tell:
        tell(7, 0.25)
        tell(9, 0.5, findings=3)
    printed = capsys.readouterr().err
    assert "9 dialogues" in printed
    assert "3 findings" in printed
    assert "50 %" in printed


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.0)
    with progress("scoring", quiet=True) as tell:
        tell(7, 0.25)
    assert list(track([1, 2], 2, "packing", quiet=True)) == [1, 2]
    assert capsys.readouterr().err == ""


def test_what_is_taken_is_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.0)
    assert list(track("ab", 2, "packing")) == ["a", "b"]
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines] == [
        f"dialint: packing: {n} dialogues" for n in (0, 1, 2)
    ]
    assert "100 %" in lines[-1]


def dialogue(number: int, text: str = "Hello") -> dict[str, Any]:
    turns = [{"role": "customer", "text": text}, {"role": "agent", "text": f"Good day, number {number}"}]
    return {"dialogue_id": f"d{number}", "turns": turns}


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet"])
def test_the_share_that_is_read_goes_by_the_bytes_of_the_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log{ending}"
    rows = [dialogue(n, f"{n * 7919 % 10_007} {n * 104_729 % 99_991} " * 120) for n in range(1_500)]
    if ending == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=170)
    else:
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(lines, 1) if ending.endswith("gz") else lines)
    counts, size = Counts(), path.stat().st_size
    shares = [counts.bytes_read / size for _ in read(open_logs([str(path)]), ReadConfig(), counts)]
    assert shares == sorted(shares)
    assert len(set(shares)) >= 3, "it moves while the file is read"
    assert 0.2 < shares[len(shares) // 2] < 0.95


def test_a_detector_in_a_worker_says_how_far_it_is_within_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [
        in_turn(
            "Where is my parcel?", f"You are an idiot, sir, {n} times over, and it has been sent.", id=f"d{n}"
        )
        for n in range(24)
    ]
    counts: list[int] = []
    monkeypatch.setattr(watchdog, "PART", 6)
    with WatchedDetector(DetectorConfig(), WatchConfig()) as watched:
        watched.monitor.on_progress = counts.append
        watched.verdicts(given, all_probabilities=True)
        assert watched.monitor.tokens > 24 * 10
    assert counts == [6, 12, 18, 24]
