"""The connection to one OpenAI-compatible server: its address, its key, and single requests.

A key is sent over TLS or to this machine only, and stands in no error, no log and no `repr`. Certificates are
always verified (``SSL_CERT_FILE`` names another authority's). No redirect is followed. Proxies of the
environment are used, but not for this machine. Nothing is retried here.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from dialint.detector.engines.server_answers import parse_error
from dialint.detector.errors import ConfigError

CONNECT_S = 10.0
MAX_BODY_BYTES = 8 * 1024 * 1024
"""An answer has some kilobytes; a list of models some hundred."""


class ConnectionFailed(Exception):
    """No complete response: no connection, a cut body, or out of time. `reason` is safe to show."""

    def __init__(self, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.timed_out = timed_out


@dataclass(frozen=True)
class Response:
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def error(self) -> str:
        """As `parse_error`."""
        return parse_error(self.body)


@dataclass(frozen=True)
class Address:
    """A checked URL. `url` has no slash at its end."""

    url: str
    host: str
    is_loopback: bool

    @property
    def root_url(self) -> str:
        """Where servers have what OpenAI's interface has not, such as ``/health``: beside ``/v1``."""
        return re.sub(r"/v1$", "", self.url)


def parse_address(url: str, *, has_key: bool) -> Address:
    """
    Raises:
        ConfigError: E_OPTION, no URL of a server, or one to which a key would go unencrypted.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not host or parts.scheme not in ("http", "https") or port == 0 or not url.isprintable() or " " in url:
        raise ConfigError("E_OPTION", "--judge http:URL: expected a URL such as http://127.0.0.1:8000/v1")
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host.lower() == "localhost"
    if has_key and parts.scheme == "http" and not is_loopback:
        raise ConfigError(
            "E_OPTION",
            f"--judge http://{host}: a key is not sent unencrypted to another machine: use https, or "
            f"a tunnel (ssh -L 8000:127.0.0.1:8000 {host}) and http://127.0.0.1:8000/v1",
        )
    return Address(url.rstrip("/"), host, is_loopback)


class OpenAIServer:
    """Sends single requests. Belongs to one event loop."""

    def __init__(self, address: Address, key: str | None, max_connections: int) -> None:
        """
        Raises:
            ConfigError: E_OPTION, the environment names certificates or a proxy that cannot be used.
        """
        self.address = address
        headers = {"Accept-Encoding": "identity", "User-Agent": "dialint"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        try:
            self._client = httpx2.AsyncClient(
                headers=headers,
                follow_redirects=False,
                verify=httpx2.create_ssl_context() if address.url.startswith("https:") else True,
                trust_env=not address.is_loopback,  # proxies; the authority's file is read in any case
                timeout=httpx2.Timeout(None, connect=CONNECT_S),
                limits=httpx2.Limits(
                    max_connections=max_connections, max_keepalive_connections=max_connections
                ),
            )
        except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
            raise ConfigError(
                "E_OPTION",
                f"--judge {address.url}: SSL_CERT_FILE or a proxy of the environment cannot be used "
                f"({type(error).__name__})",
            ) from None

    async def request(
        self, method: str, url: str, timeout_s: float, body: Mapping[str, Any] | None = None
    ) -> Response:
        """The response to one request, read to its end within `timeout_s` altogether.

        Raises:
            ConnectionFailed: there is none, or it is no complete one.
        """
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._client.stream(method, url, content=content, headers=headers) as response,
            ):
                received = bytearray()
                async for part in response.aiter_raw():
                    received += part
                    if len(received) > MAX_BODY_BYTES:
                        raise ConnectionFailed("its response has no end")
        except TimeoutError:
            raise ConnectionFailed(f"no answer within {timeout_s:g} s", timed_out=True) from None
        except httpx2.ConnectTimeout:
            raise ConnectionFailed("no connection within 10 s", timed_out=True) from None
        except httpx2.ConnectError as error:
            reason = (
                "its certificate is not valid (SSL_CERT_FILE names an authority of your own)"
                if "CERTIFICATE" in str(error)
                else "no connection"
            )
            raise ConnectionFailed(reason) from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise ConnectionFailed("the connection was cut") from None
        return Response(response.status_code, response.headers, bytes(received))

    async def close(self) -> None:
        """Closes its connections."""
        await self._client.aclose()
