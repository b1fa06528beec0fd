"""The console in a real browser: both pages, hostile text, and faults F7 to F9.

Runs where Chromium is. ``DIALINT_CONSOLE_FAULTS=100`` gives the faults at
full size, ``DIALINT_SCREENSHOTS=folder`` keeps pictures.
"""

import json
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
from patience import WAIT_MS
from sqlalchemy import update

from dialint.app.console.tasks.answer import list_reasons
from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.labeling.store import dialogues, projects, tasks
from dialint.labeling.store.database.schema import leases as lease_rows
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import NewTask, Project

N = int(os.environ.get("DIALINT_CONSOLE_FAULTS", "3"))
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


def started(page: Any) -> None:
    """Claim the first task, as opening the page takes none; a task in hand is there by itself."""
    start = page.get_by_role("button", name="Start").first
    start.or_(page.locator(".dialint-foot button").first).first.wait_for()
    if start.count():
        start.click()
    acknowledged(page)


def ready_to_start(page: Any) -> None:
    page.get_by_role("button", name="Start").first.wait_for()
    page.locator('[data-test-script-state="notRunning"]').first.wait_for(state="attached")


ACKNOWLEDGED = """() => {
  const work = document.querySelector(".dialint-work")?.work;
  return work && work.data && !work.draft.pending.length && !work.draft.busy;
}"""


def acknowledged(page: Any) -> None:
    """Wait until the server has acknowledged all that was done in the workspace."""
    page.wait_for_function(ACKNOWLEDGED, timeout=WAIT_MS)


def states(page: Any) -> list[str]:
    return [
        str(each)
        for each in page.evaluate(
            "document.querySelector('.dialint-work').work.draft.state.choices.map(each => each.state)"
        )
    ]


def in_view(page: Any, selector: str) -> bool:
    """Whether all of an element is in the window, and nothing lies over its middle."""
    return bool(
        page.locator(selector).first.evaluate(
            """node => {
              const box = node.getBoundingClientRect();
              const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
              const inside = box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
              return inside && box.height > 0 && (node.contains(at) || at.contains(node));
            }"""
        )
    )


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


@pytest.mark.slow
@pytest.mark.usefixtures("suggested")
def test_suggestions_on_the_review_page(browser: Any, server: Any, signed_in: SignIn, saved: Saved) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(WAIT_MS)
    signed_in(page, server.port, "rob")
    started(page)
    page.get_by_text("Dialogue careful").wait_for()
    marks = page.locator(".dialint-text mark.dialint-suggested")
    marks.first.wait_for()
    assert marks.all_text_contents() == ["Anything else?", "We will look into it."]
    picture(page, "review-suggestions")
    page.keyboard.press("n")
    page.get_by_text("1 of 1 decided").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("y")
    page.get_by_text("Errors: 1").wait_for()
    page.locator(".dialint-text mark.dialint-kept", has_text="Anything else?").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("2")
    page.keyboard.press("n")
    page.get_by_text("Errors: 0").wait_for()
    page.keyboard.press("u")
    page.get_by_text("Errors: 1").wait_for()
    picture(page, "review-suggestion-confirmed")
    page.keyboard.press("s")
    page.get_by_text("Saved as answer 1").wait_for()
    (row,) = saved()
    assert row["said"] == [(1, "C1", "S2", 32, 46)]
    page.close()


def long_dialogue(store: Store, n: int, code: str = "T1", name: str = "many") -> None:
    """A dialogue at the head of rob's queue, with `n` findings in as many turns of the agent."""
    texts = [f"Message {number} of a long dialogue, with some more words." for number in range(2 * n)]
    turns = tuple(
        Turn(index=at, role="agent" if at % 2 else "customer", text=text) for at, text in enumerate(texts)
    )
    dialogues.add(store, "lea", [Dialogue(id=name, turns=turns, agent="a1")])
    quoted = tuple(
        Finding(
            code=code, turn=2 * at + 1, severity="S2", probability=0.9, quote="Message", start=0, end=7, reason=""
        )
        for at in range(n)
    )  # fmt: skip
    said = Verdict(
        dialogue_id=name, release="model-7", taxonomy="1.0.0", status="scored", quality=1.0, findings=quoted
    )
    dialogues.add_verdicts(store, "lea", [said])
    tasks.add(store, "lea", "to review", [NewTask(dialogue=name, priority=9.0)])


