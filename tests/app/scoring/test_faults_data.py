"""Faults of data around `dialint score`: F16 (bad lines), F19 (flipped bits), F21 (memory)."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dialint.app.commands.verify import verify_path
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.errors import OutputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.verdict_files import manifest_path, read_verdicts, rejects_path

WriteLog = Callable[..., Path]
N_GOOD = 297
MEMORY_SLACK_KIB = 8 * 1024


def record(number: int, **changed: Any) -> dict[str, Any]:
    turns = [{"role": "customer", "text": f"Where is {number}?"}, {"role": "agent", "text": "On its way."}]
    return {"id": f"bad{number}", "turns": turns, **changed}


BAD_LINES = {
    "E_UTF8": json.dumps(record(0)).encode().replace(b"way", b"\xff\xfe"),
    "E_ID": json.dumps(record(1, id=1)).encode(),
    "E_DUP_ID": json.dumps(record(2, id="d0")).encode(),
    "E_DEPTH": json.dumps(record(3, metadata={"x": 0})).replace("0", "[" * 99 + "]" * 99).encode(),
    "E_LINE_SIZE": json.dumps(record(4, metadata={"x": "x" * 9_000_000})).encode(),
    "E_TYPE": json.dumps([record(5)]).encode(),
    "E_TRAILING": json.dumps(record(6)).encode() + b" {}",
}
"""More kinds of bad lines are in ``tests/detector/ingest/test_bad_inputs.py``."""


def test_f16_bad_lines_are_rejected_by_number_and_the_others_scored(
    tmp_path: Path, write_log: WriteLog, driver: ModuleType
) -> None:
    lines, bad = write_log(N_GOOD).read_bytes().splitlines(), list(BAD_LINES.values())
    numbers = [40 * place + 10 for place in range(len(bad) - 1)]
    for number, line in zip(numbers, bad, strict=False):
        lines.insert(number, line)
    log, out = tmp_path / "log.jsonl", tmp_path / "v.jsonl"
    log.write_bytes(b"\n".join([*lines, bad[-1]]) + b"\n")
    config = ScoreConfig(out=out, quiet=True, read=ReadConfig(max_bad=0.05))
    assert run([str(log)], config, driver.FakeDetector({})) == 0
    assert [verdict.dialogue_id for verdict in read_verdicts(out)] == [f"d{n}" for n in range(N_GOOD)]
    rejects = [json.loads(line) for line in (tmp_path / "v.rejects.jsonl").read_text().splitlines()]
    assert [(one["line"], one["code"], one["file"]) for one in rejects] == [
        (number + 1, code, str(log)) for number, code in zip([*numbers, len(lines)], BAD_LINES, strict=True)
    ]


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
@pytest.mark.slow
def test_f19_every_flipped_bit_is_detected(
    tmp_path: Path, write_log: WriteLog, driver: ModuleType, ending: str
) -> None:
    out = tmp_path / f"v.{ending}"
    config = ScoreConfig(out=out, quiet=True, read=ReadConfig(max_bad=1.0))
    run([str(write_log(20, extra=("{}",)))], config, driver.FakeDetector({}))
    files = [out, manifest_path(out), rejects_path(out)]
    places = random.Random(19)
    for number in range(45):
        path = files[number % len(files)]
        whole = path.read_bytes()
        place = places.randrange(len(whole))
        path.write_bytes(
            whole[:place] + bytes([whole[place] ^ 1 << places.randrange(8)]) + whole[place + 1 :]
        )
        with pytest.raises(OutputRefused):
            verify_path(out)
        with pytest.raises(OutputRefused):
            read_verdicts(out)
        with pytest.raises(OutputRefused):
            run([str(tmp_path / "log.jsonl")], config, driver.FakeDetector({}))
        path.write_bytes(whole)
    assert verify_path(out) == 2
    assert len(list(read_verdicts(out))) == 20


@pytest.mark.parametrize(("ending", "few", "many"), [("jsonl", 2_000, 15_000), ("parquet", 12_000, 24_000)])
@pytest.mark.slow
def test_f21_memory_is_flat(
    tmp_path: Path, write_log: WriteLog, peak_kib: Callable[..., int], ending: str, few: int, many: int
) -> None:
    """A Parquet output holds one row group in memory, which `few` must fill already."""
    options = {"chunk_size": 128, "all_probabilities": True}
    small, large = (
        peak_kib(write_log(n, f"{n}.jsonl"), tmp_path / f"v{n}.{ending}", **options) for n in (few, many)
    )
    assert large < small + MEMORY_SLACK_KIB
