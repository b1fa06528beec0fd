"""Starts the console: prepares the store and the first account, and runs Streamlit with safe settings and the
console's theme, light or dark by the system's setting.

What no setting of Streamlit closes is closed by `dialint.app.console.middleware`. Contrast of text on its
background is 4.5 or more in both themes (WCAG AA); a test computes it.
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

from dialint.app.console.middleware import BROWSER, LOCAL_HOSTS, SESSION
from dialint.app.console.oidc import CONFIG_VARIABLE, read_config
from dialint.app.console.pages import load_pages
from dialint.app.console.sessions import IDLE_VARIABLE, PROVIDER_VARIABLE
from dialint.labeling.store import accounts
from dialint.labeling.store.api import Store, upgrade

SERVER = Path(__file__).with_name("asgi.py")
HOSTS_VARIABLE = "DIALINT_CONSOLE_HOSTS"
FIRST_ACCOUNT = "admin"
STOP_S = 10.0
MAX_UPLOAD_MB = 200
"""Of one log; it is held in memory while it arrives. Larger ones are taken from a folder of the server
(`dialint.app.console.system.job_files`)."""

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
    load_pages()  # here, where what is wrong with a package's page is one line
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


STATIC = Path(__file__).with_name("static")
"""The icon, and the font: Inter, SIL Open Font License 1.1, from @fontsource-variable/inter 5.3.0."""
STATIC_PATH = "/static-dialint"
"""The path at which the server has them (`dialint.app.console.asgi`)."""
ICON = f"{STATIC_PATH}/favicon.svg"
UNICODE_RANGES = {
    "inter-latin": "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0304,U+0308,U+0329,"
    "U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215,U+FEFF,U+FFFD",
    "inter-latin-ext": "U+0100-02BA,U+02BD-02C5,U+02C7-02CC,U+02CE-02D7,U+02DD-02FF,U+0304,U+0308,U+0329,"
    "U+1D00-1DBF,U+1E00-1E9F,U+1EF2-1EFF,U+2020,U+20A0-20AB,U+20AD-20C0,U+2113,U+2C60-2C7F,U+A720-A7FF",
    "inter-cyrillic": "U+0301,U+0400-045F,U+0490-0491,U+04B0-04B1,U+2116",
}

LIGHT = {
    "primaryColor": "#1c5fb0", "backgroundColor": "#ffffff", "secondaryBackgroundColor": "#f3f5f8",
    "textColor": "#1b2430", "borderColor": "#d5dbe3", "linkColor": "#1c5fb0",
}  # fmt: skip
DARK = {
    "primaryColor": "#2a73d1", "backgroundColor": "#12161d", "secondaryBackgroundColor": "#1c222c",
    "textColor": "#e6eaf0", "borderColor": "#343c49", "linkColor": "#8ab8ff",
}  # fmt: skip
CATEGORICAL = ("#1c5fb0", "#c2570c", "#0b7a5b", "#8a3ffc", "#b3141f", "#5a6472")
"""Colours of series in charts, which red-green blindness does not confuse; series are labelled besides."""


def theme_options() -> dict[str, str]:
    """Streamlit's options, by name. Without `theme.base` a browser's preference decides between the two."""
    faces = [
        {
            "family": "Inter", "url": f"{STATIC_PATH}/{name}.woff2", "weight": "100 900", "style": "normal",
            "unicodeRange": unicode_range,
        }
        for name, unicode_range in UNICODE_RANGES.items()
    ]  # fmt: skip
    options = {
        "theme.font": "Inter, sans-serif", "theme.fontFaces": json.dumps(faces), "theme.baseFontSize": "15",
        "theme.baseRadius": "0.4rem", "theme.chartCategoricalColors": json.dumps(CATEGORICAL),
        "theme.showSidebarBorder": "true",
    }  # fmt: skip
    for mode, colors in (("light", LIGHT), ("dark", DARK)):
        options |= {f"theme.{mode}.{name}": value for name, value in colors.items()}
        options[f"theme.{mode}.sidebar.backgroundColor"] = colors["secondaryBackgroundColor"]
    return options
