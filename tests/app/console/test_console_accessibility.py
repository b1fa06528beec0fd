"""Every page of the console under axe-core in a real browser: no serious violation, nothing wider than a phone,
nothing that the browser logs as an error.

`DIALINT_AXE_THEMES=light,dark` looks at both themes; without it the dark one is left to `theme.py`'s own test.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from console_client import address_of
from patience import WAIT_MS

from dialint.app.console.pages import load_pages

PAGES = {page.title: page for page in load_pages().values()}

THEMES = os.environ.get("DIALINT_AXE_THEMES", "light").split(",")
SERIOUS = ("serious", "critical")
PHONE_PX = 360


def violations(page: Any) -> list[str]:
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{each['id']} ({each['impact']}, {len(each['nodes'])}): {each['nodes'][0]['html'][:200]}"
        for each in found
        if each["impact"] in SERIOUS
    ]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.slow
def test_no_page_has_a_serious_violation(
    browser: Any, server: Any, signed_in: Callable[[Any, int, str], None],
    watch: Callable[[Any, list[str]], None], settle: Callable[[Any], None], theme: str,
) -> None:  # fmt: skip
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    failures: dict[str, list[str]] = {}
    watch(page, failures.setdefault("Log of the browser", []))
    page.goto(f"http://127.0.0.1:{server.port}/")
    page.get_by_label("Name").wait_for(timeout=WAIT_MS)
    failures["Sign in"] = violations(page)
    signed_in(page, server.port, "lea")
    for title, entry in PAGES.items():
        if entry.is_hidden:
            continue
        page.set_viewport_size({"width": 1440, "height": 900})
        link = page.get_by_test_id("stSidebar").get_by_role("link", name=title, exact=True)
        if link.count():
            link.click()
            page.wait_for_url(f"**/{address_of(title)}*")
        else:  # a page for others
            page.goto(f"http://127.0.0.1:{server.port}/{address_of(title)}")
            page.get_by_text("Signed in as").first.wait_for(state="attached")
        settle(page)
        failures[title] = violations(page)
        page.set_viewport_size({"width": PHONE_PX, "height": 780})
        page.wait_for_timeout(300)
        if (wider := page.evaluate("document.documentElement.scrollWidth - window.innerWidth")) > 0:
            failures[title].append(f"{wider} px wider than {PHONE_PX} px")
    context.close()
    listed = [f"{title}: {one}" for title, found in failures.items() for one in found]
    assert not listed, "\n".join(listed)
