"""Fixture of the tests of the Score page: an empty folder of jobs."""

from pathlib import Path

import pytest

from dialint.app.scoring.background import JOBS_VARIABLE


@pytest.fixture(autouse=True)
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of jobs."""
    path = tmp_path / "jobs"
    monkeypatch.setenv(JOBS_VARIABLE, str(path))
    return path