def test_a_dialogue_is_reviewed_by_keyboard_alone(
    browser: Any, server: Any, signed_in: SignIn, store: Store, saved: Saved
) -> None:
    """One finding confirmed, one rejected with a reason, one changed, one added."""
    long_dialogue(store, 3)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(WAIT_MS)
    signed_in(page, server.port, "rob")
    ready_to_start(page)
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
    first, changed, added = row["said"]
    assert first == (1, "T1", "S2", 0, 7)
    assert changed == (5, "C1", "S2", 0, 7)
    assert added[1:3] == ("T1", "S1")
    assert text[added[3] : added[4]] == "dialogue, with"
    assert added[3] == at or added[0] != 3
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("skip", ["Enter", "Escape"])
def test_the_reason_of_a_rejection_is_one_key_or_none(
    browser: Any, server: Any, signed_in: SignIn, store: Store, saved: Saved, skip: str
) -> None:
    """A digit gives it, Enter and Escape go on without, also after a click on Reject; S saves as before."""
    long_dialogue(store, 3)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(WAIT_MS)
    signed_in(page, server.port, "rob")
    started(page)
    page.get_by_text("Dialogue many").wait_for()
    current = ".dialint-card.dialint-current"
    page.locator(f'{current}[data-id="0"] [data-do="rejected"]').click()
    page.locator(".dialint-reasons").wait_for()
    page.keyboard.press(skip)
    page.locator(f'{current}[data-id="1"]').wait_for()
    assert page.locator(".dialint-reasons").count() == 0
    page.keyboard.press("n")
    page.keyboard.press("2")
    page.locator(f'{current}[data-id="2"]').wait_for()
    page.keyboard.press("n")
    page.keyboard.press("s")
    page.get_by_text("Saved as answer 1").wait_for()
    (row,) = saved()
    assert row["said"] == []
    second = list_reasons("T1")[1]
    assert json.loads(row["rejections"]) == [{"code": "T1", "reason": second, "turn": 3}]
    page.close()


def test_eight_presses_in_a_hurry_are_eight_decisions_and_a_reload_loses_none(
    browser: Any, server: Any, free_port: Callable[[], int], signed_in: SignIn, store: Store, saved: Saved
) -> None:
    long_dialogue(store, 20)
    wire = Wire(server.port, free_port())
    wire.start()
    page = browser.new_page(viewport={"width": 1280, "height": 700})
    page.set_default_timeout(WAIT_MS)
    signed_in(page, wire.port, "rob")
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
    wire.drop()
    page.keyboard.press("y")
    page.keyboard.press("y")
    assert states(page)[9:11] == ["kept", "kept"]
    page.wait_for_timeout(300)
    wire.mend()
    acknowledged(page)
    for _ in range(9):
        page.keyboard.press("y")
    page.get_by_text("20 of 20 decided").first.wait_for()
    assert in_view(page, "[data-do=save]")
    page.keyboard.press("s")
    page.get_by_text("Saved as answer 1").wait_for()
    (row,) = saved()
    assert [turn for turn, *_ in row["said"]] == [3, 7, 11, 15, *range(17, 40, 2)]
    page.close()
    wire.close()


def test_decisions_are_undone_after_a_reload(
    browser: Any, server: Any, signed_in: SignIn, store: Store, saved: Saved
) -> None:
    """One decision, two at once and an added finding; U takes back each step, the last first."""
    long_dialogue(store, 3)
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(WAIT_MS)
    signed_in(page, server.port, "rob")
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
    assert [turn for turn, *_ in row["said"]] == [1, 3, 5]
    assert page.locator("[data-do=undo]:disabled").count() == 1  # the next item has a history of its own
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1280, 700), (360, 740), (640, 450)])  # the last is 1280 x 900 at 200 %
def test_the_card_in_hand_and_save_are_always_in_view(
    browser: Any, server: Any, signed_in: SignIn, store: Store, size: tuple[int, int]
) -> None:
    long_dialogue(store, 21)
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.set_default_timeout(WAIT_MS)
    page.goto(f"http://127.0.0.1:{server.port}/")
    page.get_by_label("Name").fill("rob")
    page.get_by_label("Password", exact=True).fill("a long enough one")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Start").first.click()
    page.get_by_text("Dialogue many").wait_for()
    acknowledged(page)
    for _ in range(20):
        for part in (
            ".dialint-current [data-do=kept]",
            ".dialint-current [data-do=rejected]",
            "[data-do=save]",
        ):
            assert in_view(page, part), part
        assert in_view(page, ".dialint-turns mark.dialint-active")
        page.keyboard.press("y")
    assert page.locator(".dialint-current .dialint-title").text_content().startswith("21 ")
    wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wider <= 0
    picture(page, f"review-{size[0]}")
    page.close()


