"""What the tests of the Score page share: an empty folder of jobs, and what runs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dialint.app.console.system import job_files as score_files
from dialint.app.console.system.job_runner import ScoreRunner


@pytest.fixture(autouse=True)
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of jobs."""
    path = tmp_path / "jobs"
    monkeypatch.setenv(score_files.JOBS_VARIABLE, str(path))
    return path


@pytest.fixture
def runner(jobs: Path) -> Iterator[ScoreRunner]:
    runner = ScoreRunner(jobs)
    yield runner
    runner.close()
