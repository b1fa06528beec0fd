"""Connections to SQLite or PostgreSQL, configured so that committed data survive a power failure.

SQLite: WAL, synchronous FULL, foreign keys, and explicit transactions: a writer takes the lock at its begin
(BEGIN IMMEDIATE), so it cannot fail halfway. Waiting for the lock is implemented here, because SQLite's own
busy handler is unfair.
"""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from dialint.detector.environment import home_folder
from dialint.detector.errors import ConfigError

if TYPE_CHECKING:
    from sqlalchemy import Connection

STORE_FILE = "store.sqlite"
SETUP_MS = 10_000
"""Timeout for a lock while a SQLite connection is set up, for instance during recovery."""
CONNECT_S = 5
POOL_S = 10.0
"""Timeout for a connection of PostgreSQL while other threads have all of them."""
PATIENCE_S = 30.0
"""Timeout for a lock or an unavailable database."""
LOCK_PAUSE_S, LEAST_PAUSE_S = 0.01, 0.001
"""Pause between two attempts to get a lock: at first, and after a second of waiting."""
SQLITE_BUSY, SQLITE_LOCKED = 5, 6


def store_url(location: str | None = None) -> URL:
    """The URL of a store, from a PostgreSQL URL, a path of a SQLite file, or none for the file in
    `home_folder`.

    Raises:
        ConfigError: not a URL of these two databases.
    """
    location = location or str(home_folder() / STORE_FILE)
    if "://" not in location:
        return URL.create("sqlite+pysqlite", database=str(Path(location).expanduser().absolute()))
    try:
        url = make_url(location)
    except ArgumentError:
        raise ConfigError("E_STORE_URL", "the store's URL cannot be read") from None
    backend = url.get_backend_name()
    if backend == "postgres":  # the old scheme that hosting services still use
        backend = "postgresql"
    if backend not in ("sqlite", "postgresql") or not url.database:
        raise ConfigError("E_STORE_URL", "expected a path, or postgresql://user@host/database")
    return url.set(drivername="sqlite+pysqlite" if backend == "sqlite" else "postgresql+psycopg")


def display_url(url: URL) -> str:
    """The URL or path for messages, without the password."""
    return str(url.database) if on_sqlite(url) else url.render_as_string(hide_password=True)


def on_sqlite(url: URL) -> bool:
    """Returns whether the URL is of a SQLite file."""
    return url.get_backend_name() == "sqlite"


def open_engine(url: URL) -> Engine:
    """Create an engine for `url` without connecting. The folder of a SQLite file must exist."""
    if on_sqlite(url):
        engine = create_engine(url)
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    engine = create_engine(
        url, pool_timeout=POOL_S,
        connect_args={"connect_timeout": CONNECT_S, "application_name": "dialint", "keepalives_idle": 10},
    )  # fmt: skip
    event.listen(engine, "do_connect", _connect_postgres)
    return engine


def _connect_postgres(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
    from dialint.labeling.store.database import postgres

    return postgres.connect(*arguments, lock_timeout_s=PATIENCE_S, **options)


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout = {SETUP_MS}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "recursive_triggers = ON",  # or INSERT OR REPLACE would bypass the append-only triggers
        "cache_size = -65536",
        "busy_timeout = 0",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    plain = connection.connection.dbapi_connection
    assert isinstance(plain, sqlite3.Connection)
    if not connection.get_execution_options().get("immediate", False):
        plain.execute("BEGIN")
        return
    started_s = time.monotonic()
    while (waited_s := time.monotonic() - started_s) < PATIENCE_S:
        try:
            # not through SQLAlchemy, whose overhead would load the machine with sixteen waiting writers
            plain.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (SQLITE_BUSY, SQLITE_LOCKED):
                break
        time.sleep(pause_s(waited_s))
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def pause_s(waited_s: float) -> float:
    """Seconds to sleep before the next attempt to get a lock: random, and shorter after a longer wait, so
    that no writer starves."""
    return random.uniform(0.5, 1.0) * max(LEAST_PAUSE_S, LOCK_PAUSE_S * (1.0 - waited_s))


def is_locked(error: DBAPIError) -> bool:
    """Returns whether SQLite reports that another connection holds the lock."""
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in (SQLITE_BUSY, SQLITE_LOCKED)


def is_aborted(error: DBAPIError) -> bool:
    """Returns whether PostgreSQL aborted the transaction because of a deadlock or serialization failure."""
    return getattr(error.orig, "sqlstate", None) in ("40001", "40P01")


def is_disconnect(error: DBAPIError) -> bool:
    """Returns whether PostgreSQL is unavailable: it shut down, is starting up, or the connection broke."""
    if not hasattr(error.orig, "sqlstate"):
        return False
    state = getattr(error.orig, "sqlstate", None)
    lost = state is None or state[:2] == "08" or state[:4] == "57P0"
    return error.connection_invalidated or (isinstance(error, OperationalError) and lost)
