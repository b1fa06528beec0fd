"""The ASGI application that ``python -m streamlit run`` serves: the console's script behind the middleware,
the HTML of its pages, and downloads.

The HTML has the scripts and styles of Streamlit's own `index.html`, which it replaces because of two things
that a browser logs as errors there: an inline script, which the content security policy blocks, and a search
for the server below the address of the page before the right one (404). `static/server.js` says where it is,
which also saves each page load a round trip. `static/empty_page.js` loads a page again that a broken
connection left empty, `static/document.js` names the language of the page to screen readers.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from streamlit.starlette import App

from dialint.app.console import oidc
from dialint.app.console import sessions as access
from dialint.app.console.launch import HOSTS_VARIABLE, ICON, STATIC, STATIC_PATH
from dialint.app.console.middleware import SecurityMiddleware
from dialint.app.console.pages import RESERVED, load_pages
from dialint.app.console.system.score_results import ROUTES
from dialint.app.scoring.background import stop_all


@asynccontextmanager
async def end_jobs(app: App) -> AsyncIterator[dict[str, Any]]:
    """Ends the scoring jobs with the server."""
    try:
        yield {}
    finally:
        stop_all()


STREAMLIT_INDEX = Path(st.__file__).parent / "static" / "index.html"
_ASSETS = re.compile(
    r'<script type="module"[^<>]*+></script>|<link rel="(?:modulepreload|stylesheet)"[^<>]*+>'
)


def make_index(streamlit_html: str) -> str:
    """Return the HTML, with the scripts and styles that Streamlit's own loads."""
    assets = "\n    ".join(_ASSETS.findall(streamlit_html))
    html = Path(__file__).with_name("index.html").read_text(encoding="utf-8")
    return html.format(icon=ICON, static=STATIC_PATH, assets=assets)


def index_routes(addresses: Iterable[str]) -> list[Route]:
    """Return a route for each page."""
    html = make_index(STREAMLIT_INDEX.read_text(encoding="utf-8"))

    async def answer(request: Request) -> HTMLResponse:
        return HTMLResponse(html, headers={"cache-control": "no-cache"})

    return [Route(f"/{address}", answer) for address in addresses]


PROVIDER = oidc.load_server_config()

app = App(
    Path(__file__).with_name("main.py"),
    routes=[
        *index_routes((*RESERVED, *load_pages())),
        Mount(STATIC_PATH, StaticFiles(directory=STATIC)),
        *access.ROUTES,
        *ROUTES,
        *(oidc.make_routes(PROVIDER, os.environ.get("DIALINT_STORE", "")) if PROVIDER else ()),
    ],
    lifespan=end_jobs,
    middleware=[
        Middleware(
            SecurityMiddleware,
            hosts=os.environ.get(HOSTS_VARIABLE, "").split(),
            may_upload=access.may_upload,
            sign_in_paths=oidc.PATHS if PROVIDER else (),
        )
    ],
)
