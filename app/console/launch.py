"""Starting the console: a store that is ready, a first account, and Streamlit with safe settings.

What no setting of Streamlit closes is closed by `dialint.app.console.guard`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from dialint.app.console.guard import IDENTITY, LOCAL_HOSTS
from dialint.app.console.session import IDLE_VARIABLE
from dialint.labeling.store import accounts
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade

SERVER = Path(__file__).with_name("server.py")
HOSTS_VARIABLE = "DIALINT_CONSOLE_HOSTS"
FIRST = "admin"
STOP_S = 10.0

SETTINGS = {
    "server.headless": "true",
    "server.enableCORS": "true",
    "server.enableXsrfProtection": "true",
    "server.enableStaticServing": "false",
    "server.enableAgentApi": "false",
    "server.fileWatcherType": "none",
    "server.maxUploadSize": "0",
    "server.maxWidgetStateSize": "2",
    "server.maxMessageSize": "32",
    "server.scriptHealthCheckEnabled": "false",
    "server.trustedUserHeaders": json.dumps({IDENTITY: "browser"}),
    "server.disconnectedSessionTTL": "120",
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
    "logger.hideWelcomeMessage": "true",
}
"""Of Streamlit; flags come before every configuration file it may find."""


def command(port: int, address: str, hosts: Sequence[str] = ()) -> list[str]:
    """The command line of the server, which browsers reach by `hosts` beside this machine's own names."""
    flags = {**SETTINGS, "server.port": str(port), "server.address": address}
    options = [f"--{name}={value}" for name, value in flags.items()]
    options += [f"--server.allowedHosts={host}" for host in (*LOCAL_HOSTS, *hosts)]
    return [sys.executable, "-m", "streamlit", "run", str(SERVER), *options]


def environment(
    place: str | None, idle_s: float, hosts: Sequence[str] = (), proxies: Sequence[str] = ()
) -> dict[str, str]:
    """The server's environment; the store's URL may hold a password, so it is on no command line. Addresses
    of clients are believed from `proxies` alone."""
    kept = {**os.environ, IDLE_VARIABLE: str(idle_s), HOSTS_VARIABLE: " ".join(hosts)}
    kept["FORWARDED_ALLOW_IPS"] = ",".join(proxies)  # uvicorn's
    return kept if place is None else {**kept, "DIALINT_STORE": place}


def prepare(place: str | None) -> str | None:
    """Make the store if there is none; the one-time password of its first account, if it has no account.

    Raises:
        ConfigError: the store is of another version than this code.
        WorldError: it cannot be reached.
    """
    from dialint.app.store_session import one_time_password
    from dialint.labeling.store.database.engine import on_sqlite, store_url

    url = store_url(place)
    if on_sqlite(url) and not Path(str(url.database)).exists():
        upgrade(place)
    with Store.open(place, way="command line") as store:
        if accounts.has_accounts(store):
            return None
        password = one_time_password()
        accounts.create_first(store, FIRST, password)
    return password


def serve(
    port: int,
    address: str,
    place: str | None,
    idle_s: float,
    hosts: Sequence[str] = (),
    proxies: Sequence[str] = (),
) -> int:
    """Run the server until it ends or is told to; its exit code, 0 if it was told to."""
    server = subprocess.Popen(command(port, address, hosts), env=environment(place, idle_s, hosts, proxies))
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
