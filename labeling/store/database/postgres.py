"""Connections to PostgreSQL that detect an unresponsive server.

A stopped server, or a network that drops packets, leaves a connection open without any reply, and no timeout
of the server's applies; but a query may take long for good reasons. A connection that has received nothing
for `SILENT_S` therefore opens a second one: if that fails too, the server is unavailable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

import psycopg

SILENT_S = 2.0
"""Time without a byte after which the server is pinged."""
PING_S = 3
"""Timeout of the ping."""


class Connection(psycopg.Connection[Any]):
    """A connection that fails as broken if its server is unavailable."""

    ping: Callable[[], psycopg.Connection[Any]]

    def wait(self, gen: Generator[Any, Any, Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        """Run an exchange with the server.

        Raises:
            OperationalError: the server is unavailable.
        """
        return super().wait(self._watch(gen), interval, timeout)

    def _watch(self, exchange: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """The same exchange; checks the time at each wake-up without bytes."""
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
    """Open a connection with this timeout for locks."""
    connection = Connection.connect(*arguments, **options)
    connection.ping = lambda: psycopg.connect(*arguments, **{**options, "connect_timeout": PING_S})
    connection.autocommit = True
    connection.execute(f"SET lock_timeout = {int(lock_timeout_s * 1000)}")
    connection.autocommit = False
    return connection
