"""Measures how fast a key of the Review page is seen and kept.

Milliseconds from the press to the changed card in the browser, to the server's acknowledgement, and from Save
to the next dialogue.

    python runs/studies/console_keys.py [--presses 30]

Runs `dialint console --demo` and a real browser on this machine; prints median and 95th percentile.
"""

from __future__ import annotations

import argparse
from statistics import median, quantiles

from console_client import find_browser
from console_screenshots import open_signed_in, run_demo
from playwright.sync_api import sync_playwright

ACKNOWLEDGED = """() => {
  const work = document.querySelector(".dialint-work")?.work;
  return work && work.data && !work.draft.pending.length && !work.draft.busy;
}"""
PRESS = """async (key) => {
  const work = document.querySelector(".dialint-work").work;
  const before = work.cards.textContent + work.foot.textContent;
  const draft = work.draft.key;
  const start = performance.now();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const changed = work.cards.textContent + work.foot.textContent !== before;
  await new Promise(requestAnimationFrame);
  const painted = performance.now() - start;
  const isKept = () => !work.draft.pending.length && !work.draft.busy;
  const isDone = () => (key === "s" ? work.draft.key !== draft : isKept());
  while (!isDone()) await new Promise((done) => setTimeout(done, 1));
  return [changed, painted, performance.now() - start];
}"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--presses", type=int, default=30)
    presses = parser.parse_args().presses
    times: dict[str, list[float]] = {"seen": [], "acknowledged": [], "next dialogue": []}
    with run_demo() as (port, passwords), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = open_signed_in(browser, port, "reviewer", passwords["reviewer"], "light", "wide", "en")
        page.goto(f"http://127.0.0.1:{port}/review")
        page.get_by_role("button", name="Start").first.click()
        page.wait_for_function(ACKNOWLEDGED, timeout=60_000)
        while len(times["seen"]) < presses:
            n_open = page.evaluate("document.querySelector('.dialint-work').work.openItems().length")
            if not n_open and len(times["next dialogue"]) < 8:
                times["next dialogue"].append(page.evaluate(PRESS, "s")[2])
                page.wait_for_function(ACKNOWLEDGED)
                continue
            changed, seen, kept = page.evaluate(PRESS, "y" if n_open else "u")
            assert changed, "the key changed nothing"
            times["seen"].append(seen)
            times["acknowledged"].append(kept)
        browser.close()
    for name, values in times.items():
        late = quantiles(values, n=20)[-1] if len(values) > 1 else values[0]
        print(f"{name}: median {median(values):.0f} ms, 95th percentile {late:.0f} ms, n = {len(values)}")


if __name__ == "__main__":
    main()
