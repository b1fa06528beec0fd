"""A report on standard output: how it is stopped, what it says of rejects, and what it leaves behind."""

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
WHOLE = ("csv", "junit", "sarif")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 0), ("SIGINT", 130)])
@pytest.mark.parametrize("kind", WHOLE)
def test_a_report_that_is_stopped_promises_nothing(
    write_log: WriteLog,
    driver: ModuleType,
    temporary: Path,
    capfd: pytest.CaptureFixture[str],
    kind: Any,
    name: str,
    code: int,
) -> None:
    detector = driver.FakeDetector({"stop_at": 2, "stop_with": name})
    assert run([str(write_log(20))], ScoreConfig(format=kind, chunk_size=4), detector) == code
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "stopped; nothing is kept" in printed.err
    assert "safe" not in printed.err
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("kind", [*WHOLE, "text", "jsonl"])
def test_the_first_rejects_are_told(
    write_log: WriteLog, driver: ModuleType, temporary: Path, capfd: pytest.CaptureFixture[str], kind: Any
) -> None:
    log = write_log(4, extra=("{}",) * 12)
    config = ScoreConfig(format=kind, quiet=True, read=ReadConfig(max_bad=1.0))
    assert run([str(log)], config, driver.FakeDetector({})) == 0
    told = capfd.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in told] == [f"{log}:{line}" for line in range(5, 15)]


def test_no_file_that_is_gone_is_named(
    write_log: WriteLog, driver: ModuleType, temporary: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = write_log(4, extra=("{}",))
    with pytest.raises(Exception, match=r"E_TOO_MANY_BAD.*allowed; --max-bad allows more"):
        run([str(log)], ScoreConfig(format="csv", quiet=True), driver.FakeDetector({}))
    assert str(temporary) not in capfd.readouterr().err


def test_no_room_for_temporary_files_is_one_line(
    write_log: WriteLog, driver: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = write_log(4)
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(WorldError, match=r"E_WRITE: a temporary file .*No space left on device"):
        run([str(log)], ScoreConfig(format="csv", quiet=True), driver.FakeDetector({}))
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with open(log) as text:
        monkeypatch.setattr("sys.stdin", text)
        with pytest.raises(WorldError, match="No space left on device"):
            run(["-"], ScoreConfig(quiet=True), driver.FakeDetector({}))
