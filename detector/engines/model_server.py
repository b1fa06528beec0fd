"""The client of an OpenAI-compatible server: openai's, with rules on addresses and keys.

A key is sent over TLS or to this machine only, and is in no error, no log and no `repr`. Certificates are
always verified (``SSL_CERT_FILE`` names another authority's). No redirect is followed. Proxies of the
environment are used, but not for this machine. A response has a greatest size and a greatest duration. The
client tries requests again after lost connections, time-outs, 408, 409, 429 and 500 and above, as
``Retry-After`` says. Of what a server answers, each field that is not of its form is None by itself.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic_core import from_json

from dialint.detector.errors import ConfigError

if TYPE_CHECKING:
    import openai

T = TypeVar("T")
CONNECT_S = 10.0
RETRIES = 3
"""Tries after the first one: about 3 s of waiting if the server states no time."""
TRANSIENT = {408, 409, 429}
"""Statuses that are retried, beside 500 and above."""
SENT_HEADERS = frozenset(
    ("accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent")
)
"""openai's client adds others, some from environment variables of its own; servers get none of them."""
MAX_BODY_BYTES = 64 * 2**20
"""Greatest size of a response."""
MAX_COUNT = 10**9
"""Greatest plausible number of tokens."""


@dataclass(frozen=True)
class Address:
    """A checked URL. `url` has no slash at its end."""

    url: str
    host: str
    is_loopback: bool

    @property
    def root_url(self) -> str:
        """The base of URLs beside OpenAI's ``/v1``, such as ``/health``."""
        return re.sub(r"/v1$", "", self.url)


def parse_address(url: str, *, has_key: bool) -> Address:
    """
    Raises:
        ConfigError: E_OPTION, no URL of a server, one with a user or key in it, or one to which a key would
            go unencrypted.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not host or parts.scheme not in ("http", "https") or port == 0 or not url.isprintable() or " " in url:
        raise ConfigError("E_OPTION", "URL of a server: expected one such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError("E_OPTION", "a URL with a user or a key in it; keys belong into DIALINT_JUDGE_KEY")
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host.lower() == "localhost"
    if has_key and parts.scheme == "http" and not is_loopback:
        raise ConfigError(
            "E_OPTION",
            f"http://{host}: a key is not sent unencrypted to another machine: use https, or "
            f"a tunnel (ssh -L 8000:127.0.0.1:8000 {host}) and http://127.0.0.1:8000/v1",
        )
    return Address(url.rstrip("/"), host, is_loopback)


def client_options(address: Address, key: str | None, timeout_s: float) -> dict[str, Any]:
    """The arguments of openai's asynchronous client for one server. Of the environment variables that it
    reads none is used.

    Raises:
        ConfigError: E_OPTION, the environment names certificates or a proxy that cannot be used.
    """
    try:
        http_client = _BoundedClient(
            follow_redirects=False,
            verify=httpx2.create_ssl_context() if address.url.startswith("https:") else True,
            trust_env=not address.is_loopback,  # proxies; the authority's file is read in any case
            timeout=httpx2.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s), pool=None),
            limits=httpx2.Limits(max_connections=None),
        )
    except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
        raise ConfigError(
            "E_OPTION",
            f"{address.url}: SSL_CERT_FILE or a proxy of the environment cannot be used "
            f"({type(error).__name__})",
        ) from None
    if key is not None:
        http_client.sent_headers = SENT_HEADERS | {"authorization"}
    return {
        "api_key": key or "none",
        "base_url": address.url,
        "default_headers": {"Accept-Encoding": "identity", "User-Agent": "dialint"},
        "timeout": http_client.timeout,
        "max_retries": RETRIES,
        "http_client": http_client,
    }


def _connection_reason(error: Exception) -> str:
    """The reason why openai's client got no complete response, safe to show."""
    cause = error.__cause__
    if isinstance(cause, httpx2.ConnectTimeout):
        return "no connection in time"
    if isinstance(cause, httpx2.TimeoutException):
        return "no answer in time"
    if isinstance(cause, _NoEnd):
        return "its response has no end"
    if not isinstance(cause, httpx2.ConnectError):
        return "the connection was cut"
    if "CERTIFICATE" in str(cause):
        return "its certificate is not valid (SSL_CERT_FILE names an authority of your own)"
    return "no connection"


