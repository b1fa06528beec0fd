"""The Releases page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without releases."""
    path = tmp_path / "home"
    monkeypatch.setenv("DIALINT_HOME", str(path))
    return path


def test_the_page_shows_reports_with_what_few_can_say(open_page: Callable[..., Any]) -> None:
    page = open_page("lea", at="Releases")
    assert page.test.metric[0].label == "Codes covered"
    cells = [
        str(cell).replace("\\", "") for table in page.test.table for cell in table.value.to_numpy().flatten()
    ]
    assert any(cell.startswith("100 % (34 %–100 %)") for cell in cells), "what two of two can say"
    assert not [cell for cell in cells if "100 %–100 %" in cell or "0 %–0 %" in cell]
