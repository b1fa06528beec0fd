"""A report on standard output: what it says of rejects."""

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.errors import WorldError
from dialint.detector.ingest.config import ReadConfig

WriteLog = Callable[..., Path]


@pytest.mark.parametrize("kind", ["text", "jsonl"])
def test_the_first_rejects_are_told(
    write_log: WriteLog, driver: ModuleType, capfd: pytest.CaptureFixture[str], kind: Any
) -> None:
    log = write_log(4, extra=("{}",) * 12)
    config = ScoreConfig(format=kind, quiet=True, read=ReadConfig(max_bad=1.0))
    assert run([str(log)], config, driver.FakeDetector({})) == 0
    told = capfd.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in told] == [f"{log}:{line}" for line in range(5, 15)]


def test_no_room_for_temporary_files_is_one_line(
    write_log: WriteLog, driver: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = write_log(4)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with open(log) as text:
        monkeypatch.setattr("sys.stdin", text)
        with pytest.raises(WorldError, match="No space left on device"):
            run(["-"], ScoreConfig(quiet=True), driver.FakeDetector({}))
