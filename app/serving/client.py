"""A client for one model server: JSON in, JSON out, within a time, with a key that is shown nowhere.

For questions about a server and changes to it. Follows no redirect, uses no proxy, and repeats nothing; the
engine that judges by a server is in `dialint.detector.engines`.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from dialint.app.ports import LOOPBACK
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.judge.api_key import KEY_VARIABLE

MAX_BODY = 16 * 2**20
"""Bytes of an answer that are read at most."""


@dataclass(frozen=True)
class ServerReply:
    """The status and the body of an answer."""

    status: int
    body: bytes


@dataclass(frozen=True, kw_only=True)
class ServerClient:
    """Where a server is: `address` as ``http://host:port``, with a path before ``/v1`` if it has one."""

    address: str
    key: str | None = field(default=None, repr=False)
    timeout_s: float = 30.0

    @classmethod
    def of(cls, url: str, key: str | None = None, *, timeout_s: float = 30.0) -> ServerClient:
        """The client for a URL as people write it, with or without ``/v1``.

        Raises:
            ConfigError: E_OPTION, no such URL, or a key in it; E_KEY, the key would cross a network in clear.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        if parts.scheme not in ("http", "https") or not host:
            raise ConfigError("E_OPTION", "expected a URL such as http://127.0.0.1:8000")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ConfigError(
                "E_OPTION", f"a URL with a user or a key in it; a key belongs into {KEY_VARIABLE}"
            )
        if key is not None and parts.scheme == "http" and host not in LOOPBACK:
            raise ConfigError("E_KEY", f"the key would go to {host} unencrypted: use https, or a tunnel")
        name = f"[{host}]" if ":" in host else host
        path = parts.path.rstrip("/").removesuffix("/v1")
        return cls(
            address=f"{parts.scheme}://{name}{f':{port}' if port else ''}{path}", key=key, timeout_s=timeout_s
        )

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        return urlsplit(self.address).hostname in LOOPBACK

    def get(self, path: str) -> ServerReply:
        """The answer to a GET of `path`, such as ``/v1/models``; raises as `post`."""
        return self._ask("GET", path, None)

    def post(self, path: str, content: Mapping[str, Any]) -> ServerReply:
        """The answer to `content`, whatever its status is.

        Raises:
            WorldError: E_SERVER, nobody answers, or not within the time.
        """
        return self._ask("POST", path, json.dumps(content).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> ServerReply:
        parts = urlsplit(self.address)
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = connect(str(parts.hostname), parts.port, timeout=self.timeout_s)
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            connection.request(method, parts.path + path, body, headers)
            response = connection.getresponse()
            return ServerReply(response.status, response.read(MAX_BODY))
        except TimeoutError:
            reason = f"no answer within {self.timeout_s:g} s"
        except OSError as error:
            reason = error.strerror or type(error).__name__
        except http.client.HTTPException as error:
            reason = f"no HTTP answer ({type(error).__name__})"
        finally:
            connection.close()
        raise WorldError("E_SERVER", f"{self.address}: {reason}")
