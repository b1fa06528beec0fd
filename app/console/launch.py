"""Starting the console: a store that is ready, a first account, and Streamlit with safe settings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from app.console.session import IDLE_VARIABLE
from labeling.store import accounts
from labeling.store.database.schema import accounts as account_rows
from labeling.store.database.transactions import Store
from labeling.store.database.upgrade import upgrade

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("main.py")
FIRST = "admin"
STOP_S = 10.0

SETTINGS = {
    "server.headless": "true",
    "server.enableCORS": "true",
    "server.enableXsrfProtection": "true",
    "server.enableStaticServing": "false",
    "server.enableAgentApi": "false",
    "server.fileWatcherType": "none",
    "server.maxUploadSize": "1",
    "browser.gatherUsageStats": "false",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "client.toolbarMode": "minimal",
    "client.disableDataExport": "true",
    "runner.magicEnabled": "false",
    "runner.postScriptGC": "false",  # 80 ms of CPU after each click, during which no answer is sent
    "theme.base": "light",
    "theme.primaryColor": "#1c5fb0",
    "logger.level": "error",
}
"""Of Streamlit; flags come before every configuration file it may find."""


def command(port: int, address: str) -> list[str]:
    """The command line of the server."""
    flags = {**SETTINGS, "server.port": str(port), "server.address": address}
    options = [f"--{name}={value}" for name, value in flags.items()]
    return [sys.executable, "-m", "streamlit", "run", str(SCRIPT), *options]


def environment(place: str | None, idle_s: float) -> dict[str, str]:
    """The server's environment; the store's URL may hold a password, so it is on no command line."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    kept = {**os.environ, "PYTHONPATH": path, IDLE_VARIABLE: str(idle_s)}
    return kept if place is None else {**kept, "DIALINT_STORE": place}


def prepare(place: str | None) -> str | None:
    """Make the store if there is none; the one-time password of its first account, if it has no account.

    Raises:
        ConfigError: the store is of another version than this code.
        WorldError: it cannot be reached.
    """
    from app.passwords import one_time_password
    from labeling.store.database.engine import on_sqlite, store_url

    url = store_url(place)
    if on_sqlite(url) and not Path(str(url.database)).exists():
        upgrade(place)
    with Store.open(place) as store:
        if store.read(lambda transaction: transaction.run(account_rows.select().limit(1)).first()):
            return None
        password = one_time_password()
        accounts.create_first(store, FIRST, password)
    return password


def serve(port: int, address: str, place: str | None, idle_s: float) -> int:
    """Run the server until it ends or is told to; its exit code, 0 if it was told to."""
    server = subprocess.Popen(command(port, address), env=environment(place, idle_s))
    told = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal told
        told = True
        server.terminate()

    before = {each: signal.signal(each, stop) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        code = server.wait()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        if server.poll() is None:
            server.terminate()
            server.wait(STOP_S)
    return 0 if told else code