def test_a_labeler_works_by_keyboard(browser: Any, server: Any, signed_in: SignIn, saved: Saved) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(WAIT_MS)
    signed_in(page, server.port, "ann")
    ready_to_start(page)
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
    assert [row["said"] for row in saved()] == [[(1, "C1", "S2", 9, 13)], []]
    page.close()


def test_both_pages(browser: Any, server: Any, signed_in: SignIn, store: Store, saved: Saved) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(WAIT_MS)
    page.goto(f"http://127.0.0.1:{server.port}/")
    button(page, "Sign in").wait_for()
    picture(page, "sign-in")
    signed_in(page, server.port, "rob")
    started(page)
    page.get_by_text("Dialogue d2").wait_for()
    picture(page, "review")
    button(page, "Confirm").click()
    button(page, "Reject").click()
    page.get_by_text("Errors: 1").wait_for()
    page.locator("[data-turn='1'] .dialint-text").dblclick(position={"x": 20, "y": 10})
    page.get_by_text("Selected in turn 1:").wait_for()
    picture(page, "review-selected")
    page.locator("[data-do='add']").click()
    page.keyboard.type("C2")
    page.get_by_text("model-7 did not judge this code").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("Errors: 2").wait_for()
    button(page, "Save and next").click()
    page.get_by_text("Saved as answer 1").wait_for()
    page.get_by_text("Dialogue d1").wait_for()
    acknowledged(page)
    page.keyboard.press("Shift+U")
    page.get_by_text("you are changing your answer 1").wait_for()
    picture(page, "review-undo")
    (row,) = saved()
    assert row["said"] == [(1, "C1", "S2", 0, 14), (1, "C2", row["said"][1][2], 0, 8)]  # "Anything"

    label = browser.new_page(viewport={"width": 1280, "height": 800})
    label.set_default_timeout(WAIT_MS)
    signed_in(label, server.port, "ann")
    started(label)
    label.get_by_text("Read it all first.").wait_for()
    picture(label, "label")
    button(label, "No error here").click()
    label.get_by_text("Saved.").wait_for()
    label.locator("[data-turn='3']", has_text="owned").wait_for()
    acknowledged(label)
    assert (
        label.evaluate("document.querySelectorAll('.dialint-work :is(img, script, a, iframe)').length") == 0
    )
    assert label.evaluate("document.querySelectorAll('.dialint-text :is(b, strong)').length") == 0
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
    label.get_by_text("Selected in turn 3:").wait_for()
    picture(label, "label-hostile")
    label.locator("[data-do='add']").click()  # as the code in question: C1
    label.get_by_text("1 of 2 answered").first.wait_for()
    label.locator("[data-do='no T1']").click()
    label.get_by_text("2 of 2 answered").first.wait_for()
    button(label, "Save and next").click()
    label.get_by_text("We will look into it.").wait_for()
    acknowledged(label)
    (_, _, _, start, end) = saved()[2]["said"][0]
    assert hostile[start:end] == "<script>"
    assert "owned" not in label.title()
    label.set_viewport_size({"width": 420, "height": 800})
    picture(label, "label-narrow")
    label.goto(f"http://127.0.0.1:{server.port}/admin")  # no page of theirs
    label.get_by_text("This page is not open to your role.").wait_for()
    assert label.get_by_text("Page not found").count() == 0
    page.set_viewport_size({"width": 420, "height": 800})
    picture(page, "review-narrow")
    page.close()
    label.close()


FIRST_VISIBLE = """list => {
  const top = list.getBoundingClientRect().top;
  const first = [...list.children].find(turn => turn.getBoundingClientRect().bottom > top + 2);
  return [Number(first.dataset.turn), first.querySelector(".dialint-head").getBoundingClientRect().top - top];
}"""


