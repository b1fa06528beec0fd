"""A page from a package of its own, and the paragraphs of the screens."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dialint.app.console import i18n, pages
from dialint.detector import plugins
from dialint.detector.errors import ConfigError

MODULE = """
import streamlit as st
from dialint.app.console.pages import ConsolePage

def show(store, account):
    st.text(f"shifts of {account.id}")

SHIFTS = ConsolePage("Shifts", "Quality", "plan", show)
OTHER = ConsolePage("Explore", "Quality", "plan", show)
WRONG = "no page"
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Installs a package that offers the page of a name."""
    caches = (plugins._installed, pages.load_pages)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "acme_pages.py").write_text(MODULE)

    def offer(name: str) -> None:
        metadata = tmp_path / "acme_pages-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-pages\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[dialint.pages]\nacme = acme_pages:{name}\n")
        for each in caches:
            each.cache_clear()

    yield offer
    monkeypatch.undo()
    for each in caches:
        each.cache_clear()


def test_a_page_of_another_package_opens_for_those_with_its_right(
    install: Callable[[str], None], open_page: Callable[..., Any]
) -> None:
    install("SHIFTS")
    assert "shifts of lea" in open_page("lea", at="Shifts").words
    assert "not open to your role" in open_page("rob", at="Shifts").words


@pytest.mark.parametrize(
    ("name", "problem"), [("OTHER", "a page at /explore already"), ("WRONG", "expected a ConsolePage")]
)
def test_a_page_that_cannot_be_is_refused_in_one_line(
    install: Callable[[str], None], name: str, problem: str
) -> None:
    install(name)
    with pytest.raises(ConfigError, match=problem) as refused:
        pages.load_pages()
    assert "\n" not in str(refused.value)


def test_every_paragraph_is_used_and_has_unique_first_words() -> None:
    code = "".join(path.read_text() for path in Path(i18n.__file__).parent.rglob("*.py"))
    starts = [json.loads(each) for each in re.findall(r'paragraph\(\s*("(?:[^"\\]|\\.)*")', code)]
    texts = {i18n.paragraph(start) for start in starts}
    assert texts == set(i18n.load_paragraphs())
    assert all(sum(text.startswith(start) for text in texts) == 1 for start in starts)
