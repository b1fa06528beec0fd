"""The ASGI application that ``python -m streamlit run`` serves: the console's script behind the
middleware."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from streamlit.starlette import App

from dialint.app.console.launch import HOSTS_VARIABLE
from dialint.app.console.middleware import SecurityMiddleware
from dialint.app.console.theme import STATIC, STATIC_PATH

app = App(
    Path(__file__).with_name("main.py"),
    routes=[Mount(STATIC_PATH, StaticFiles(directory=STATIC))],
    middleware=[Middleware(SecurityMiddleware, hosts=os.environ.get(HOSTS_VARIABLE, "").split())],
)
