"""An ASGI middleware between the network and Streamlit that passes only what the console needs.

GET and HEAD requests for the page, its assets and the health check; none of Streamlit's routes for metrics,
media or sign-in; uploads only from the console's own page in a browser in which a lead is signed in
(Streamlit checks size and XSRF token). Requests for other host names are rejected, which prevents DNS
rebinding. Every response forbids framing and requests to other hosts. TLS is left to a proxy
(`docs/console.md`).

There are two cookies, both secrets that this server made: one recognises a browser for months and opens
nothing; the other is the session of somebody who signed in, new with each sign-in. They are read here alone;
what follows sees their hashes, in two headers that clients cannot send. Only the page itself may open its
websocket, and Streamlit resumes its state only for the same two cookies. With TLS their names begin with
``__Host-``, so that no other host of the domain and no connection without TLS can set them.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BROWSER_COOKIE, SESSION_COOKIE = "dialint_browser", "dialint_session"
BROWSER_COOKIE_S = 180 * 86_400
"""Lifetime of the browser's cookie: its owner can sign in while strangers use up their address's attempts."""
BROWSER, SESSION = "x-dialint-browser", "x-dialint-session"
"""The headers with the hashes of the cookies, empty where there is none."""
SESSION_PATH = "/session"
"""The path that makes a session's cookie of a ticket (`dialint.app.console.sessions`)."""
HEALTH = "/_stcore/health"
STREAM = "/_stcore/stream"
CORE = frozenset({HEALTH, "/_stcore/host-config"})
CLOSED = frozenset({"_stcore", "media", "component", "auth", "oauth2callback", "app"})
"""First parts of closed paths; `CORE` and `STREAM` are open."""
UPLOAD = re.compile(r"/_stcore/upload_file/[0-9a-f-]{36}/[0-9a-f-]{36}", re.ASCII)
"""The path of an upload, with its session and file, both random numbers made by the server."""
UPLOAD_METHODS = ("PUT", "DELETE")
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


async def deny_upload(session: str) -> bool:
    """No session may upload."""
    return False


def new_secret() -> str:
    """Return a value for a cookie, or a ticket."""
    return secrets.token_urlsafe(32)


def hash_secret(value: str) -> str:
    """Return the hash that identifies a secret; empty if the value cannot be one."""
    return hashlib.sha256(value.encode()).hexdigest() if _VALUE.fullmatch(value) else ""


def cookie_name(name: str, scheme: str) -> str:
    """Return the name of a cookie on a connection of this scheme."""
    return f"__Host-{name}" if scheme in ("https", "wss") else name


def set_cookie(name: str, value: str, scheme: str) -> str:
    """Return the header that sets one of our cookies; with an empty value it ends the cookie."""
    max_age = f"; Max-Age={BROWSER_COOKIE_S if value else 0}" if name == BROWSER_COOKIE or not value else ""
    secure = "; Secure" if scheme == "https" else ""
    return f"{cookie_name(name, scheme)}={value}; Path=/; HttpOnly; SameSite=Strict{max_age}{secure}"


@dataclass
class SecurityMiddleware:
    """The middleware. `hosts` are the host names of the console beside this machine's local ones. A page of
    one of them may open a websocket even if a proxy requests it under another name. `may_upload` says whether
    a session is a lead's."""

    app: ASGIApp
    hosts: Sequence[str] = ()
    may_upload: Callable[[str], Awaitable[bool]] = deny_upload
    sign_in_paths: Collection[str] = ()
    """The paths of a configured provider (`dialint.app.console.oidc`). Their answers set no cookie of ours:
    the browser comes from the provider without the one that it has."""
    _hosts: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._hosts = frozenset(name.lower().strip("[]") for name in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or connection."""
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _headers(scope)
        scope, cookies = _identify(scope, request)
        browser = cookies[BROWSER_COOKIE] or new_secret()

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                lower = [(name.lower(), value) for name, value in message["headers"]]
                headers = MutableHeaders(raw=lower)
                headers.update(HEADERS)
                is_page = "text/html" in headers.get("content-type", "")
                if is_page and scope["path"] not in self.sign_in_paths:
                    headers.append("set-cookie", set_cookie(BROWSER_COOKIE, browser, scope["scheme"]))
                message = {**message, "headers": headers.raw}
            await send(message)

        status = self._rejection(scope, request)
        if status == 404 and scope["method"] in UPLOAD_METHODS and UPLOAD.fullmatch(scope["path"]):
            session = hash_secret(cookies[SESSION_COOKIE])
            if session and self._is_same_origin(request):
                status = None if await self.may_upload(session) else 404
        answer = self.app if status is None else Response(status_code=status)
        await answer(scope, receive, send_secured)

    def _rejection(self, scope: Scope, request: Mapping[str, str]) -> int | None:
        """Return the status with which a request is rejected; None if it is allowed."""
        path = scope["path"]
        if path != HEALTH and not self._is_own_host(request.get("host", "")):
            return 421
        if (
            path not in CORE
            and path not in self.sign_in_paths
            and path.lstrip("/").split("/", 1)[0] in CLOSED
        ):
            return 404
        if path == SESSION_PATH and scope["method"] == "POST":
            return None if self._is_same_origin(request) else 403
        return None if scope["method"] in ("GET", "HEAD") else 405

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _headers(scope)
        scope, cookies = _identify(scope, request)
        if scope["path"] != STREAM or not cookies[BROWSER_COOKIE] or not self._is_same_origin(request):
            await receive()  # the handshake, which needs an answer
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
            return
        await self.app(scope, receive, send)

    def _is_same_origin(self, request: Mapping[str, str]) -> bool:
        """Return whether the console's own page opens the connection: a browser always sends the origin."""
        host = request.get("host", "").lower()
        scheme, _, origin = request.get("origin", "").lower().partition("://")
        if not self._is_own_host(host) or scheme not in ("http", "https"):
            return False
        return origin == host or _host_name(origin) in self._hosts

    def _is_own_host(self, host: str) -> bool:
        name = _host_name(host)
        return name in self._hosts or name in LOCAL_HOSTS


def _host_name(host: str) -> str | None:
    """Return the name in ``name:port``, in lower case; None if `host` is not of this form."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises if it is no number
    except ValueError:
        return None
    return parts.hostname if "@" not in host and parts.netloc == host and parts.hostname else None


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers without those sent twice, of which the application might read the other one."""
    pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    times = Counter(name for name, _ in pairs)
    return {name: value for name, value in pairs if times[name] == 1}


def _identify(scope: Scope, request: Mapping[str, str]) -> tuple[Scope, dict[str, str]]:
    """Return the scope with our two headers in place of a client's, and our cookies, empty where not well-
    formed."""
    pairs = [each.strip().partition("=") for each in request.get("cookie", "").split(";")]
    cookies = {}
    for name in (BROWSER_COOKIE, SESSION_COOKIE):
        values = [value for key, _, value in pairs if key == cookie_name(name, scope["scheme"])]
        cookies[name] = values[0] if len(values) == 1 and _VALUE.fullmatch(values[0]) else ""
    headers = [
        pair for pair in scope["headers"] if pair[0].decode("latin-1").lower() not in (BROWSER, SESSION)
    ]
    for name, cookie in ((BROWSER, BROWSER_COOKIE), (SESSION, SESSION_COOKIE)):
        headers.append((name.encode(), hash_secret(cookies[cookie]).encode()))
    return {**scope, "headers": headers}, cookies
