"""The Adjudicate page: the queue takes nothing, a case is decided code by code, leads fill it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from console_records import add_account, make_finding

from dialint.labeling.store import annotations, gold, leases, projects, task_view
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.tasks import count_tasks

Open = Callable[..., Any]


@pytest.fixture
def disputed(store: Store, open_page: Open) -> Store:
    """Ann sees C1 in turn 1 of d3, ben does not; an expert who may decide."""
    add_account(store, "eve", "expert")
    for who in ("ann", "ben"):
        while lease := leases.claim(store, who, "to label"):
            findings = (
                [make_finding(quote="Anything", probability=1.0)]
                if who == "ann" and lease.dialogue == "d3"
                else []
            )
            annotations.submit(store, who, lease.task, lease.token, f"{who} {lease.task}", findings)
    return store


def send(open_page: Open) -> Any:
    page = open_page("lea", at="Adjudicate")
    assert "Nothing was sent to experts yet" in page.words
    page.choose("Answers of", "to label")
    return page.press("Send open questions")


def test_an_expert_decides_a_disagreement(disputed: Store, open_page: Open) -> None:
    page = send(open_page)
    assert "have open questions" in page.words
    waiting = count_tasks(disputed, "lea", "adjudication")["main"]["open"]
    assert waiting >= 1
    page = open_page("eve", at="Adjudicate")
    assert count_tasks(disputed, "lea", "adjudication")["main"]["open"] == waiting, "looking takes no case"
    page.press("Decide the next case")
    words = page.text
    assert "Turn 1 of d3" in words
    assert "✓ Rater 1 · S2 · “Anything”" in words
    assert "✗ Rater 2" in words
    assert "ann" not in words.split()
    assert "Not aggregated yet" in words
    assert not page.enabled("Decide and next"), "C1 is open"
    page.press("Yes, an error")
    assert page.enabled("Decide and next")
    page.press("Decide and next")
    assert "A decision needs a reason" in page.text
    assert gold.list_gold(disputed, "eve") == ()
    page.test.text_area[0].set_value("She asked, and no answer came.")
    page.run()
    page.press("Decide and next")
    assert "The case is decided" in page.words
    by_question = {(one.dialogue, one.turn, one.code): one for one in gold.list_gold(disputed, "eve")}
    assert by_question["d3", 1, "C1"].present
    assert by_question["d3", 1, "C1"].reason == "She asked, and no answer came."
    assert not by_question["d3", 1, "T1"].present
    last = annotations.list_own(disputed, "eve")[0]
    # ann's words are the evidence, and the severity is hers
    assert [(one.code, one.severity, one.start, one.end, one.quote) for one in last.findings] == [
        ("C1", "S2", 0, 8, "Anything")
    ]


def test_a_decision_is_saved_where_no_next_case_is_to_be_had(
    disputed: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: after the deadline of the project the page said that the decision was not saved."""
    send(open_page)
    page = open_page("eve", at="Adjudicate").press("Decide the next case").press("Yes, an error")
    limits = {"overlap": 1, "most": 5, "fair_share": None, "control_share": 0.0}
    projects.change_limits(
        disputed, "lea", "adjudication", deadline=datetime(2020, 1, 1, tzinfo=UTC), **limits
    )
    page.test.text_area[0].set_value("She asked twice.")
    page.press("Decide and next")
    assert "The case is decided" in page.words
    assert "not saved" not in page.words


def test_a_draft_outlives_the_page_and_a_case_can_be_released(disputed: Store, open_page: Open) -> None:
    send(open_page)
    page = open_page("eve", at="Adjudicate").press("Decide the next case").press("Not applicable")
    (task,) = [leases.find_held(disputed, "eve", "adjudication")]
    assert task is not None
    assert task_view.load_draft(disputed, "eve", f"case:{task.task}", task.dialogue) is not None
    again = open_page("eve", at="Adjudicate")
    assert again.enabled("Decide and next"), "the decision was kept"
    again.test.text_area[0].set_value("There is nothing to answer.")
    again.run()
    again.press("Decide and next")
    assert [one.code for one in gold.list_gold(disputed, "eve")] == ["T1"], "no gold of what has no answer"
    page = open_page("eve", at="Adjudicate")
    if "Give it back" in page.labels:
        page.press("Give it back")
    assert leases.find_held(disputed, "eve", "adjudication") is None


def test_what_is_chosen_together_with_a_click_counts(disputed: Store, open_page: Open) -> None:
    """A browser may send a choice and the click after it in one: the callback comes before the run of the page
    that draws the choice."""
    page = open_page("lea", at="Adjudicate")
    assert page.test.selectbox(key="send source").value != "to label"
    page.test.selectbox(key="send source").set_value("to label")
    page.press("Send open questions")
    assert count_tasks(disputed, "lea", "adjudication")["main"]["open"] >= 1
    page = open_page("eve", at="Adjudicate").press("Decide the next case").press("Yes, an error")
    (words,) = (each for each in page.test.selectbox if each.key and each.key.endswith(":span"))
    words.set_value((0, 14))
    page.test.text_area[0].set_value("She asked.")
    page.press("Decide and next")
    last = annotations.list_own(disputed, "eve")[0]
    assert [(one.quote, one.start, one.end) for one in last.findings] == [("Anything else?", 0, 14)]
