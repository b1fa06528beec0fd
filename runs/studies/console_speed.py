"""How long is a click? ``python runs/studies/console_speed.py [--sessions 20] [--clicks 200]``, in real
Chromium.

On a throw-away store with the demo's content several times over, people with a browser page each review
(confirm, reject, save) and label (yes, no, save). Time runs in the page, from the click until what it asked
for stands there: the decision on its card, or the next dialogue. Prints JSON with percentiles in
milliseconds. Browser and server share this machine, so the figures are an upper limit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from console_client import find_browser

from dialint.app.console.demo import LABEL, REVIEW, load_sample, make_demo, score_sample
from dialint.app.console.launch import server_command, server_environment
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.store import accounts, authentication, dialogues, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account, NewTask

PASSWORD = "for the benchmark only"
BEGIN = {"Review": "Reject", "Label": "Yes"}
"""A button that only this page has."""
START_S = 60.0
WAIT_MS = 30_000

CLICK = """async ([name, nth, ready]) => {
  const frame = () => new Promise(requestAnimationFrame);
  const main = () => document.querySelector('[data-testid="stMain"]');
  const button = () => [...main().querySelectorAll('button:not([disabled])')].filter(
    (each) => each.textContent.trim().startsWith(name))[nth];
  const shown = () => {
    const list = document.querySelector('.dialint-turns');
    return list && list.shown && JSON.parse(list.shown).shown;
  };
  const n = () => main().textContent.split(ready).length;
  const until = async (there) => {
    const started = performance.now();
    while (!there()) {
      await frame();
      if (performance.now() - started > 30000) throw new Error(name + ': no answer');
    }
  };
  await until(button);
  const before = ready === null ? shown() : n();
  const started = performance.now();
  button().click();
  await until(ready === null ? () => shown() && shown() !== before : () => n() > before);
  const changed = performance.now() - started;
  await until(() => document.querySelector('[data-test-script-state="notRunning"]'));
  return [changed, performance.now() - started];
}"""
"""Clicks the button and waits: for one more `ready` on the page, or for another dialogue."""


@dataclass(frozen=True)
class SpeedConfig:
    """What is measured."""

    sessions: int = 1
    """People at once; half of them (the first, too) begin with reviews and then label, the others end so."""
    clicks: int = 200
    """Items each page is measured with, all people together; there are more clicks within them."""
    pause_s: float = 0.0
    """Mean time that a person thinks before a click."""
    seed: int = 0


def run(config: SpeedConfig) -> dict[str, Any]:
    """Fill a store, start a server, let people click, and give the figures."""
    with tempfile.TemporaryDirectory(prefix="dialint-speed-") as folder:
        place = str(Path(folder) / "store.sqlite")
        _fill(place, config)
        with _server(place) as port:
            times = asyncio.run(_people(port, config))
    return {"sessions": config.sessions, "pause_s": config.pause_s, "milliseconds": _percentiles(times)}


def _fill(place: str, config: SpeedConfig) -> None:
    """The demo, an account for each person, and copies of the sample so that nobody runs out of tasks."""
    make_demo(place)
    found, said = load_sample(), {verdict.dialogue_id: verdict for verdict in read_verdicts(score_sample())}
    flagged = [each for each in found if said[each.id].findings]
    needed = config.clicks + 2 * config.sessions
    with Store.open(place) as store:
        for number in range(config.sessions):
            name = _name(number)
            accounts.create(store, "admin", Account(id=name, role="reviewer"), PASSWORD + name)
            authentication.choose_password(store, name, PASSWORD + name, PASSWORD)
        for copy in range(needed // len(flagged) + 1):
            names = {each.id: f"{each.id}~{copy}" for each in found}
            dialogues.add(store, "lead", [each.model_copy(update={"id": names[each.id]}) for each in found])
            verdicts = [said[each.id].model_copy(update={"dialogue_id": names[each.id]}) for each in flagged]
            dialogues.add_verdicts(store, "lead", verdicts)
            tasks.add(store, "lead", REVIEW, [NewTask(dialogue=names[each.id]) for each in flagged])
            tasks.add(store, "lead", LABEL, [NewTask(dialogue=names[each.id]) for each in found])


def _name(number: int) -> str:
    return f"person{number}"


@contextmanager
def _server(place: str) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    process = subprocess.Popen(server_command(port, "127.0.0.1"), env=server_environment(place, 3600.0))
    try:
        give_up_s = time.monotonic() + START_S
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health"):
                break
            if time.monotonic() > give_up_s:
                raise TimeoutError("the server did not start")
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


async def _people(port: int, config: SpeedConfig) -> dict[str, list[list[float]]]:
    from playwright.async_api import async_playwright

    times: dict[str, list[list[float]]] = defaultdict(list)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        people = [
            _Person(number, await browser.new_page(), times, config) for number in range(config.sessions)
        ]
        for person in people:
            await person.sign_in(port)
        await asyncio.gather(*(person.work() for person in people))
        await browser.close()
    return times


class _Person:
    """Somebody who works; the first item on each page is for warming up and not counted."""

    def __init__(
        self, number: int, page: Any, times: dict[str, list[list[float]]], config: SpeedConfig
    ) -> None:
        self.number, self.page, self.times, self.config = number, page, times, config
        self.chance = random.Random(config.seed + number)
        self.counted = False

    async def sign_in(self, port: int) -> None:
        self.page.set_default_timeout(WAIT_MS)
        await self.page.goto(f"http://127.0.0.1:{port}/")
        await self.page.get_by_label("Name").fill(_name(self.number))
        await self.page.get_by_label("Password", exact=True).fill(PASSWORD)
        await self.page.get_by_role("button", name="Sign in").click()
        await self.page.locator(".dialint-turn").first.wait_for()

    async def work(self) -> None:
        pages = [("Review", self._review), ("Label", self._label)]
        for page, item in reversed(pages) if self.number % 2 else pages:
            await self.page.get_by_role("link", name=page, exact=True).click()
            await self._shown(BEGIN[page]).first.wait_for()
            self.counted = False
            while len(self.times[f"next: {page}"]) < self.config.clicks:
                await item()
                await self._click(f"next: {page}", "Save and next", 0, None)
                self.counted = True

    async def _review(self) -> None:
        for number in range(await self._shown("Reject").count()):
            await self._click("confirm", "Confirm", number, "Confirmed ✓")
            await self._click("reject", "Reject", number, "Rejected ✗")

    async def _label(self) -> None:
        await self._click("yes", "Yes", 0, "yes, but mark where")
        for number in range(await self._shown("Yes").count()):
            await self._click("no", "No", number, "no ✗")

    def _shown(self, button: str) -> Any:
        """The buttons of that name; that of their key may follow it."""
        return self.page.locator("button", has_text=re.compile(f"^{re.escape(button)}"))

    async def _click(self, kind: str, button: str, nth: int, ready: str | None) -> None:
        if self.config.pause_s:
            await asyncio.sleep(self.chance.expovariate(1 / self.config.pause_s))
        times = await self.page.evaluate(CLICK, [button, nth, ready])
        if self.counted:
            self.times[kind].append(times)


def _percentiles(times: dict[str, list[list[float]]]) -> dict[str, dict[str, float]]:
    """Of each kind: until what was asked for is there, and until the server has no more to say."""
    figures = {}
    for kind, pairs in sorted(times.items()):
        changed, quiet = np.percentile(np.array(pairs), [50, 95], axis=0).T.round(1).tolist()
        figures[kind] = {"n": len(pairs), "p50": changed[0], "p95": changed[1], "quiet_p95": quiet[1]}
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = SpeedConfig()
    parser.add_argument("--sessions", type=int, default=default.sessions)
    parser.add_argument("--clicks", type=int, default=default.clicks)
    parser.add_argument("--pause-s", type=float, default=default.pause_s)
    parser.add_argument("--seed", type=int, default=default.seed)
    print(json.dumps(run(SpeedConfig(**vars(parser.parse_args()))), indent=2))


if __name__ == "__main__":
    main()
