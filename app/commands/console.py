"""``dialint console``: the review console in the browser, by default for this machine only.

Creates the store if there is none and, if it has no account yet, one called ``admin`` whose one-time password
is printed here and nowhere else. ``--demo`` uses a temporary store of its own.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.app.output import print_line
from dialint.app.ports import LOOPBACK, check_port
from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import check_ranges

EVERYWHERE = ("0.0.0.0", "::")
HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")


@dataclass(frozen=True, kw_only=True)
class ConsoleConfig:
    """Options of ``dialint console``."""

    store: Annotated[str | None, Parameter(env_var="DIALINT_STORE")] = None
    """A SQLite file, or postgresql://user@host/database; without it store.sqlite in $DIALINT_HOME."""

    port: Annotated[int, Field(ge=1, le=65535)] = 8501
    """The port the browser asks."""

    address: str = "127.0.0.1"
    """Address to listen on. For other machines put a proxy with TLS before it: passwords cross here."""

    host: tuple[str, ...] = ()
    """A name under which browsers ask for the console, such as console.example.org; may be repeated. Other
    names are refused."""

    proxy: tuple[str, ...] = ()
    """The address, or network, of a proxy before the console; may be repeated. It is believed about where
    people come from (X-Forwarded-For, X-Forwarded-Proto)."""

    demo: bool = False
    """Show a throw-away store: the sample log, judged by the embedded release, and one account per role."""

    oidc: Path | None = None
    """A TOML file with the issuer and client id of an OpenID Connect provider, and where the
    client's secret is: people may sign in there, beside name and password."""

    idle_minutes: Annotated[float, Field(gt=0)] = 30.0
    """Sign out after this long without a click."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if wrong := [name for name in self.host if not HOST.fullmatch(name)]:
            raise ConfigError("E_OPTION", f"--host {wrong[0]}: expected a name without scheme and port")
        for each in self.proxy:
            try:
                ip_network(each, strict=False)
            except ValueError:
                raise ConfigError("E_OPTION", f"--proxy {each}: expected an address or a network") from None
        if self.address in EVERYWHERE and not self.host:
            raise ConfigError(
                "E_OPTION", f"--address {self.address}: say by --host under which name browsers ask for it"
            )

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names that the server accepts, without those of loopback."""
        own = self.address in LOOPBACK or self.address in EVERYWHERE
        return self.host if own else (*self.host, self.address)


def console(*, config: Annotated[ConsoleConfig, Parameter(name="*")] = ConsoleConfig()) -> int:
    """Open the review console.

    Raises:
        ConfigError: the store cannot be used.
        WorldError: the store cannot be reached, or the disk is full.
    """
    from dialint.app.console.launch import (
        FIRST_ACCOUNT,
        prepare_store,
        run_server,
        server_command,
        server_environment,
    )

    if config.oidc is not None:
        from dialint.app.console.oidc import read_config

        read_config(config.oidc)  # refused before the store is created
    check_port(config.address, config.port, "--address")
    with ExitStack() as stack:
        store = config.store
        if config.demo:
            from dialint.app.console.demo import make_demo

            folder = Path(stack.enter_context(TemporaryDirectory(prefix="dialint-demo-")))
            print_line("making the demo: the embedded release scores the sample log")
            store = str(folder / "store.sqlite")
            for name, password in make_demo(store).items():
                print_line(f"  {name:9} {password}")
        else:
            first = prepare_store(store)
            if first is not None:
                print_line(f"first start: sign in as {FIRST_ACCOUNT} with the one-time password {first}")
        if config.address not in LOOPBACK:
            print_line(
                f"{config.address} can be reached from other machines, without TLS: put a proxy before it"
            )
        host = config.address if ":" not in config.address else f"[{config.address}]"
        print_line(f"http://{host}:{config.port}  (Ctrl-C ends it)")
        command = server_command(config.port, config.address, config.hosts)
        idle_s = config.idle_minutes * 60
        return run_server(command, server_environment(store, idle_s, config.hosts, config.proxy, config.oidc))
