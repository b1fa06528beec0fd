"""Review and Label in a real browser: by keyboard and by clicks, with lost connections and a killed server.

Runs where Chromium is. ``DIALINT_CONSOLE_FAULTS=100`` gives the kills at full size.
"""

import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from console_records import IDLE, SELECT, add_to_review, make_dialogue, make_finding
from patience import WAIT_MS
from playwright.sync_api import expect

from dialint.labeling.store import dialogues
from dialint.labeling.store.database.transactions import Store

N = int(os.environ.get("DIALINT_CONSOLE_FAULTS", "3"))
Saved = Callable[[], list[dict[str, Any]]]
PageOf = Callable[..., Any]


def button(page: Any, name: str) -> Any:
    return page.get_by_role("button", name=name).first


def started(page: Any) -> None:
    """Claim the first task, as opening the page takes none; a task in hand is there by itself."""
    start = page.get_by_role("button", name="Start").first
    start.or_(page.locator(".dialint-foot button").first).first.wait_for()
    if start.count():
        start.click()
    acknowledged(page)


def acknowledged(page: Any) -> None:
    """Wait until the server has acknowledged all that was done in the workspace."""
    page.wait_for_function(IDLE, timeout=WAIT_MS)


def states(page: Any) -> list[str]:
    return [
        str(each)
        for each in page.evaluate(
            "document.querySelector('.dialint-work').work.draft.state.choices.map(each => each.state)"
        )
    ]


def long_dialogue(store: Store, n: int) -> None:
    """A dialogue at the head of rob's queue, with `n` findings in as many turns of the agent."""
    texts = [f"Message {number} of a long dialogue, with some more words." for number in range(2 * n)]
    findings = [make_finding("T1", 2 * at + 1, "Message", reason="") for at in range(n)]
    add_to_review(store, make_dialogue("many", *texts), *findings)


def test_a_dialogue_is_reviewed_by_keyboard_alone(page_of: PageOf, store: Store, saved: Saved) -> None:
    """One finding confirmed, one rejected with a reason, one changed, one added."""
    long_dialogue(store, 3)
    page = page_of("rob")
    page.get_by_role("button", name="Start").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("Dialogue many").wait_for()
    acknowledged(page)
    keys = page.keyboard
    keys.press("y")
    keys.press("n")
    keys.press("1")
    keys.press("c")
    page.locator(".dialint-picker input").wait_for()
    keys.type("ques")  # its letters go into the list: none of them is a key of the page
    assert page.locator(".dialint-picker input").input_value() == "ques"
    keys.press("Enter")
    page.get_by_text("3 of 3 decided").first.wait_for()
    keys.press("w")
    keys.press("ArrowUp")
    keys.press("d")  # the next word that begins so
    keys.press("Shift+ArrowRight")
    keys.press("Enter")
    keys.type("T1")
    keys.press("Enter")
    page.get_by_text("Errors: 3").wait_for()
    keys.press("1")
    acknowledged(page)
    keys.press("s")
    page.get_by_text("Saved as answer 1").wait_for()
    (row,) = saved()
    text = "Message 3 of a long dialogue, with some more words."
    at = text.index("dialogue")
    first, changed, added = row["marks"]
    assert first == (1, "T1", "S2", 0, 7)
    assert changed == (5, "C1", "S2", 0, 7)
    assert added[1:3] == ("T1", "S1")
    assert text[added[3] : added[4]] == "dialogue, with"
    assert added[3] == at or added[0] != 3


def test_decisions_in_a_hurry_survive_a_reload_and_a_lost_connection(
    page_of: PageOf, store: Store, saved: Saved
) -> None:
    long_dialogue(store, 20)
    page = page_of("rob")
    lines: list[tuple[Any, Any]] = []
    page.route_web_socket("**/_stcore/stream", lambda near: lines.append((near, near.connect_to_server())))
    page.reload()
    started(page)
    page.get_by_text("Dialogue many").wait_for()
    for n in range(8):
        page.keyboard.press("ny"[n % 2])
        page.wait_for_timeout(300)
    assert states(page)[:8] == ["rejected", "kept"] * 4
    page.keyboard.press("y")
    page.reload()  # what the server has not acknowledged comes again from the tab
    page.get_by_text("9 of 20 decided").first.wait_for()
    acknowledged(page)
    assert states(page)[:10] == [*["rejected", "kept"] * 4, "kept", "open"]
    for line in lines[-1]:
        line.close()
    page.keyboard.press("y")
    page.keyboard.press("y")
    assert states(page)[9:11] == ["kept", "kept"]
    acknowledged(page)
    assert len(lines) > 2, "the page has found its way back"
    for _ in range(9):
        page.keyboard.press("y")
    page.get_by_text("20 of 20 decided").first.wait_for()
    save = page.locator("[data-do=save]").first
    expect(save).to_be_in_viewport(ratio=0.99)
    save.click(trial=True)  # nothing lies over it
    page.keyboard.press("s")
    page.get_by_text("Saved as answer 1").wait_for()
    (row,) = saved()
    assert [turn for turn, *_ in row["marks"]] == [3, 7, 11, 15, *range(17, 40, 2)]


