"""Connections to PostgreSQL that notice when the server has gone silent.

A stopped server and a network that swallows packets leave a connection open on which nothing ever comes, and
no timeout of the server's applies. A query may take long for good reasons, though. So whoever has waited for
`SILENT_S` asks the server for a second connection: if it does not answer that either, it is away.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

import psycopg

SILENT_S = 2.0
"""After this long without a byte the server is asked whether it is there."""
PING_S = 3
"""For this long it may take to answer."""


class Connection(psycopg.Connection[Any]):
    """A connection that fails as broken if its server is away."""

    ping: Callable[[], psycopg.Connection[Any]]

    def wait(self, gen: Generator[Any, Any, Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        """Run an exchange with the server.

        Raises:
            OperationalError: the server is away.
        """
        return super().wait(self._watch(gen), interval, timeout)

    def _watch(self, exchange: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """The same exchange; each answer of no bytes is a moment to look at the clock."""
        try:
            wanted = next(exchange)
            received_s = time.monotonic()
            while True:
                ready = yield wanted
                if ready:
                    received_s = time.monotonic()
                elif time.monotonic() - received_s > SILENT_S:
                    self._require_server()
                    received_s = time.monotonic()
                wanted = exchange.send(ready)
        except StopIteration as finished:
            return finished.value

    def _require_server(self) -> None:
        try:
            self.ping().close()
        except psycopg.errors.ConnectionTimeout:
            self.pgconn.finish()
            raise psycopg.OperationalError("the server does not answer") from None
        except psycopg.OperationalError:  # it answers, if only that it has too many connections
            pass


def connect(*arguments: Any, lock_timeout_s: float, **options: Any) -> Connection:
    """A connection on which a lock is waited for no longer than this."""
    connection = Connection.connect(*arguments, **options)
    connection.ping = lambda: psycopg.connect(*arguments, **{**options, "connect_timeout": PING_S})
    connection.autocommit = True
    connection.execute(f"SET lock_timeout = {int(lock_timeout_s * 1000)}")
    connection.autocommit = False
    return connection
