"""The HTML that a browser loads first, at the address of each page.

It has the scripts and styles of Streamlit's own `index.html`, which it stands for because of two things that
a browser logs as errors there: an inline script, which the content security policy blocks, and a search for
the server below the address of the page before the right one (404). `static/server.js` says where it is,
which also saves each page load a round trip. `static/empty_page.js` loads a page again that a broken
connection left empty, `static/document.js` names the language of the page to screen readers. Streamlit's
answer remains at addresses that are no page's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from dialint.app.console.theme import ICON, STATIC_PATH

STREAMLIT_INDEX = Path(st.__file__).parent / "static" / "index.html"
_ASSETS = re.compile(
    r'<script type="module"[^<>]*+></script>|<link rel="(?:modulepreload|stylesheet)"[^<>]*+>'
)
_HTML = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="UTF-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="shortcut icon" href=".{icon}" />
    <title>dialint</title>
    <script src=".{static}/server.js"></script>
    <script src=".{static}/empty_page.js" defer></script>
    <script src=".{static}/document.js" defer></script>
    {assets}
  </head>
  <body>
    <noscript>dialint needs JavaScript.</noscript>
    <div id="root"></div>
  </body>
</html>
"""


def make_index(streamlit_html: str) -> str | None:
    """The HTML, with what Streamlit's own loads; none if no script is found in that."""
    assets = _ASSETS.findall(streamlit_html)
    if not any(each.startswith("<script") for each in assets):
        return None
    return _HTML.format(icon=ICON, static=STATIC_PATH, assets="\n    ".join(assets))


def index_routes(addresses: Iterable[str]) -> list[Route]:
    """A route for each address of a page; none where a later Streamlit's HTML cannot be read, which then
    answers itself."""
    html = make_index(STREAMLIT_INDEX.read_text(encoding="utf-8"))
    if html is None:
        return []

    async def answer(request: Request) -> HTMLResponse:
        return HTMLResponse(html, headers={"cache-control": "no-cache"})

    return [Route(f"/{address}", answer) for address in addresses]