def test_decisions_are_undone_after_a_reload(page_of: PageOf, store: Store, saved: Saved) -> None:
    """One decision, two at once and an added finding; U takes back each step, the last first."""
    long_dialogue(store, 3)
    page = page_of("rob")
    started(page)
    page.get_by_text("Dialogue many").wait_for()
    page.keyboard.press("y")
    page.keyboard.press("b")
    page.evaluate(SELECT, [1, "long dialogue"])
    page.locator(".dialint-tool").wait_for()
    page.keyboard.press("1")
    acknowledged(page)
    assert states(page) == ["kept"] * 4
    for left in (["kept"] * 3, ["kept", "open", "open"], ["open"] * 3):
        page.reload()
        page.get_by_text("Dialogue many").wait_for()
        acknowledged(page)
        page.locator("[data-do=undo]:enabled").wait_for()
        page.keyboard.press("u")
        acknowledged(page)
        assert states(page) == left
    page.keyboard.press("u")
    page.get_by_text("Nothing to undo.").first.wait_for()
    page.keyboard.press("Shift+B")
    page.get_by_text("Saved as answer 1").wait_for()
    (row,) = saved()
    assert [turn for turn, *_ in row["marks"]] == [1, 3, 5]
    assert page.locator("[data-do=undo]:disabled").count() == 1  # the next item has a history of its own


def test_a_labeler_works_by_keyboard(page_of: PageOf, saved: Saved) -> None:
    page = page_of("ann")
    page.get_by_role("button", name="Start").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("Read it all first.").wait_for()
    acknowledged(page)
    page.keyboard.press("y")  # C1: then where
    page.get_by_text("Selected in turn 1:").wait_for()
    page.keyboard.press("e")
    page.keyboard.press("Enter")
    page.get_by_text("1 of 2 answered").first.wait_for()
    page.keyboard.press("r")
    page.get_by_text("2 of 2 answered").first.wait_for()
    page.keyboard.press("s")
    give_up_s = time.monotonic() + WAIT_MS / 1000
    while not saved() and time.monotonic() < give_up_s:  # the message may be gone before it is looked for
        page.wait_for_timeout(100)
    assert len(saved()) == 1
    acknowledged(page)
    page.keyboard.press("0")
    page.get_by_text("1 more").or_(page.get_by_text("2 done in this sitting")).first.wait_for()
    assert [row["marks"] for row in saved()] == [[(1, "C1", "S2", 9, 13)], []]


def test_both_pages_by_clicks(page_of: PageOf, store: Store, saved: Saved) -> None:
    page = page_of("rob")
    started(page)
    page.get_by_text("Dialogue d2").wait_for()
    button(page, "Confirm").click()
    button(page, "Reject").click()
    page.get_by_text("Errors: 1").wait_for()
    page.locator("[data-turn='1'] .dialint-text").dblclick(position={"x": 20, "y": 10})
    page.get_by_text("Selected in turn 1:").wait_for()
    page.locator("[data-do='add']").click()
    page.keyboard.type("C2")
    page.get_by_text("model-7 did not judge this code").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("Errors: 2").wait_for()
    button(page, "Save and next").click()
    page.get_by_text("Dialogue d1").wait_for()
    (row,) = saved()
    assert row["marks"] == [(1, "C1", "S2", 0, 14), (1, "C2", row["marks"][1][2], 0, 8)]  # "Anything"

    label = page_of("ann")
    started(label)
    button(label, "No error here").click()
    label.locator("[data-turn='3']", has_text="owned").wait_for()
    acknowledged(label)
    displayed = label.locator("[data-turn='3'] .dialint-text").text_content()
    hostile = dialogues.read(store, "rob", "hostile")[0].turns[3].text
    assert displayed == hostile.translate({0x1B: "\u241b", 0x202E: "\ufffd", 0x202C: "\ufffd"})
    page_text = label.content()
    assert not [each for each in ("task:", "task-", 'hostile"', "model-7") if each in page_text]  # blind
    label.evaluate(SELECT, [3, "<script>"])
    label.get_by_text("Selected in turn 3:").wait_for()
    label.locator("[data-do='add']").click()  # as the code in question: C1
    label.get_by_text("1 of 2 answered").first.wait_for()
    label.locator("[data-do='no T1']").click()
    label.get_by_text("2 of 2 answered").first.wait_for()
    button(label, "Save and next").click()
    label.get_by_text("We will look into it.").wait_for()
    acknowledged(label)
    (_, _, _, start, end) = saved()[2]["marks"][0]
    assert hostile[start:end] == "<script>"
    assert "owned" not in label.title()


@pytest.mark.slow
@pytest.mark.usefixtures("own_server")
def test_the_server_is_killed_around_a_click(
    browser: Any, server: Any, signed_in: Callable[[Any, int, str], None], store: Store, saved: Saved
) -> None:
    """Every acknowledged answer is stored, and none twice; else the draft is there."""
    names = [f"f{number}" for number in range(N)]
    for at, name in enumerate(names):
        texts = ("Where?", "Anything else?", "My parcel!", "We will look into it.")
        add_to_review(store, make_dialogue(name, *texts), make_finding(), priority=99.0 - at)
    rng = random.Random(7)

    def opened(name: str) -> Any:
        page = browser.new_page()
        page.set_default_timeout(WAIT_MS)
        signed_in(page, server.port, "rob")
        started(page)
        page.get_by_text(f"Dialogue {name};").wait_for()
        return page

    for name in names:
        page = opened(name)
        button(page, "Confirm").click()
        page.get_by_text("1 of 1 decided").first.wait_for()
        acknowledged(page)
        button(page, "Save and next").click(no_wait_after=True)
        time.sleep(rng.uniform(0.0, 0.12))
        server.kill()
        is_acknowledged = page.get_by_text("Saved as answer").count() > 0
        stored = [row for row in saved() if row["dialogue"] == name]
        assert len(stored) == 1 if is_acknowledged else len(stored) <= 1
        server.start()
        page.close()
        if not stored:
            page = opened(name)
            page.get_by_text("1 of 1 decided").first.wait_for()  # the draft is there
            button(page, "Save and next").click()
            page.get_by_text("Saved as answer").wait_for()
            page.close()
        assert [row["marks"] for row in saved() if row["dialogue"] == name] == [[(1, "C1", "S2", 0, 14)]]
