"""What stands between the network and Streamlit: an ASGI middleware that lets through what the console needs.

Reads only (GET and HEAD), of the page, its assets and the health check; no uploads, metrics, media or sign-in
routes of Streamlit's. The names that browsers may ask for are known, which ends DNS rebinding. Every answer
forbids framing and requests to other hosts. The page's connection is opened by the page itself alone, and
Streamlit resumes a session only for the browser that began it: each browser gets a cookie, whose hash goes
in as the user's identity. TLS is a proxy's business (`docs/console.md`).
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "dialint_browser"
COOKIE_S = 180 * 86_400
"""So long a browser is known again: its owner gets in while strangers use up the tries of their address."""
IDENTITY = "x-dialint-browser"
"""The header that tells Streamlit which browser it is; whatever a client sends under this name is dropped."""
HEALTH = "/_stcore/health"
STREAM = "/_stcore/stream"
CORE = frozenset({HEALTH, "/_stcore/host-config"})
CLOSED = frozenset({"_stcore", "media", "component", "auth", "oauth2callback", "app"})
"""First parts of paths behind which nothing is but `CORE` and `STREAM`."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_VALUE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self' blob:; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
        "worker-src 'self' blob:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
        "form-action 'self'; frame-src 'none'; frame-ancestors 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


def browser_of(cookies: Mapping[str, str]) -> str:
    """The browser that has these cookies, as a hash; empty if it has none of ours."""
    value = cookies.get(COOKIE, "")
    return hashlib.sha256(value.encode()).hexdigest() if _VALUE.fullmatch(value) else ""


@dataclass
class Guard:
    """The middleware. `hosts`: names under which browsers may ask for the console, beside this machine's own
    for itself; a page from one of them may open a connection even if a proxy asks under another name."""

    app: ASGIApp
    hosts: Sequence[str] = ()
    _hosts: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._hosts = frozenset(name.lower().strip("[]") for name in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request or connection."""
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = _headers(scope)
        cookies = _cookies(given)
        kept = cookies[COOKIE] if browser_of(cookies) else secrets.token_urlsafe(32)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [pair for pair in message["headers"] if pair[0].decode().lower() not in HEADERS]
                headers += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                if any(name.lower() == b"content-type" and b"text/html" in of for name, of in headers):
                    headers.append((b"set-cookie", _set_cookie(kept, secure=scope["scheme"] == "https")))
                message = {**message, "headers": headers}
            await send(message)

        refused = self._refusal(scope, given)
        if refused is None:
            await self.app(scope, receive, guarded)
        else:
            await _say(refused, guarded)

    def _refusal(self, scope: Scope, given: Mapping[str, str]) -> int | None:
        """The status to refuse a request with."""
        path = scope["path"]
        if path != HEALTH and not self._known(given.get("host", "")):
            return 421
        if path not in CORE and path.lstrip("/").split("/", 1)[0] in CLOSED:
            return 404
        return None if scope["method"] in ("GET", "HEAD") else 405

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = _headers(scope)
        browser = browser_of(_cookies(given))
        if scope["path"] != STREAM or not browser or not self._is_own(given):
            await receive()  # the handshake, which is to be answered
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        headers = [pair for pair in scope["headers"] if pair[0].decode("latin-1").lower() != IDENTITY]
        await self.app({**scope, "headers": [*headers, (IDENTITY.encode(), browser.encode())]}, receive, send)

    def _is_own(self, given: Mapping[str, str]) -> bool:
        """Whether it is the console's own page that opens a connection: a browser always says whose."""
        host = given.get("host", "").lower()
        scheme, _, origin = given.get("origin", "").lower().partition("://")
        if not self._known(host) or scheme not in ("http", "https"):
            return False
        return origin == host or _name_in(origin) in self._hosts

    def _known(self, host: str) -> bool:
        name = _name_in(host)
        return name in self._hosts or name in LOCAL_HOSTS


def _name_in(host: str) -> str | None:
    """The name in ``name:port``, in lower case; none if it is no such thing."""
    try:
        found = urlsplit(f"//{host}")
        _ = found.port  # raises where it is no number
    except ValueError:
        return None
    return found.hostname if "@" not in host and found.netloc == host and found.hostname else None


def _headers(scope: Scope) -> dict[str, str]:
    """The request's headers; of those given twice nothing, as the ones behind might read the other."""
    pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    times = Counter(name for name, _ in pairs)
    return {name: value for name, value in pairs if times[name] == 1}


def _cookies(given: Mapping[str, str]) -> dict[str, str]:
    try:
        return {name: each.value for name, each in SimpleCookie(given.get("cookie", "")).items()}
    except CookieError:
        return {}


def _set_cookie(value: str, *, secure: bool) -> bytes:
    words = f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={COOKIE_S}"
    return (words + "; Secure" if secure else words).encode()


async def _say(status: int, send: Send) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
