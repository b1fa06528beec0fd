"""The console in a real browser: both pages, hostile text, and faults F7 and F8 around a click.

Runs where Chromium is. ``DIALINT_CONSOLE_FAULTS=100`` gives the faults at
full size, ``DIALINT_SCREENSHOTS=folder`` keeps pictures.
"""

import os
import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import TimeoutError as Late

from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.labeling.store import dialogues, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NewTask, Project

N = int(os.environ.get("DIALINT_CONSOLE_FAULTS", "5"))
WAIT_MS = 30_000
STRIKE_MS = 10_000
Saved = Callable[[], list[dict[str, Any]]]
SignIn = Callable[[Any, int, str], None]


@dataclass
class Wire:
    """A proxy before the server whose connections can be cut."""

    to: int
    port: int
    cut_off: bool = False
    live: list[socket.socket] = field(default_factory=list)

    def start(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                if self.cut_off:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self.to))
                self.live += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while piece := one.recv(65536):
                other.sendall(piece)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def drop(self) -> None:
        """Cut every connection and refuse new ones until `mend`."""
        self.cut_off = True
        for end in self.live:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.live.clear()

    def mend(self) -> None:
        self.cut_off = False

    def close(self) -> None:
        self.drop()
        self.listener.close()


def button(page: Any, name: str) -> Any:
    return page.get_by_role("button", name=name).first


def settled(page: Any) -> None:
    """Wait until the server has answered."""
    page.locator('[data-test-script-state="notRunning"]').first.wait_for(state="attached", timeout=WAIT_MS)


