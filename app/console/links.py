"""Links between pages: a number leads to the dialogues that it counts."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

import streamlit as st

from dialint.app.console.text import safe_markdown


def explore_address(**filters: str | None) -> str:
    """The address of the Explore page with these filters; None and empty ones are left out."""
    chosen = {name: value for name, value in filters.items() if value}
    return f"/explore?{urlencode(chosen)}" if chosen else "/explore"


def dialogue_address(name: str, **filters: str | None) -> str:
    """The address of a dialogue's page; with `filters`, as one of the results of that search."""
    chosen = {key: value for key, value in filters.items() if value}
    return f"/dialogue?{urlencode({'id': name, **chosen}, quote_via=quote, safe='')}"


def go_to(address: str, query: Mapping[str, str] | None = None) -> None:
    """Show another page of the console, by its address, in the same session and tab."""
    st.switch_page(st.Page(lambda: None, title=address, url_path=address), query_params=query)


def link(text: str, address: str) -> str:
    """A link as Markdown: `text` is inert, and `address` is one of ours, its parts percent-encoded."""
    return f"[{safe_markdown(text)}]({address})"
