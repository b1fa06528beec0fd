"""What belongs to the whole document, in a real browser: the tab's title, the language, and phones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from console_client import address_of
from patience import WAIT_MS

from dialint.app.console.i18n import load_catalogue

PHONE = {"width": 390, "height": 844}
LOOSE = ("options available", "option available", "вариант")
"""In what Streamlit announces for a moment after a choice."""
TEXTS = """() => {
  const texts = [document.title, document.documentElement.lang];
  const walk = (node) => {
    if (node.nodeType === 3 && node.data.trim()) texts.push(node.data.trim());
    if (node.nodeType === 1) {
      if (["STYLE", "SCRIPT", "NOSCRIPT"].includes(node.tagName)) return;
      for (const name of ["aria-label", "placeholder", "title"]) {
        if (node.getAttribute(name)) texts.push(node.getAttribute(name));
      }
    }
    if (node.shadowRoot) walk(node.shadowRoot);
    node.childNodes.forEach(walk);
  };
  walk(document.body);
  return texts;
}"""


@pytest.fixture(scope="module")
def lead(
    browser: Any, start_server: Callable[[str], Any], template: Path, tmp_path_factory: pytest.TempPathFactory,
    signed_in: Callable[[Any, int, str], None],
) -> tuple[Any, int]:  # fmt: skip
    """A lead's page, signed in, and the port."""
    place = tmp_path_factory.mktemp("document") / "store.sqlite"
    place.write_bytes(template.read_bytes())
    server = start_server(str(place))
    page = browser.new_context(viewport={"width": 1440, "height": 1000}, locale="en").new_page()
    page.set_default_timeout(WAIT_MS)
    signed_in(page, server.port, "lea")
    return page, server.port


def go(page: Any, port: int, title: str, settle: Callable[[Any], None]) -> None:
    page.goto(f"http://127.0.0.1:{port}/{address_of(title)}")
    page.locator(".dialint-language").first.wait_for(state="attached")
    settle(page)


def choose_language(page: Any, name: str, settle: Callable[[Any], None]) -> None:
    page.get_by_test_id("stSidebar").get_by_test_id("stSelectbox").last.get_by_role("combobox").click()
    page.get_by_role("option", name=name).click()
    settle(page)


@pytest.mark.parametrize("title", ["Overview", "Explore", "Releases", "Score"])
def test_a_tab_is_named_and_a_language_reaches_everything_at_once(
    lead: tuple[Any, int], settle: Callable[[Any], None], title: str
) -> None:
    """After the switch, all that can be read or is announced is what a new load of the page gives."""
    page, port = lead
    go(page, port, title, settle)
    assert page.title() == f"{title} · dialint"
    for name, language in (("Русский", "ru"), ("Español", "es"), ("English", "en")):
        choose_language(page, name, settle)
        translate = load_catalogue(language).gettext  # type: ignore[arg-type]
        page.wait_for_function("language => document.documentElement.lang === language", arg=language)
        assert page.title() == f"{translate(title)} · dialint"
        if language != "ru":
            continue
        switched = {each for each in page.evaluate(TEXTS) if not any(loose in each for loose in LOOSE)}
        go(page, port, title, settle)
        page.wait_for_function("language => document.documentElement.lang === language", arg=language)
        loaded = set(page.evaluate(TEXTS))
        for _ in range(60):  # charts are drawn last
            if switched <= loaded:
                break
            page.wait_for_timeout(200)
            loaded = set(page.evaluate(TEXTS))
        assert switched - loaded == set()
        assert not loaded & {"Upload", "Skip to main content", "Collapse sidebar", "Choose an option"}


def serious(page: Any) -> list[str]:
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def test_a_phone_shows_results_before_eleven_filters_and_every_column(
    lead: tuple[Any, int], settle: Callable[[Any], None]
) -> None:
    page, port = lead
    page.set_viewport_size(PHONE)
    go(page, port, "Explore", settle)
    table = page.get_by_test_id("stTable").first
    table.wait_for()
    boxes = page.get_by_test_id("stMain").get_by_test_id("stSelectbox").locator("visible=true")
    assert boxes.count() == 2
    assert table.bounding_box()["y"] < PHONE["height"]
    page.get_by_text("More filters").click()
    assert page.get_by_text("Probability, %").is_visible()
    assert serious(page) == []
    go(page, port, "Releases", settle)
    table.wait_for()
    table = table.locator("> div")
    scrolls = "each => [each.scrollWidth > each.clientWidth, getComputedStyle(each).overflowX]"
    assert table.evaluate(scrolls) == [True, "auto"]
    first = table.locator("td").first
    before = first.bounding_box()["x"]
    table.evaluate("each => each.scrollTo(80, 0)")
    assert first.bounding_box()["x"] == pytest.approx(before, abs=1)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("view", ["Spot checks", "Promote and roll back"])
def test_the_views_of_releases_are_for_everybody(
    lead: tuple[Any, int], settle: Callable[[Any], None], view: str
) -> None:
    page, port = lead
    page.set_viewport_size(PHONE)
    go(page, port, "Releases", settle)
    page.get_by_role("radio", name=view).click()
    settle(page)
    if view == "Spot checks":
        page.get_by_role("button", name="Draw a spot check").click()
        page.get_by_role("button", name="Draw", exact=True).click()
        page.get_by_role("button", name="Arguable").wait_for()
        settle(page)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
