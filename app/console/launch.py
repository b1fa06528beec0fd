"""Starts the console: prepares the store and the first account, and runs Streamlit with safe settings and the
console's theme (`streamlit.toml`). What no setting of Streamlit closes is closed by
`dialint.app.console.middleware`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from dialint.app.console.middleware import LOCAL_HOSTS
from dialint.app.console.oidc import CONFIG_VARIABLE, read_config
from dialint.app.console.pages import load_pages
from dialint.app.console.sessions import IDLE_VARIABLE, PROVIDER_VARIABLE
from dialint.labeling.store import accounts
from dialint.labeling.store.api import Store, upgrade

SERVER = Path(__file__).with_name("asgi.py")
HOSTS_VARIABLE = "DIALINT_CONSOLE_HOSTS"
FIRST_ACCOUNT = "admin"
STOP_S = 10.0
SETTINGS = Path(__file__).with_name("streamlit.toml")
"""Settings and theme in the form of Streamlit's own file; as flags they override each file that it finds."""


def server_command(port: int, address: str, hosts: Sequence[str] = ()) -> list[str]:
    """Return the command line of the server, for browsers that use one of `hosts` or a local name."""
    options = _flags(tomllib.loads(SETTINGS.read_text(encoding="utf-8")))
    options += [f"--server.port={port}", f"--server.address={address}"]
    options += [f"--server.allowedHosts={host}" for host in (*LOCAL_HOSTS, *hosts)]
    return [sys.executable, "-m", "streamlit", "run", str(SERVER), *options]


def _flags(table: Mapping[str, Any], prefix: str = "--") -> list[str]:
    """Return the settings of a table and its subtables as flags; values are JSON, but for plain texts."""
    flags = []
    for name, value in table.items():
        if isinstance(value, dict):
            flags += _flags(value, f"{prefix}{name}.")
        else:
            flags.append(f"{prefix}{name}={value if isinstance(value, str) else json.dumps(value)}")
    return flags


def server_environment(
    store: str | None,
    idle_s: float,
    hosts: Sequence[str] = (),
    proxies: Sequence[str] = (),
    oidc: Path | None = None,
) -> dict[str, str]:
    """Return the server's environment. The store's URL may hold a password, so it is on no command line. Only
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
    from dialint.labeling.store.api import on_sqlite, store_url

    url = store_url(location)
    if on_sqlite(url) and not Path(str(url.database)).exists():
        upgrade(location)
    with Store.open(location, interface="command line") as store:
        if accounts.has_accounts(store):
            return None
        password = one_time_password()
        accounts.create_first(store, FIRST_ACCOUNT, password)
    return password


def run_server(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the server until it ends or a signal stops it. Returns its exit code, 0 if a signal stopped it."""
    load_pages()  # here, where what is wrong with a package's page is one line
    server = subprocess.Popen(command, env=environment)
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


STATIC = Path(__file__).with_name("static")
"""The icon, and the font: Inter, SIL Open Font License 1.1, from @fontsource-variable/inter 5.3.0."""
STATIC_PATH = "/static-dialint"
"""The path at which the server has them (`dialint.app.console.asgi`)."""
ICON = f"{STATIC_PATH}/favicon.svg"
