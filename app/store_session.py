"""The options of all commands on the store: the store, and the account.

Access to the store's file or database gives all rights, so the command line needs no password; the account
determines the rights of the command, and the name in the audit log.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from dialint.detector.errors import ConfigError

if TYPE_CHECKING:
    from dialint.labeling.store.api import Store


@dataclass(frozen=True, kw_only=True)
class StoreConfig:
    """Options for the store."""

    store: Annotated[str | None, Parameter(env_var="DIALINT_STORE")] = None
    """A SQLite file, or postgresql://user@host/database; without it store.sqlite in $DIALINT_HOME."""


@dataclass(frozen=True, kw_only=True)
class SessionConfig:
    """Options for the store and the account."""

    config: Annotated[StoreConfig, Parameter(name="*")] = field(default_factory=StoreConfig)
    account: Annotated[str | None, Parameter(name="--as", env_var="DIALINT_ACCOUNT")] = None
    """The account that acts; its rights count."""

    @contextmanager
    def open(self) -> Iterator[tuple[Store, str]]:
        """Opens the store; yields it with the name of the acting account.

        Raises:
            ConfigError: no account is named, or there is no store.
        """
        from dialint.labeling.store.api import Store

        if not self.account:
            raise ConfigError("E_OPTION", "--as: name the account that acts, or set DIALINT_ACCOUNT")
        with Store.open(self.config.store, interface="command line") as store:
            yield store, self.account


StoreOption = Annotated[StoreConfig, Parameter(name="*")]
DEFAULT_STORE = StoreConfig()
Session = Annotated[SessionConfig, Parameter(name="*")]
DEFAULT_SESSION = SessionConfig()
TaxonomyOption = Annotated[Path | None, Parameter(name="--taxonomy", help="A taxonomy of your own.")]


def uses_files(project: str | None, *files: object) -> bool:
    """Returns whether a command works on files: if any is given. Otherwise it works on the store.

    Raises:
        ConfigError: a project of the store is given as well.
    """
    if any(files) and project is not None:
        raise ConfigError("E_OPTION", "--project: name files or a project of the store, not both")
    return any(files)


def one_time_password() -> str:
    """Returns a password of 96 random bits, to be replaced at the first sign-in."""
    return "once-" + secrets.token_hex(12)