def struck(page: Any, key: str, name: str, then: str) -> None:
    """Strike the key of a button, once the button is there to be pressed, until `then` is on the page: a
    key that comes while the page is still being drawn is lost."""
    page.locator("button:not([disabled])", has_text=name).first.wait_for()
    seen = page.get_by_text(then).first
    for _ in range(WAIT_MS // STRIKE_MS):
        settled(page)
        page.keyboard.press(key)
        with suppress(Late):
            seen.wait_for(timeout=STRIKE_MS)
            return
    raise TimeoutError(f"{key}: {then} did not come")


def pressed(page: Any, name: str, then: str) -> None:
    """Click a button until `then` is on the page: a click that meets a page that is drawn anew is lost."""
    seen = page.get_by_text(then).first
    for _ in range(WAIT_MS // STRIKE_MS):
        settled(page)
        with suppress(Late):
            button(page, name).click(timeout=STRIKE_MS)
        with suppress(Late):
            seen.wait_for(timeout=STRIKE_MS)
            return
    raise TimeoutError(f"{name}: {then} did not come")


def picture(page: Any, name: str) -> None:
    folder = os.environ.get("DIALINT_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(700)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


SELECT = """([turn, words]) => {
  const text = document.querySelector(`[data-turn="${turn}"] .dialint-text`);
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.data.indexOf(words);
    if (at < 0) continue;
    window.getSelection().setBaseAndExtent(node, at, node, at + words.length);
    document.dispatchEvent(new PointerEvent("pointerup"));
    return;
  }
  throw new Error("not found");
}"""


SCROLL = """by => {
  const page = document.querySelector('[data-testid="stMain"]');
  page.scrollTop += by;
  return page.scrollTop;
}"""


def chosen(page: Any, label: str, option: str) -> None:
    """Choose in the last select box of that label; again if the page was drawn anew and shut it."""
    box = page.get_by_role("combobox", name=label).last
    for _ in range(WAIT_MS // STRIKE_MS):
        settled(page)
        with suppress(Late):
            box.click(timeout=STRIKE_MS)
            page.get_by_role("option", name=option).first.click(timeout=STRIKE_MS)
            return
    raise TimeoutError(f"{label}: {option} could not be chosen")


@pytest.mark.slow
@pytest.mark.usefixtures("suggested")
def test_suggestions_on_the_review_page(browser: Any, server: Any, signed_in: SignIn, saved: Saved) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(WAIT_MS)
    signed_in(page, server.port, "rob")
    page.get_by_text("Dialogue careful").wait_for()
    page.get_by_text("Suggestions: not counted").wait_for()
    marks = page.locator(".dialint-text mark.dialint-suggested")
    marks.first.wait_for()
    assert marks.all_text_contents() == ["Anything else?", "We will look into it."]
    picture(page, "review-suggestions")
    struck(page, "n", "Reject", "You say: nothing wrong here.")
    pressed(page, "Confirm as a finding", "You say: 1 error.")
    pressed(page, "Dismiss", "You say: nothing wrong here.")
    pressed(page, "Confirm as a finding", "You say: 1 error.")
    page.locator(".dialint-text mark.dialint-kept", has_text="Anything else?").wait_for()
    picture(page, "review-suggestion-confirmed")
    struck(page, "s", "Save and next", "Saved as answer 1")
    (row,) = saved()
    assert row["said"] == [(1, "C1", "S2", 32, 46)]


@pytest.mark.slow
def test_both_pages(browser: Any, server: Any, signed_in: SignIn, store: Store, saved: Saved) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(WAIT_MS)
    page.goto(f"http://127.0.0.1:{server.port}/")
    button(page, "Sign in").wait_for()
    picture(page, "sign-in")
    signed_in(page, server.port, "rob")
    page.get_by_text("Dialogue d2").wait_for()
    picture(page, "review")
    struck(page, "y", "Confirm", "Confirmed")
    struck(page, "n", "Reject", "Rejected")
    page.get_by_text("You say: 1 error.").wait_for()
    page.locator("[data-turn='1'] .dialint-text").dblclick(position={"x": 20, "y": 10})
    page.get_by_text("Selected in turn 1").wait_for()
    picture(page, "review-selected")
    chosen(page, "Error", "C2")
    page.get_by_text("model-7 did not judge this code").wait_for()
    pressed(page, "Add finding", "You say: 2 errors.")
    struck(page, "s", "Save and next", "Saved as answer 1")
    page.get_by_text("Dialogue d1").wait_for()
    struck(page, "u", "Undo my last answer", "you are changing your answer 1")
    picture(page, "review-undo")
    (row,) = saved()
    assert row["said"] == [(1, "C1", "S2", 0, 14), (1, "C2", row["said"][1][2], 0, 8)]  # "Anything"

    label = browser.new_page(viewport={"width": 1280, "height": 800})
    label.set_default_timeout(WAIT_MS)
    signed_in(label, server.port, "ann")
    label.get_by_text("Read it all first.").wait_for()
    picture(label, "label")
    settled(label)
    assert label.evaluate(SCROLL, 9999) > 0
    box = label.locator(".dialint-turns").bounding_box()
    assert box["y"] > 0, "the dialogue stays in view beside the last button"
    button(label, "Nothing wrong here").click()
    label.get_by_text("Saved.").wait_for()
    label.locator("[data-turn='3']", has_text="owned").wait_for()
    assert label.evaluate(SCROLL, 0) == 0, "the next dialogue is seen from its beginning"
    assert (
        label.evaluate("document.querySelectorAll('.dialint-turns :is(img, script, a, b, strong)').length")
        == 0
    )
    shown = label.locator("[data-turn='3'] .dialint-text").text_content()
    hostile = dialogues.read(store, "rob", "hostile")[0].turns[3].text
    assert shown == hostile.translate({0x1B: "\u241b", 0x202E: "\ufffd", 0x202C: "\ufffd"})
    names = label.locator("[data-turn='3'] .dialint-unseen").evaluate_all(
        "all => all.map(e => e.dataset.label)"
    )
    assert names == ["RLO", "PDF"]
    page_text = label.content()
    assert not [each for each in ("task:", "task-", 'hostile"', "model-7") if each in page_text]  # blind
    label.evaluate(SELECT, [3, "<script>"])
    label.get_by_text("Selected in turn 3").wait_for()
    picture(label, "label-hostile")
    chosen(label, "Error", "C1")
    button(label, "Add finding").click()
    label.get_by_text("C1 Question ignored: yes").wait_for()
    label.get_by_role("button", name="No", exact=True).last.click()
    label.get_by_text("T1 Rude or blaming: no").wait_for()
    struck(label, "s", "Save and next", "We will look into it.")
    (_, _, _, start, end) = saved()[2]["said"][0]
    assert hostile[start:end] == "<script>"
    assert "owned" not in label.title()
    label.set_viewport_size({"width": 420, "height": 800})
    picture(label, "label-narrow")
    label.goto(f"http://127.0.0.1:{server.port}/accounts")  # no page of theirs
    label.get_by_text("This page is not open to your role.").wait_for()
    assert label.get_by_text("Page not found").count() == 0
    button(label, "Sign out").click()
    button(label, "Sign in").wait_for()
    page.set_viewport_size({"width": 420, "height": 800})
    picture(page, "review-narrow")
    page.close()
    label.close()


FIRST_VISIBLE = """list => {
  const top = list.getBoundingClientRect().top;
  const first = [...list.children].find(turn => turn.getBoundingClientRect().bottom > top + 2);
  return [Number(first.dataset.turn), first.querySelector(".dialint-head").getBoundingClientRect().top - top];
}"""


@pytest.mark.slow
def test_a_dialogue_scrolled_to_a_finding_begins_with_a_whole_turn(
    browser: Any, server: Any, signed_in: SignIn, store: Store
) -> None:
    texts = [f"Message {number} of a long dialogue." for number in range(30)]
    turns = tuple(
        Turn(index=at, role="agent" if at % 2 else "customer", text=text) for at, text in enumerate(texts)
    )
    dialogues.add(store, "lea", [Dialogue(id="long", turns=turns, agent="a1")])
    quoted = Finding(
        code="C1", turn=21, severity="S2", probability=0.9, quote="Message", start=0, end=7, reason=""
    )
    found = Verdict(
        dialogue_id="long", release="model-7", taxonomy="1.0.0", status="scored", quality=75.0, findings=(quoted,),
        probabilities={21: {"C1": 0.9}},
    )  # fmt: skip
    dialogues.add_verdicts(store, "lea", [found])
    tasks.add(store, "lea", "to review", [NewTask(dialogue="long", priority=9.0)])
    page = browser.new_page(viewport={"width": 1280, "height": 640})
    page.set_default_timeout(WAIT_MS)
    signed_in(page, server.port, "rob")
    page.get_by_text("Dialogue long").wait_for()
    settled(page)
    box = page.locator(".dialint-turns")
    page.locator("[data-turn='21'] mark").wait_for()
    picture(page, "review-long")
    first, gap = box.evaluate(FIRST_VISIBLE)
    assert first == 20, "the finding's turn, and the one that it answers"
    assert gap >= 8, "the heading of the first visible turn stands clear of the upper edge"
    page.close()


@pytest.fixture
def queue(store: Store) -> list[str]:
    """`N` more dialogues in a review project that is the only one."""
    names = [f"f{number}" for number in range(N)]
    first = dialogues.read(store, "rob", "d1")
    dialogues.add(store, "lea", [first[0].model_copy(update={"id": name}) for name in names])
    assert first[1] is not None
    dialogues.add_verdicts(
        store, "lea", [first[1].model_copy(update={"dialogue_id": name}) for name in names]
    )
    faults = Project(id="faults", codes=("C1",), purpose="review", prelabelled=True)
    projects.create(store, "lea", faults)
    projects.set_state(store, "lea", "to review", "closed")
    tasks.add(store, "lea", "faults", [NewTask(dialogue=name) for name in names])
    return names


@pytest.mark.slow
def test_f7_the_server_is_killed_around_a_click(
    browser: Any, server: Any, signed_in: SignIn, queue: list[str], saved: Saved
) -> None:
    chance = random.Random(7)
    for name in queue:
        page = browser.new_page()
        page.set_default_timeout(WAIT_MS)
        signed_in(page, server.port, "rob")
        page.get_by_text(f"Dialogue {name}").wait_for()
        button(page, "Confirm").click()
        page.get_by_text("You say: 1 error.").wait_for()
        settled(page)
        button(page, "Save and next").click(no_wait_after=True)
        time.sleep(chance.uniform(0.0, 0.12))
        server.kill()
        acknowledged = page.get_by_text("Saved as answer").count() > 0
        stored = [row for row in saved() if row["dialogue"] == name]
        assert len(stored) == 1 if acknowledged else len(stored) <= 1
        server.start()
        page.close()
        if not stored:
            page = browser.new_page()
            page.set_default_timeout(WAIT_MS)
            signed_in(page, server.port, "rob")
            page.get_by_text(f"Dialogue {name}").wait_for()
            page.get_by_text("You say: 1 error.").wait_for()  # the draft is there
            button(page, "Save and next").click()
            page.get_by_text("Saved as answer").wait_for()
            page.close()
        assert [row["said"] for row in saved() if row["dialogue"] == name] == [[(1, "C1", "S2", 0, 14)]]


def test_f8_the_connection_drops_with_a_draft_open(
    browser: Any,
    server: Any,
    free_port: Callable[[], int],
    signed_in: SignIn,
    queue: list[str],
    saved: Saved,
) -> None:
    wire = Wire(server.port, free_port())
    wire.start()
    page = browser.new_page()
    page.set_default_timeout(WAIT_MS)
    signed_in(page, wire.port, "rob")
    for number, name in enumerate(queue):
        page.get_by_text(f"Dialogue {name}").wait_for()
        page.get_by_text("Decide 1 more finding").wait_for()  # before that the buttons are of the last item
        button(page, "Reject").click()
        page.get_by_text("You say: nothing wrong here.").wait_for()
        settled(page)
        wire.drop()
        page.wait_for_timeout(100)
        wire.mend()
        if number % 2:  # the person reloads; otherwise the page finds its way back by itself
            page.reload()
            button(page, "Sign out").wait_for()
        page.get_by_text("You say: nothing wrong here.").wait_for()
        button(page, "Save and next").click()
        page.get_by_text(f"Dialogue {name}").wait_for(state="detached")
        assert [row["said"] for row in saved() if row["dialogue"] == name] == [[]]
    page.close()
    wire.close()
    assert len(saved()) == len(queue)
