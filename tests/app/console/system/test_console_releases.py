"""The Releases page: reports and comparison."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from console_records import make_finding, make_verdict

from dialint.labeling.store import dialogues
from dialint.labeling.store.database.transactions import Store


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
    assert any(cell.startswith("100% (34%–100%)") for cell in cells), "what two of two can say"
    assert not [cell for cell in cells if "100%–100%" in cell or "0%–0%" in cell]


def test_two_releases_are_compared_on_the_dialogues_of_both(
    open_page: Callable[..., Any], store: Store
) -> None:
    hostile = "**other** <img src=x>"
    said = [make_verdict(name, make_finding("T1", 3, "We"), release=hostile) for name in ("d1", "d2")]
    dialogues.add_verdicts(store, "lea", said)
    page = open_page("lea", at="Releases")
    page.test.segmented_control[0].set_value("compare")
    page.run().choose("Release", "model-7").choose("Compared with", hostile)
    assert "2 dialogues" in page.words
    assert "0% of them" in page.text
    table = page.test.table[-1].value
    assert "/dialogue?id=d1" in str(table.iloc[0, 0]) or "/dialogue?id=d2" in str(table.iloc[0, 0])
    assert all("<img" not in each.replace("\\<", "") for each in table.columns)
