"""Takes screenshots of the console's pages in a real browser.

    python runs/studies/console_screenshots.py OUT [--pages Overview ...] [--role lead] [--themes dark]

Runs `dialint console --demo` on a free port, signs in by role and saves ``OUT/PAGE-THEME-WIDTH.png``. Prints
requests to other hosts, errors in the browser's log, and horizontal overflow.
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from console_client import find_browser
from PIL import Image
from playwright.sync_api import sync_playwright

from dialint.app.console.i18n import LANGUAGES, ROLE_NAMES, Language, load_catalogue
from dialint.app.console.pages import START, load_pages
from dialint.labeling.store.permissions import LOWEST_ROLE

PAGES = {page.title: page for page in load_pages().values()}
WIDTHS = {"wide": (1440, 900), "narrow": (360, 780)}
THEMES = ("light", "dark")
WAIT_MS = 60_000
START_WORK = re.compile("^Start (reviewing|labeling)")


@contextmanager
def run_demo() -> Iterator[tuple[int, dict[str, str]]]:
    """Runs the demo; yields its port, and the password of each role."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "dialint", "console", "--demo", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        passwords: dict[str, str] = {}
        assert server.stdout is not None
        for line in server.stdout:
            parts = line.split()
            if line.startswith("  ") and len(parts) == 2:
                passwords[parts[0]] = parts[1]
            if line.startswith("http"):
                break
        try:
            yield port, passwords
        finally:
            server.terminate()


def open_signed_in(
    browser: Any, port: int, role: str, password: str, theme: str, width: str, language: Language
) -> Any:
    """Returns a page of a new browser context in which a role is signed in."""
    width_px, height_px = WIDTHS[width]
    context = browser.new_context(
        viewport={"width": width_px, "height": height_px}, color_scheme=theme, locale=language
    )
    translate = load_catalogue(language).gettext
    page = context.new_page()
    page.on("console", lambda message: message.type == "error" and print(f"  browser: {message.text}"))
    page.on("request", lambda request: _report_foreign(request.url, port))
    for _ in range(60):
        try:
            page.goto(f"http://127.0.0.1:{port}/")
            break
        except Exception:  # noqa: BLE001  the server is starting
            page.wait_for_timeout(500)
    page.get_by_label(translate("Name")).fill(role, timeout=WAIT_MS)
    page.get_by_label(translate("Password"), exact=True).fill(password)
    page.get_by_role("button", name=translate("Sign in")).click()
    _wait_signed_in(page, role, language)
    return page


def _wait_signed_in(page: Any, role: str, language: Language) -> None:
    translate = load_catalogue(language).gettext
    status = translate("Signed in as {name} ({role})").format(
        name=role, role=translate(ROLE_NAMES["labeler" if role == "agent" else role])
    )  # type: ignore[index]
    page.get_by_text(status).first.wait_for(state="attached", timeout=WAIT_MS)


def _report_foreign(url: str, port: int) -> None:
    if not url.startswith((f"http://127.0.0.1:{port}/", f"ws://127.0.0.1:{port}/", "data:", "blob:")):
        print(f"  another host was asked: {url}")


def role_of(title: str) -> str:
    """Returns the demo's account for a page: that of the lowest role that sees it."""
    entry = PAGES[title]
    if entry.for_agents:
        return "agent" if entry.others is None else "lead"
    return next((role for role, start in START.items() if start is entry), LOWEST_ROLE[entry.right])


def start_work(page: Any) -> None:
    """Opens the first task of the page, if it has tasks."""
    start = page.get_by_role("button", name=START_WORK)
    if start.count():
        start.first.click()
        page.locator(".dialint-turn").first.wait_for(timeout=WAIT_MS)


def save_picture(page: Any, path: Path) -> None:
    """Saves the visible page in 128 colours, which is a third of the bytes."""
    with Image.open(BytesIO(page.screenshot())) as picture:
        picture.convert("RGB").quantize(128).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--pages", nargs="*", default=[name for name, entry in PAGES.items() if not entry.is_hidden]
    )
    parser.add_argument("--role", help="one role for all pages, instead of the lowest that sees each")
    parser.add_argument("--language", choices=LANGUAGES, default="en")
    parser.add_argument("--themes", nargs="*", choices=THEMES, default=THEMES[:1])
    parser.add_argument("--widths", nargs="*", choices=WIDTHS, default=["wide"])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with run_demo() as (port, passwords), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        for theme in options.themes:
            for width in options.widths:
                by_role: dict[str, Any] = {}
                for title in options.pages:
                    role = options.role or role_of(title)
                    if role not in by_role:
                        by_role[role] = open_signed_in(
                            browser, port, role, passwords[role], theme, width, options.language
                        )
                    page = by_role[role]
                    page.goto(f"http://127.0.0.1:{port}/{title.lower().replace(' ', '-')}")
                    _wait_signed_in(page, role, options.language)
                    page.locator('[data-test-script-state="notRunning"]').first.wait_for(
                        state="attached", timeout=WAIT_MS
                    )
                    page.locator("[data-testid=stSkeleton]").first.wait_for(state="detached", timeout=WAIT_MS)
                    start_work(page)
                    page.wait_for_timeout(1200)
                    name = f"{title.lower().replace(' ', '-')}-{theme}-{width}"
                    save_picture(page, options.out / f"{name}.png")
                    wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                    print(f"{name}{f': {wider} px wider than the window' if wider > 0 else ''}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
