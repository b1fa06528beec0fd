"""Links between pages: a number leads to the dialogues that it counts."""

from __future__ import annotations

from urllib.parse import urlencode

from dialint.app.console.text import safe_markdown


def explore_address(**filters: str | None) -> str:
    """The address of the Explore page with these filters; None and empty ones are left out."""
    chosen = {name: value for name, value in filters.items() if value}
    return f"/explore?{urlencode(chosen)}" if chosen else "/explore"


def link(text: str, address: str) -> str:
    """A link as Markdown: `text` is inert, and `address` is one of ours, its parts percent-encoded."""
    return f"[{safe_markdown(text)}]({address})"