def test_a_dialogue_scrolled_to_a_finding_begins_with_a_whole_turn(
    browser: Any, server: Any, signed_in: SignIn, store: Store
) -> None:
    texts = [f"Message {number} of a long dialogue." for number in range(60)]
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
    started(page)
    page.get_by_text("Dialogue long").wait_for()
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
    context = browser.new_context()  # keeps what does not change from one page to the next
    for name in queue:
        context.clear_cookies()
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        signed_in(page, server.port, "rob")
        started(page)
        page.get_by_text(f"Dialogue {name};").wait_for()
        button(page, "Confirm").click()
        page.get_by_text("1 of 1 decided").first.wait_for()
        acknowledged(page)
        button(page, "Save and next").click(no_wait_after=True)
        time.sleep(chance.uniform(0.0, 0.12))
        server.kill()
        is_acknowledged = page.get_by_text("Saved as answer").count() > 0
        stored = [row for row in saved() if row["dialogue"] == name]
        assert len(stored) == 1 if is_acknowledged else len(stored) <= 1
        server.start()
        page.close()
        if not stored:
            page = context.new_page()
            page.set_default_timeout(WAIT_MS)
            signed_in(page, server.port, "rob")
            page.get_by_text(f"Dialogue {name};").wait_for()
            page.get_by_text("1 of 1 decided").first.wait_for()  # the draft is there
            button(page, "Save and next").click()
            page.get_by_text("Saved as answer").wait_for()
            page.close()
        assert [row["said"] for row in saved() if row["dialogue"] == name] == [[(1, "C1", "S2", 0, 14)]]
    context.close()


def test_f9_two_reviewers_save_the_same_item(
    browser: Any, server: Any, signed_in: SignIn, store: Store, saved: Saved
) -> None:
    """Rob's lease runs out with his decision made, ria answers the same dialogue, and then he saves."""
    one, verdict = dialogues.read(store, "rob", "d1")
    assert verdict is not None
    projects.set_state(store, "lea", "to review", "closed")
    projects.create(store, "lea", Project(id="same", codes=("C1",), purpose="review", prelabelled=True))
    pages = {who: browser.new_context().new_page() for who in ("rob", "ria")}
    rob, ria = pages["rob"], pages["ria"]
    for who, page in pages.items():
        page.set_default_timeout(WAIT_MS)
        signed_in(page, server.port, who)
    for number in range(N):
        name = f"same{number}"
        dialogues.add(store, "lea", [one.model_copy(update={"id": name})])
        dialogues.add_verdicts(store, "lea", [verdict.model_copy(update={"dialogue_id": name})])
        tasks.add(store, "lea", "same", [NewTask(dialogue=name)])
        for page, decision in ((rob, "Reject"), (ria, "Confirm")):
            page.goto(f"http://127.0.0.1:{server.port}/review")
            started(page)
            page.get_by_text(f"Dialogue {name};").wait_for()
            button(page, decision).click()
            page.get_by_text("1 of 1 decided").first.wait_for()
            acknowledged(page)
            run_out = update(lease_rows).where(lease_rows.c.account == "rob").values(expires_ms=0)
            store.write(lambda transaction, run_out=run_out: transaction.run(run_out))
        button(ria, "Save and next").click()
        ria.get_by_text("Saved as answer").first.wait_for()
        hers: list[Any] = [(1, "C1", "S2", 0, 14)]
        assert [row["said"] for row in saved() if row["dialogue"] == name] == [hers]
        button(rob, "Save and next").click()
        rob.get_by_text("Yours is not saved yet").wait_for()
        for shown in ("ria (", "C1 Question ignored", "Nothing wrong here."):
            rob.get_by_text(shown).first.wait_for()  # both values are shown
        assert [row["said"] for row in saved() if row["dialogue"] == name] == [hers], "nothing is overwritten"
        keeps_both = number % 2 == 0
        rob.get_by_role("button", name="Save mine as well" if keeps_both else "Keep theirs").click()
        rob.get_by_text("Yours is not saved yet").wait_for(state="detached")
        expected = [hers, []] if keeps_both else [hers]
        assert [row["said"] for row in saved() if row["dialogue"] == name] == expected
    for page in pages.values():
        page.context.close()


@pytest.mark.slow
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
    started(page)
    for number, name in enumerate(queue):
        page.get_by_text(f"Dialogue {name};").wait_for()
        page.get_by_text("0 of 1 decided").first.wait_for()
        button(page, "Reject").click()
        page.get_by_text("1 of 1 decided").first.wait_for()
        if number % 3:  # else the wire is cut before the server has heard of it
            acknowledged(page)
        wire.drop()
        page.wait_for_timeout(100)
        wire.mend()
        if number % 2:  # the person reloads; otherwise the page finds its way back by itself
            page.reload()
            button(page, "Sign out").wait_for()
        page.get_by_text("1 of 1 decided").first.wait_for()
        acknowledged(page)
        button(page, "Save and next").click()
        page.get_by_text(f"Dialogue {name};").wait_for(state="detached")
        assert [row["said"] for row in saved() if row["dialogue"] == name] == [[]]
    page.close()
    wire.close()
    assert len(saved()) == len(queue)
