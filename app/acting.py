"""Which store a command works on, and as whom: the options that all commands on the store share.

Whoever can open the store's file or database can do anything with it, so the command line asks for no
password; the account says whose rights count and whose name the audit log gets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from dialint.app.db import StoreConfig
from dialint.detector.errors import ConfigError

if TYPE_CHECKING:
    from dialint.labeling.store.database.transactions import Store


@dataclass(frozen=True)
class ActingConfig:
    """Which store, and as whom."""

    place: Annotated[StoreConfig, Parameter(name="*")] = field(default_factory=StoreConfig)
    account: Annotated[str | None, Parameter(name="--as", env_var="DIALINT_ACCOUNT")] = None
    """The account that acts; its rights count."""

    @contextmanager
    def open(self) -> Iterator[tuple[Store, str]]:
        """The store and the name of the acting account.

        Raises:
            ConfigError: no account is named, or there is no store.
        """
        from dialint.labeling.store.database.transactions import Store

        if not self.account:
            raise ConfigError("E_OPTION", "--as: name the account that acts, or set DIALINT_ACCOUNT")
        with Store.open(self.place.store, way="command line") as store:
            yield store, self.account


Acting = Annotated[ActingConfig, Parameter(name="*")]
DEFAULT = ActingConfig()
"""What holds of a command that was told nothing."""

OwnTaxonomy = Annotated[Path | None, Parameter(name="--taxonomy", help="A taxonomy of your own.")]


def from_files(project: str | None, *files: object) -> bool:
    """Whether a command goes by files, as it does where any is named; else by the store.

    Raises:
        ConfigError: a project of the store is named as well.
    """
    if any(files) and project is not None:
        raise ConfigError("E_OPTION", "--project: it goes by files or by a project in the store, not by both")
    return any(files)