class NoAnswer(Exception):
    """The client got no answer after all tries; a later request may get one. The text is safe to show."""


class RequestRefused(Exception):
    """The server refuses the request and would again. `words` are its message, which may quote the prompt."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(status)
        self.status, self.words = status, words


async def send_request(client: openai.AsyncOpenAI, method: str, url: str, **options: Any) -> bytes:
    """Sends a request and returns the body of the response.

    Raises:
        NoAnswer: there is none after all tries of the client.
        RequestRefused: the server refuses the request itself.
    """
    import openai

    send = client.get if method == "GET" else client.post
    try:
        response: httpx2.Response = await send(url, cast_to=httpx2.Response, **options)
    except openai.APIConnectionError as error:
        raise NoAnswer(_connection_reason(error)) from None
    except openai.APIStatusError as error:
        status = error.status_code
        if status in TRANSIENT or status >= 500:
            raise NoAnswer(f"it answers {status}") from None
        raise RequestRefused(status, parse_error(error.response.content)) from None
    if response.status_code != 200:
        raise RequestRefused(response.status_code, parse_error(response.content))
    return response.content


def run_in_thread(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` in a thread of its own, so that it works within another event loop (a notebook's), and so
    that a signal, whose handler runs in the caller's thread, ends it at once."""
    outcome: Future[T] = Future()
    task = loop.create_task(work)

    def run() -> None:
        try:
            outcome.set_result(loop.run_until_complete(task))
        except BaseException as error:  # noqa: BLE001  raised in the caller's thread
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name="judge", daemon=True)
    thread.start()
    try:
        return outcome.result()
    except BaseException:
        if thread.is_alive() and not outcome.done():
            loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        thread.join(2.0)


class _NoEnd(httpx2.ReadError):
    """A body that is longer than it may be."""


class _BoundedClient(httpx2.AsyncClient):
    """Sends the `sent_headers` alone. Ends a response that takes longer than the time-out altogether, also
    one whose bytes come one by one, and one that is too long."""

    sent_headers = SENT_HEADERS

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        for name in request.headers.keys() - self.sent_headers:
            del request.headers[name]
        try:
            async with asyncio.timeout(self.timeout.read):
                response = await super().send(request, **{**options, "stream": True})
                body = bytearray()
                try:
                    async for part in response.aiter_raw():
                        body += part
                        if len(body) > MAX_BODY_BYTES:
                            raise _NoEnd("too long", request=request)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise httpx2.ReadTimeout("too slow", request=request) from None
        return httpx2.Response(
            response.status_code, headers=response.headers, content=bytes(body), request=request
        )


def parse_json(body: bytes) -> Any:
    """Decodes a body; None if it is no JSON or has a number that is not finite."""
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError:
        return None


def field(value: Any, name: str, kind: type[T]) -> T | None:
    """The field of a JSON object; None if it is of another kind, or there is no such field or object."""
    result = value.get(name) if isinstance(value, dict) else None
    return result if isinstance(result, kind) and not isinstance(result, bool) else None


def count_field(value: Any, name: str) -> int | None:
    """The field as a number of tokens."""
    count = field(value, name, int)
    return count if count is not None and 0 <= count < MAX_COUNT else None


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """A model or adapter that a server lists. An adapter names its parent."""

    id: str
    root: str | None = None
    parent: str | None = None
    max_model_len: int | None = None


def parse_models(body: bytes) -> list[ModelCard]:
    """The models that a server lists, in its order; none if the body is no list."""
    return [
        ModelCard(
            id=name,
            root=field(card, "root", str),
            parent=field(card, "parent", str),
            max_model_len=count_field(card, "max_model_len") or None,
        )
        for card in field(parse_json(body), "data", list) or ()
        if (name := field(card, "id", str)) and name.isprintable()
    ]


def parse_error(body: bytes) -> str:
    """Parses a server's error message, empty if there is none. It may quote the prompt: never show it for a
    dialogue."""
    content = parse_json(body)
    if not isinstance(content, dict):
        return ""
    error = content.get("error", content)
    if not isinstance(error, dict):
        return str(error)
    return " ".join(str(error[name]) for name in ("message", "param", "code", "detail") if error.get(name))
