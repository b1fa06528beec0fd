"""Old logs: pages with a period say what is outside of it, and show it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dialint.labeling.store import dialogues
from dialint.labeling.store.database.transactions import Store


@pytest.fixture
def old_log(store: Store) -> Store:
    """Three dialogues of 2019 beside the five that came today."""
    one, said = dialogues.read(store, "lea", "d1")
    assert said is not None
    old = []
    for n in range(3):
        at = datetime(2019, 3, 1, tzinfo=UTC) + timedelta(days=100 * n)
        turns = tuple(turn.model_copy(update={"at": at}) for turn in one.turns)
        old.append(one.model_copy(update={"id": f"old{n}", "turns": turns, "agent": "a1"}))
    dialogues.add(store, "lea", old)
    dialogues.add_verdicts(store, "lea", [said.model_copy(update={"dialogue_id": each.id}) for each in old])
    return store


@pytest.mark.parametrize("title", ["Overview", "Coaching"])
def test_a_page_says_what_is_outside_of_its_period_and_shows_it(
    old_log: Store, open_page: Callable[..., Any], title: str
) -> None:
    page = open_page("lea", at=title)
    outside = "3 dialogues are outside of this period"
    assert outside in page.words
    before = page.test.metric[0].value
    page.press("Show all dialogues")
    assert "outside of this period" not in page.words
    assert int(page.test.metric[0].value) == int(before) + 3
    assert "2019" in page.words
    page.test.segmented_control[0].set_value(7).run()
    assert outside in page.words
