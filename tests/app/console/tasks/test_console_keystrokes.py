"""The counts of keys and clicks in docs/console.md, in a real browser: what each stores, and that the next opens."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from console_records import IDLE, SELECT, add_to_review, make_dialogue, make_finding

from dialint.labeling.store.accounts import load_preferences
from dialint.labeling.store.database.transactions import Store

PageOf = Callable[..., Any]


def open_review(page_of: PageOf, store: Store, *counts: tuple[int, int]) -> Any:
    """Rob's review page with the first of dialogues ``k0``, ``k1`` and so on, with so many findings and
    suggestions."""
    for at, (n_findings, n_suggestions) in enumerate(counts):
        findings = [make_finding(code, quote="Anything", reason="") for code in ("C1", "T1", "C2")]
        add_to_review(
            store, make_dialogue(f"k{at}", "What now?", "Anything else today?"), *findings[:n_findings],
            suggestions=tuple(findings[:n_suggestions]), priority=99.0 - at,
        )  # fmt: skip
    page = page_of("rob")
    page.get_by_role("button", name="Start").first.click()
    shows(page, "k0")
    return page


def shows(page: Any, name: str) -> None:
    page.get_by_text(f"Dialogue {name};").wait_for()
    page.wait_for_function(IDLE)


def test_one_key_confirms_rejects_adds_or_finds_nothing_and_opens_the_next(
    page_of: PageOf, store: Store, saved: Callable[[], list[dict[str, Any]]]
) -> None:
    page = open_review(page_of, store, (1, 0), (1, 0), (0, 0), (0, 0), (2, 0))
    page.keyboard.press("Shift+B")
    shows(page, "k1")
    page.keyboard.press("Shift+N")
    shows(page, "k2")
    page.evaluate(SELECT, [1, "Anything"])
    page.locator(".dialint-tool").wait_for()
    page.keyboard.press("Shift+Digit1")
    shows(page, "k3")
    page.keyboard.press("s")
    shows(page, "k4")
    page.keyboard.press("Shift+N")  # another is open: nothing is saved
    page.locator('.dialint-current[data-id="1"]').wait_for()
    page.wait_for_function(IDLE)
    found = [[(code, start, end) for _, code, _, start, end in row["said"]] for row in saved()]
    assert found == [[("C1", 0, 8)], [], [("C1", 0, 8)], []]


SWALLOW = """() => {
  const draft = document.querySelector(".dialint-work").work.draft, send = draft.send;
  window.messages = [];
  draft.send = (log) => { window.messages.push(log); if (window.messages.length === 3) { draft.send = send; send(log); } };
}"""


def test_what_is_not_acknowledged_is_sent_again_as_a_message_of_its_own(
    page_of: PageOf, store: Store, saved: Callable[[], list[dict[str, Any]]]
) -> None:
    """Streamlit calls nobody for a value that is the last one again."""
    page = open_review(page_of, store, (1, 0), (0, 0))
    page.evaluate(SWALLOW)
    page.keyboard.press("Shift+B")
    shows(page, "k1")
    messages = page.evaluate("() => window.messages")
    assert len({json.dumps(each) for each in messages}) == 3
    assert len({json.dumps(each["events"]) for each in messages}) == 1
    assert len(saved()) == 1


@pytest.mark.slow
def test_the_last_decision_saves_where_the_account_prefers_it(
    page_of: PageOf, store: Store, saved: Callable[[], list[dict[str, Any]]]
) -> None:
    page = open_review(page_of, store, (1, 0), (2, 0), (1, 1), (0, 0))
    page.keyboard.press("Shift+S")
    page.wait_for_function(IDLE)
    assert load_preferences(store, "rob").auto_save
    page.keyboard.press("y")
    shows(page, "k1")
    page.keyboard.press("y")
    page.locator(".dialint-current [data-do=rejected]").click()
    page.keyboard.press("1")
    shows(page, "k2")
    page.keyboard.press("n")
    page.keyboard.press("Enter")  # without a reason
    page.wait_for_function(IDLE)
    assert len(saved()) == 2  # a suggestion is still to be read
    for key in ("g", "2", "n"):
        page.keyboard.press(key)
    shows(page, "k3")
    assert [[code for _, code, *_ in row["said"]] for row in saved()] == [["C1"], ["C1"], []]
    assert [each["turn"] for each in json.loads(saved()[1]["rejections"])] == [1]
