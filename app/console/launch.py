"""Starts the console: prepares the store and the first account, and runs Streamlit with safe settings.

What no setting of Streamlit closes is closed by `dialint.app.console.middleware`.
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

from dialint.app.console.auth import IDLE_VARIABLE, PROVIDER_VARIABLE
from dialint.app.console.middleware import BROWSER, LOCAL_HOSTS, SESSION
from dialint.app.console.oidc import CONFIG_VARIABLE, read_config
from dialint.app.console.theme import theme_options
from dialint.labeling.store import accounts
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade

SERVER = Path(__file__).with_name("asgi.py")
HOSTS_VARIABLE = "DIALINT_CONSOLE_HOSTS"
FIRST_ACCOUNT = "admin"
STOP_S = 10.0
MAX_UPLOAD_MB = 200
"""Of one log; it is held in memory while it arrives. Larger ones are taken from a folder of the server
(`dialint.app.console.scoring.files`)."""

SETTINGS = {
    "server.headless": "true",
    "server.enableCORS": "true",
    "server.enableXsrfProtection": "true",
    "server.enableStaticServing": "false",
    "server.enableAgentApi": "false",
    "server.fileWatcherType": "none",
    "server.maxUploadSize": str(MAX_UPLOAD_MB),
    "server.maxWidgetStateSize": "2",
    "server.maxMessageSize": "32",
    "server.scriptHealthCheckEnabled": "false",
    "server.trustedUserHeaders": json.dumps({BROWSER: "browser", SESSION: "session"}),
    "server.disconnectedSessionTTL": "120",
    "browser.gatherUsageStats": "false",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
    "client.toolbarMode": "minimal",
    "client.disableDataExport": "true",
    "runner.magicEnabled": "false",
    "runner.postScriptGC": "false",  # 80 ms of CPU after each click, during which no answer is sent
    "logger.level": "error",
    "logger.hideWelcomeMessage": "true",
}
"""Settings of Streamlit; flags override every configuration file that it may find."""


def server_command(port: int, address: str, hosts: Sequence[str] = ()) -> list[str]:
    """The command line of the server, which browsers reach by `hosts` and by this machine's own names."""
    flags = {**SETTINGS, **theme_options(), "server.port": str(port), "server.address": address}
    options = [f"--{name}={value}" for name, value in flags.items()]
    options += [f"--server.allowedHosts={host}" for host in (*LOCAL_HOSTS, *hosts)]
    return [sys.executable, "-m", "streamlit", "run", str(SERVER), *options]


def server_environment(
    store: str | None,
    idle_s: float,
    hosts: Sequence[str] = (),
    proxies: Sequence[str] = (),
    oidc: Path | None = None,
) -> dict[str, str]:
    """The server's environment. The store's URL may hold a password, so it is on no command line. Only
    `proxies` are trusted to forward the addresses of clients. `oidc` is the file of a provider.

    Raises:
        ConfigError: the file of the provider cannot be used.
    """
    environment = {**os.environ, IDLE_VARIABLE: str(idle_s), HOSTS_VARIABLE: " ".join(hosts)}
    environment.setdefault("MALLOC_ARENA_MAX", "2")  # glibc's: each click is a thread, and memory fragments
    environment["FORWARDED_ALLOW_IPS"] = ",".join(proxies)  # uvicorn's
    for name in (CONFIG_VARIABLE, PROVIDER_VARIABLE):
        environment.pop(name, None)
    if oidc is not None:
        environment |= {CONFIG_VARIABLE: str(oidc.absolute()), PROVIDER_VARIABLE: read_config(oidc).name}
    return environment if store is None else {**environment, "DIALINT_STORE": store}


def prepare_store(location: str | None) -> str | None:
    """Create the store if there is none, and its first account if it has none. Returns the one-time password
    of that account.

    Raises:
        ConfigError: the store is of another version than this code.
        WorldError: it cannot be reached.
    """
    from dialint.app.store_session import one_time_password
    from dialint.labeling.store.database.engine import on_sqlite, store_url

    url = store_url(location)
    if on_sqlite(url) and not Path(str(url.database)).exists():
        upgrade(location)
    with Store.open(location, interface="command line") as store:
        if accounts.has_accounts(store):
            return None
        password = one_time_password()
        accounts.create_first(store, FIRST_ACCOUNT, password)
    return password


def run_server(
    port: int,
    address: str,
    store: str | None,
    idle_s: float,
    hosts: Sequence[str] = (),
    proxies: Sequence[str] = (),
    oidc: Path | None = None,
) -> int:
    """Run the server until it ends or a signal stops it. Returns its exit code, 0 if a signal stopped it."""
    environment = server_environment(store, idle_s, hosts, proxies, oidc)
    server = subprocess.Popen(server_command(port, address, hosts), env=environment)
    stopped = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
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
    return 0 if stopped else code
