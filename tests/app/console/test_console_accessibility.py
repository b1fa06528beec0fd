"""Every page of the console under axe-core in a real browser, in the languages and on a phone. The dark theme is left
to the contrast of its colours (`test_console_theme`)."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from patience import WAIT_MS

from dialint.app.console.i18n import load_catalogue
from dialint.app.console.pages import load_pages

DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 360, "height": 780}
WIDER = "document.documentElement.scrollWidth - window.innerWidth"
Settle = Callable[[Any], None]


def violations(page: Any) -> list[str]:
    results = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{each['id']} ({each['impact']}, {len(each['nodes'])}): {each['nodes'][0]['html'][:200]}"
        for each in results
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.slow
def test_no_page_has_a_serious_violation_or_is_wider_than_a_phone(
    page_of: Callable[..., Any], server: Any, settle: Settle
) -> None:
    page = page_of("lea")
    failures: list[str] = []
    for entry in load_pages().values():
        if entry.is_hidden:
            continue
        page.set_viewport_size(DESKTOP)
        page.goto(f"http://127.0.0.1:{server.port}/{entry.address}")
        page.get_by_text("Signed in as").first.wait_for(state="attached")
        settle(page)
        failures += [f"{entry.title}: {each}" for each in violations(page)]
        page.set_viewport_size(PHONE)
        page.wait_for_timeout(300)
        if (wider := page.evaluate(WIDER)) > 0:
            failures.append(f"{entry.title}: {wider} px wider than {PHONE['width']} px")
    page.set_viewport_size(DESKTOP)  # the sidebar is closed on a phone
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Name").wait_for(timeout=WAIT_MS)
    failures += violations(page)
    assert not failures, "\n".join(failures)


def test_a_language_reaches_the_title_the_document_and_streamlits_own_texts(
    page_of: Callable[..., Any], settle: Settle
) -> None:
    page = page_of("lea", "score")
    settle(page)
    assert page.title() == "Score · dialint"
    for name, language in (("Русский", "ru"), ("English", "en")):
        page.get_by_test_id("stSidebar").get_by_test_id("stSelectbox").last.get_by_role("combobox").click()
        page.get_by_role("option", name=name).click()
        page.wait_for_function("language => document.documentElement.lang === language", arg=language)
        settle(page)
        assert page.title() == f"{load_catalogue(language).gettext('Score')} · dialint"  # type: ignore[arg-type]
        buttons = "".join(page.get_by_role("button").all_inner_texts())
        assert ("Upload" in buttons) == (language == "en"), buttons


def test_a_phone_shows_results_before_eleven_filters(page_of: Callable[..., Any], settle: Settle) -> None:
    page = page_of("lea", "explore", **PHONE)
    settle(page)
    table = page.get_by_test_id("stTable").first
    table.wait_for()
    assert table.bounding_box()["y"] < PHONE["height"]
    page.get_by_text("More filters").click()
    assert page.get_by_text("Probability, %").is_visible()
