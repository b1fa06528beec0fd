"""In a real browser: the counts of keys and clicks in docs/console.md, what each stores, and that the next opens; a
chosen dialogue is reviewed from its page; digits mean one thing."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from console_records import IDLE, SELECT, add_to_review, make_dialogue, make_finding

from dialint.detector.records import Dialogue, ToolCall, Turn
from dialint.labeling.store import leases
from dialint.labeling.store.accounts import load_preferences
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import StoreRefused

PageOf = Callable[..., Any]
Saved = Callable[[], list[dict[str, Any]]]


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
    page_of: PageOf, store: Store, saved: Saved
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
    findings = [[(code, start, end) for _, code, _, start, end in row["marks"]] for row in saved()]
    assert findings == [[("C1", 0, 8)], [], [("C1", 0, 8)], []]


SWALLOW = """() => {
  const draft = document.querySelector(".dialint-work").work.draft, send = draft.send;
  window.messages = [];
  draft.send = (log) => { window.messages.push(log); if (window.messages.length === 3) { draft.send = send; send(log); } };
}"""


def test_what_is_not_acknowledged_is_sent_again_as_a_message_of_its_own(
    page_of: PageOf, store: Store, saved: Saved
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
    page_of: PageOf, store: Store, saved: Saved
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
    assert [[code for _, code, *_ in row["marks"]] for row in saved()] == [["C1"], ["C1"], []]
    assert [each["turn"] for each in json.loads(saved()[1]["rejections"])] == [1]


LONG = {"lines": [{"sku": f"SKU-{n:03}"} for n in range(40)]}


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name).first.click()


def test_a_dialogue_is_reviewed_from_its_page_and_the_way_leads_back(
    page_of: PageOf, server: Any, store: Store, saved: Saved, settle: Callable[[Any], None]
) -> None:
    """By a lease that others respect; next and previous keep the filters; a second visit corrects the answer."""
    page = page_of("rob", "explore?code=C1")
    page.goto(f"http://127.0.0.1:{server.port}{page.get_by_role('link', name='d3').get_attribute('href')}")
    page.get_by_text("Verdict of model").first.wait_for()
    settle(page)
    press(page, "Review this")
    page.get_by_text("Dialogue d3;").wait_for()
    with pytest.raises(StoreRefused, match="somebody else"):
        leases.claim_dialogue(store, "ria", "to review", "d3")
    page.wait_for_function(IDLE)
    page.keyboard.press("y")
    page.keyboard.press("s")
    page.get_by_text("Saved as answer 1").wait_for()
    assert [(row["dialogue"], row["labeler"], row["seen_verdict"]) for row in saved()] == [
        ("d3", "rob", True)
    ]
    press(page, "Back to the dialogue")
    page.get_by_text("Review by rob").wait_for()
    assert page.get_by_text("Reviewed score").count() == 1
    settle(page)
    press(page, "Review this")
    page.get_by_text("you are changing your answer 1").wait_for()
    page.go_back()
    page.get_by_text("Review by rob").wait_for()
    settle(page)
    press(page, "Next")
    page.wait_for_function("() => !location.search.includes('id=d3')")
    assert "code=C1" in page.url
    settle(page)
    press(page, "Back to the list")
    page.wait_for_url("**/explore?code=C1")


def test_an_error_is_added_from_the_page_of_the_dialogue(
    page_of: PageOf, saved: Saved, settle: Callable[[Any], None]
) -> None:
    page = page_of("rob", "dialogue?id=d5")
    page.get_by_text("came to the store").wait_for()
    settle(page)
    page.evaluate(SELECT, [3, "will"])
    page.get_by_text("Selected in turn 3: “will”").wait_for()
    settle(page)
    press(page, "Add an error")
    page.get_by_text("Dialogue d5;").wait_for()
    page.wait_for_function(IDLE)
    page.get_by_role("dialog", name="Which error?").wait_for()
    page.keyboard.type("T1")
    page.keyboard.press("Enter")
    page.get_by_text("Errors: 1").wait_for()
    page.wait_for_function(IDLE)
    assert not page.evaluate("document.querySelector('.dialint-work').work.data.adding"), "it is asked once"
    page.keyboard.press("s")
    page.get_by_text("Saved as answer 1").wait_for()
    ((turn, code, _, start, end),) = saved()[0]["marks"]
    assert (turn, code, start, end) == (3, "T1", 3, 7)


SELECT_CALL_AND_ADD = """() => {
  window.getSelection().selectAllChildren(document.querySelector("[data-call]"));
  document.dispatchEvent(new PointerEvent("pointerup"));
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
}"""
"""Select a call and press A, before any timer of the page can run."""


def test_an_error_of_a_call_is_confirmed_and_another_added(
    page_of: PageOf, store: Store, saved: Saved
) -> None:
    """Functions and arguments of calls are seen without a click, those of long ones by their first line."""
    call = ToolCall(name="get_order", arguments={"id": "<order_id>"})
    turns = (
        Turn(index=0, role="customer", text="Where is it?"),
        Turn(index=1, role="agent", text="", tool_calls=(call,)),
        Turn(index=2, role="tool", text="Error: order not found"),
        Turn(
            index=3,
            role="agent",
            text="I'll set it.",
            tool_calls=(ToolCall(name="set_lines", arguments=LONG),),
        ),
        Turn(index=4, role="tool", text="{" + "x" * 400 + "}"),
    )
    finding = make_finding("C1", 1, 'get_order({"id": "<order_id>"})').model_copy(update={"end": 1})
    add_to_review(store, Dialogue(id="acts", turns=turns), finding)
    page = page_of("rob", "review")
    press(page, "Start")
    page.get_by_text("Dialogue acts").wait_for()
    badge = page.locator('[data-turn="1"].dialint-has-active .dialint-badge')
    badge.wait_for()
    assert (badge.get_attribute("aria-label") or "").startswith("1 C1")
    page.wait_for_function(IDLE)
    page.keyboard.press("y")
    page.wait_for_function(IDLE)
    page.evaluate(SELECT_CALL_AND_ADD)
    page.get_by_role("dialog", name="Which error?").wait_for()
    page.keyboard.type("T1")
    page.keyboard.press("Enter")
    page.get_by_text("Errors: 2").wait_for()
    page.wait_for_function(IDLE)
    assert page.locator('[data-turn="1"] .dialint-badge').count() == 2
    page.keyboard.press("s")
    page.get_by_text("Saved as answer 1").wait_for()
    assert {(turn, code, start, end) for turn, code, _, start, end in saved()[0]["marks"]} == {
        (1, "C1", 0, 1),
        (1, "T1", 0, 1),
    }
    page = page_of("rob", "dialogue?id=acts")
    badges = page.locator('[data-turn="1"] .dialint-badge')
    badges.first.wait_for()
    assert [badge.get_attribute("aria-label") for badge in badges.all()] == ["1 C1", "+ T1"]
    for text in ('get_order({"id": "<order_id>"})', "Error: order not found"):
        assert page.locator(".dialint-turn").get_by_text(text).first.is_visible()
    first, whole = (page.locator(f'[data-turn="3"] .dialint-{name}') for name in ("first-line", "call"))
    assert first.inner_text().startswith('set_lines({"lines": [{"sku": "SKU-000"')
    assert page.locator('[data-turn="4"] .dialint-first-line').inner_text().startswith("{xxx")
    assert (first.is_visible(), whole.is_visible()) == (True, False)
    page.locator('[data-turn="3"] summary').click()
    assert "SKU-019" in whole.inner_text()
    assert not first.is_visible()


HINTS = """() => {
  const of = (within) => [...document.querySelectorAll(within + " kbd")].map((each) => each.textContent);
  const digits = (within) => of(within).filter((key) => /^[0-9]$/.test(key)).length > 0;
  const work = document.querySelector(".dialint-work").work;
  return [work.digitMeaning(), digits(".dialint-reasons"), digits(".dialint-tools"), digits(".dialint-card > .dialint-buttons")];
}"""
SELECTED, REJECTED, PLAIN = ["code", False, True, False], ["reason", True, False, False], "severity"


def test_digits_mean_one_thing_at_a_time(page_of: PageOf, store: Store, saved: Saved) -> None:
    """The screen shows them beside that thing only, whatever came before."""
    texts = (
        "My card was declined. What now?",
        "Read our terms. Anything else?",
        "What now?",
        "We will look into it.",
    )
    add_to_review(
        store, make_dialogue("careful", *texts), make_finding("T1", 1, "Read our terms."),
        suggestions=(make_finding("C1", 1, "Anything else?", start=16), make_finding("C2", 3, texts[3])),
    )  # fmt: skip
    page = page_of("rob", "review")
    press(page, "Start")
    page.get_by_text("Dialogue careful").wait_for()
    page.wait_for_function(IDLE)
    suggested = page.locator(".dialint-text mark.dialint-suggested").all_text_contents()
    assert suggested == ["Anything else?", "We will look into it."]
    assert page.evaluate(HINTS)[0] == PLAIN
    page.evaluate(SELECT, [3, "We"])
    assert page.evaluate(HINTS) == SELECTED
    page.keyboard.press("n")
    assert page.evaluate(HINTS) == REJECTED, "a rejection takes the selection away"
    assert page.get_by_text("Digits: the reason").is_visible()
    page.evaluate(SELECT, [3, "We"])
    assert page.evaluate(HINTS) == SELECTED, "words selected are no reason"
    page.keyboard.press("1")
    page.get_by_text("Errors: 1").wait_for()
    page.keyboard.press("g")
    assert page.evaluate(HINTS) == ["jump", False, False, False]
    page.keyboard.press("2")
    assert page.evaluate(HINTS)[:3] == [PLAIN, False, False]
    page.keyboard.press("s")
    page.get_by_text("Saved as answer 1").wait_for()
    (row,) = saved()
    assert [each[:1] for each in row["marks"]] == [(3,)]
    assert row["rejections"] in (None, "[]")
