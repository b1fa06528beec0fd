"""How long do a first view and clicks on a long dialogue take? ``python runs/studies/console_long.py``

A made-up dialogue (1,500 characters a turn) in a throw-away store, and a labeler who reads it masked in real
Chromium. Seconds run from a click until what it asked for stands on the page, browser and server on this
machine. Prints JSON with the machine's load, which the figures cannot be read without.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from console_client import find_browser
from console_speed import _server

from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.labeling.store import accounts, dialogues, passwords, projects, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade
from dialint.labeling.store.masked_view import prepare_view
from dialint.labeling.store.records import Account, NewTask, Project

ONCE, PASSWORD = "for one time only", "for the benchmark only"
WORDS = ("where", "is", "my", "parcel", "and", "when", "will", "it", "come", "the", "order", "was", "placed")
CHARS = 1500


def made_up(turns: int) -> Dialogue:
    """A dialogue with an address in each twentieth turn."""
    chance = random.Random(0)
    texts = []
    for number in range(turns):
        words = chance.choices(WORDS, k=CHARS // 5)
        if number % 20 == 0:
            words[5] = f"anna{number % 7}@example.com"
        texts.append(" ".join(words)[:CHARS])
    made = (Turn(index=n, role="agent" if n % 2 else "customer", text=text) for n, text in enumerate(texts))
    return Dialogue(id="long", turns=tuple(made))


def populate(place: str, dialogue: Dialogue) -> float:
    """The store with one task; seconds that masking took when the dialogue came in."""
    upgrade(place)
    with Store.open(place) as store:
        accounts.create_first(store, "ada", ONCE)
        accounts.create(store, "ada", Account(id="ann", role="labeler"), ONCE)
        passwords.choose_password(store, "ann", ONCE, PASSWORD)
        dialogues.add(store, "ada", [dialogue])
        where = len(dialogue.turns) // 2 * 2 - 1
        found = Finding(
            code="C1", turn=where, severity="S2", probability=0.9, quote=dialogue.turns[where].text[:9],
            start=0, end=9, reason="It was passed over.",
        )  # fmt: skip
        said = Verdict(
            dialogue_id="long", release="m", taxonomy="1", status="scored", quality=50.0, findings=(found,)
        )
        dialogues.add_verdicts(store, "ada", [said])
        projects.create(store, "ada", Project(id="p", codes=("C1", "T1"), prelabelled=True))
        tasks.add(store, "ada", "p", [NewTask(dialogue="long")])
        started = time.perf_counter()
        prepare_view(store, "long")
        return time.perf_counter() - started


def measured(port: int) -> dict[str, float]:
    """Seconds of the first view and of clicks."""
    from playwright.sync_api import sync_playwright

    found: dict[str, float] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)

        def timed(what: str, button: Any, ready: Any, state: str = "visible") -> None:
            page.locator('[data-test-script-state="notRunning"]').first.wait_for(state="attached")
            page.wait_for_timeout(500)
            started = time.perf_counter()
            button.click()
            ready.first.wait_for(state=state)
            found[what] = round(time.perf_counter() - started, 2)

        def button(name: str) -> Any:
            return page.locator("button:not([disabled])", has_text=name).first

        page.goto(f"http://127.0.0.1:{port}/")
        page.get_by_label("Name").fill("ann")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        timed("first view, sign-in included", button("Sign in"), page.locator(".dialint-turn"))
        timed("no", button("No"), page.get_by_text("no ✗"))
        timed("later page", button("Later ▶"), page.locator('[data-turn="0"]'), "detached")
        timed("yes", button("Yes"), page.get_by_text("no ✗"), "detached")
        timed("select a word", _Double(page.locator(".dialint-text[data-selectable]").nth(1)), page.get_by_text("Selected in turn"))  # fmt: skip # noqa: E501
        page.get_by_role("combobox", name="Error").last.click()
        page.get_by_role("option").nth(1).click()
        timed("add a finding", button("Add finding"), page.get_by_text("Selected in turn"), "detached")
        browser.close()
    return found


class _Double:
    """Something that is to be clicked twice."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def click(self) -> None:
        self.target.dblclick(position={"x": 20, "y": 10})


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=5000)
    dialogue = made_up(parser.parse_args().turns)
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "store.sqlite")
        told: dict[str, Any] = {"characters": sum(len(turn.text) for turn in dialogue.turns)}
        told["masked when brought in"] = round(populate(place, dialogue), 1)
        with _server(place) as port:
            told |= measured(port)
        print(json.dumps({**told, "load": os.getloadavg()}, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()
