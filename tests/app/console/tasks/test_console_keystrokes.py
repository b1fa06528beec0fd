"""The counts of keys and clicks in docs/console.md, in a real browser: what each stores, and that the next opens."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from patience import WAIT_MS

from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.labeling.store import dialogues, tasks
from dialint.labeling.store.accounts import load_preferences
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NewTask

SELECT = """() => {
  const text = document.querySelector('[data-turn="1"] .dialint-text span, [data-turn="1"] .dialint-text mark').firstChild;
  window.getSelection().setBaseAndExtent(text, 0, text, 8);
  document.dispatchEvent(new PointerEvent("pointerup"));
}"""
IDLE = """() => {
  const work = document.querySelector(".dialint-work")?.work;
  return work && work.data && !work.draft.pending.length && !work.draft.busy;
}"""


def add_dialogues(store: Store, *counts: tuple[int, int]) -> None:
    """At the head of rob's queue, in order: dialogues ``k0``, ``k1`` and so on with so many findings and
    suggestions."""
    turns = (
        Turn(index=0, role="customer", text="What now?"),
        Turn(index=1, role="agent", text="Anything else today?"),
    )

    def found(n: int) -> tuple[Finding, ...]:
        return tuple(
            Finding(
                code=code, turn=1, severity="S2", probability=0.9, quote="Anything", start=0, end=8, reason="",
            )
            for code in ("C1", "T1", "C2")[:n]
        )  # fmt: skip

    dialogues.add(store, "lea", [Dialogue(id=f"k{at}", turns=turns) for at in range(len(counts))])
    verdicts = [
        Verdict(
            dialogue_id=f"k{at}", release="model-7", taxonomy="1.0.0", status="scored", quality=50.0,
            findings=found(n_findings), suggestions=found(n_suggestions),
        )
        for at, (n_findings, n_suggestions) in enumerate(counts)
    ]  # fmt: skip
    dialogues.add_verdicts(store, "lea", verdicts)
    new = [NewTask(dialogue=f"k{at}", priority=99.0 - at) for at in range(len(counts))]
    tasks.add(store, "lea", "to review", new)


@pytest.fixture
def review(browser: Any, server: Any, signed_in: Callable[..., None]) -> Callable[[], Any]:
    """Rob's review page with the first dialogue open."""

    def opened() -> Any:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(WAIT_MS)
        signed_in(page, server.port, "rob")
        page.get_by_role("button", name="Start").first.click()
        shows(page, "k0")
        return page

    return opened


def shows(page: Any, name: str) -> None:
    page.get_by_text(f"Dialogue {name};").wait_for()
    page.wait_for_function(IDLE)


def test_one_key_confirms_rejects_adds_or_finds_nothing_and_opens_the_next(
    review: Callable[[], Any], store: Store, saved: Callable[[], list[dict[str, Any]]]
) -> None:
    add_dialogues(store, (1, 0), (1, 0), (0, 0), (0, 0), (2, 0))
    page = review()
    page.keyboard.press("Shift+B")
    shows(page, "k1")
    page.keyboard.press("Shift+N")
    shows(page, "k2")
    page.evaluate(SELECT)
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
    page.close()


@pytest.mark.slow
def test_the_last_decision_saves_where_the_account_prefers_it(
    review: Callable[[], Any], store: Store, saved: Callable[[], list[dict[str, Any]]]
) -> None:
    add_dialogues(store, (1, 0), (1, 0), (1, 0), (2, 0), (1, 1), (0, 0))
    page = review()
    page.keyboard.press("y")
    page.wait_for_function(IDLE)
    assert saved() == []  # not by default
    page.keyboard.press("u")
    page.keyboard.press("?")
    page.locator('[data-do="auto save"][aria-pressed="false"]').click()
    page.locator('[data-do="auto save"][aria-pressed="true"]').wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function(IDLE)
    assert load_preferences(store, "rob").auto_save
    page.keyboard.press("y")
    shows(page, "k1")
    page.locator(".dialint-current [data-do=kept]").click()
    shows(page, "k2")
    page.locator(".dialint-current [data-do=rejected]").click()
    page.keyboard.press("1")
    shows(page, "k3")
    page.keyboard.press("y")
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    shows(page, "k4")
    page.keyboard.press("y")
    page.wait_for_function(IDLE)
    assert len(saved()) == 4  # a suggestion is still to be read
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("n")
    shows(page, "k5")
    page.keyboard.press("Shift+S")
    page.wait_for_function(IDLE)
    assert not load_preferences(store, "rob").auto_save
    assert [[code for _, code, *_ in row["said"]] for row in saved()] == [["C1"], ["C1"], [], ["C1"], ["C1"]]
    assert [json.loads(row["rejections"] or "[]") for row in saved()][2] == [
        {"code": "C1", "reason": "answered", "turn": 1}
    ]
    page.close()
