"""The ASGI application that ``python -m streamlit run`` serves: the console's script behind the
middleware, the HTML of its pages, downloads, and the thread that runs scoring jobs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from streamlit.starlette import App

from dialint.app.console import access, oidc
from dialint.app.console.adjudication.appeal_history import ROUTES as DEMOTION_ROUTES
from dialint.app.console.index_page import index_routes
from dialint.app.console.launch import HOSTS_VARIABLE
from dialint.app.console.main import PAGES, page_address
from dialint.app.console.middleware import SecurityMiddleware
from dialint.app.console.releases.own_thresholds import ROUTES as THRESHOLD_ROUTES
from dialint.app.console.releases.spot_checks import ROUTES as SPOT_CHECK_ROUTES
from dialint.app.console.scoring.downloads import ROUTES
from dialint.app.console.scoring.runner import ScoreRunner
from dialint.app.console.theme import STATIC, STATIC_PATH


@asynccontextmanager
async def run_jobs(app: App) -> AsyncIterator[dict[str, Any]]:
    """Runs scoring jobs as long as the server lives; those of before it go on."""
    runner = ScoreRunner()
    runner.start()
    try:
        yield {}
    finally:
        runner.close()


PROVIDER = oidc.load_server_config()

app = App(
    Path(__file__).with_name("main.py"),
    routes=[
        *index_routes(("", *(page_address(title) for title in ("Home", "Sign in", *PAGES)))),
        Mount(STATIC_PATH, StaticFiles(directory=STATIC)),
        *access.ROUTES,
        *ROUTES,
        *THRESHOLD_ROUTES,
        *DEMOTION_ROUTES,
        *SPOT_CHECK_ROUTES,
        *(oidc.make_routes(PROVIDER, os.environ.get("DIALINT_STORE", "")) if PROVIDER else ()),
    ],
    lifespan=run_jobs,
    middleware=[
        Middleware(
            SecurityMiddleware,
            hosts=os.environ.get(HOSTS_VARIABLE, "").split(),
            may_upload=access.may_upload,
            sign_in_paths=oidc.PATHS if PROVIDER else (),
        )
    ],
)
