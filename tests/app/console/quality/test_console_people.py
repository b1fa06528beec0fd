"""The People page: who is measured, and how a lead changes a status with a reason."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from dialint.app.console.quality import people as page_module
from dialint.app.console.quality.people import _measure
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.raters import people as raters
from dialint.labeling.store import annotations
from dialint.labeling.store.database.transactions import Store


@pytest.fixture(autouse=True)
def forget_figures() -> None:
    _measure.clear()


@pytest.fixture
def answered(store: Store) -> Store:
    for name in ("d1", "d2", "d3", "hostile", "d5"):
        for person in ("rob", "ria"):
            last = annotations.list_annotations(store, person, name)
            expected = int(last[-1].id) if last else None
            annotations.review(
                store, person, name, f"{person} {name}", ["C1", "T1"], [], expected=expected, seconds=20.0
            )
    return store


def test_people_have_figures_with_intervals(answered: Store, open_page: Callable[..., Any]) -> None:
    page = open_page("lea", at="People")
    cells = "\n".join(each.value.to_string() for each in page.test.table).replace("\\", "")
    assert "rob" in cells
    assert "ria" in cells
    assert "10 annotations by 2 people" in page.text
    assert "20 (20–20)" in cells


def test_only_the_newest_answers_are_measured_with_a_notice(
    answered: Store, open_page: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raters, "MAX_ANNOTATIONS", 4)
    measured = raters.measure_people(answered, "lea", load_taxonomy())
    assert measured is not None
    assert (measured.quality.annotations, measured.left_out) == (4, 6)
    monkeypatch.setattr(page_module, "_measure", lambda *_: (datetime.now(UTC), measured))
    assert "6 older answers are left out" in open_page("lea", at="People").text


def test_without_answers_the_page_links_to_the_accounts(open_page: Callable[..., Any]) -> None:
    words = open_page("lea", at="People").words
    assert "Nobody has answered anything" in words
    assert "(/admin)" in words
