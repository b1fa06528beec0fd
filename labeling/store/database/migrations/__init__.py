"""Alembic revisions: the newest one, and running them on a connection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dialint.labeling.store.database.schema import VERSION

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection


def newest_revision(revisions: tuple[Path, ...] = ()) -> str:
    """The newest revision: the packaged one, or the one in further folders."""
    if not revisions:
        return VERSION
    from alembic.script import ScriptDirectory

    return str(ScriptDirectory.from_config(_config(revisions)).get_current_head())


def _config(revisions: tuple[Path, ...]) -> Config:
    from alembic.config import Config

    folder = Path(__file__).parent
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    locations = "\n".join(str(path) for path in (folder / "versions", *revisions))
    config.set_main_option("version_locations", locations.replace("%", "%%"))
    return config


def migrate(connection: Connection, target: str = "head", revisions: tuple[Path, ...] = ()) -> None:
    """Run the revisions up to `target` on a connection, inside the caller's transaction, without
    committing."""
    from alembic import command

    config = _config(revisions)
    config.attributes["connection"] = connection
    command.upgrade(config, target)
