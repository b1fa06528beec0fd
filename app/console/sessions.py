"""Sessions, a rate limit for passwords, and who may act: one answer for pages, clicks, downloads, uploads and
connections. All of it is in this process's memory; a restart of the server signs everybody out.

A session has an idle limit, and is known by the hash of a secret that the browser alone has, as a cookie
(`dialint.app.console.middleware`). The store confirms in each transaction that the account is open, and that
the identity or the password that began the session is still the account's.

A page signs in on its connection, which can set no cookie: it gets a ticket, which its script exchanges for
the cookie of a new session by ``POST /session``. Without a ticket the browser is signed out.

Attempts are counted by account and source before anything is hashed. Strangers cannot lock an owner out: they
use up attempts of their own source alone, and a browser that has signed in to the account before has attempts
of its own.
"""

from __future__ import annotations

import ipaddress
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dialint.app.console.i18n import _, use_language
from dialint.app.console.middleware import (
    BROWSER,
    BROWSER_COOKIE,
    SESSION,
    SESSION_COOKIE,
    SESSION_PATH,
    hash_secret,
    new_secret,
    set_cookie,
)
from dialint.detector.errors import DialintError, WorldError
from dialint.labeling.store.accounts import load_preferences
from dialint.labeling.store.api import Store, Transaction
from dialint.labeling.store.authentication import Identity, find_signed_in
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account, NotAllowed

LOGIN = "/auth/login"
"""The path of the sign-in at the company's provider (`dialint.app.console.oidc`)."""
PROVIDER_VARIABLE = "DIALINT_CONSOLE_PROVIDER"
"""Environment variable with the provider's name, if one is configured."""
IDLE_S = 1800.0
TICKET_S = 60.0
IDLE_VARIABLE = "DIALINT_CONSOLE_IDLE_S"
FREE_TRIES = 5
"""Wrong passwords for one account from one source without a wait."""
WAIT_S = 30.0
"""The first wait; each further wrong password doubles it."""
MAX_WAIT_S = 3600.0
FORGET_S = 86_400.0
"""Attempts on an account from a source are forgotten after this long."""
SOURCE_TRIES = 60
"""Attempts of one source in a burst, whatever the names. A successful sign-in uses up none."""
SOURCE_REFILL_S = 10.0
"""Seconds in which a source regains one attempt."""
MAX_ENTRIES = 100_000
"""Most pairs of account and source, sources, and trusted browsers in memory; the oldest are dropped first."""


@dataclass
class Session:
    """A signed-in account: `proof` is an identity or the hash of a password; `notice` is displayed once."""

    account: str
    proof: Identity | str
    notice: str = ""
    used_s: float = 0.0


@dataclass
class Sessions:
    """All sessions of one server, by the hash of their secret; safe to share between threads."""

    idle_s: float = field(default_factory=lambda: float(os.environ.get(IDLE_VARIABLE) or IDLE_S))
    now_s: Callable[[], float] = time.monotonic
    _sessions: dict[str, Session] = field(default_factory=dict)
    _tickets: dict[str, tuple[Session, str]] = field(default_factory=dict)
    """Offered sessions, and the browser that may begin each, by the ticket's hash."""
    _lock: Lock = field(default_factory=Lock)

    def offer(self, session: Session, browser: str) -> str:
        """Return a ticket for a session, good once and for `TICKET_S`, in this browser only."""
        ticket = new_secret()
        with self._lock:
            self._expire()
            session.used_s = self.now_s()
            self._tickets[hash_secret(ticket)] = session, browser
        return ticket

    def redeem(self, ticket: str, browser: str) -> Session | None:
        """Return the session of a ticket, to be begun; None if the ticket is not good in this browser."""
        with self._lock:
            self._expire()
            session, wanted = self._tickets.get(hash_secret(ticket), (None, ""))
            if session is None or browser != wanted or not browser:
                return None
            del self._tickets[hash_secret(ticket)]
            return session

    def begin(self, session: Session) -> str:
        """Begin a session. Returns its secret, for the cookie."""
        secret = new_secret()
        with self._lock:
            session.used_s = self.now_s()
            self._sessions[hash_secret(secret)] = session
        return secret

    def find(self, key: str) -> Session | None:
        """Return the session of this hash, unless it ended or expired."""
        with self._lock:
            self._expire()
            return self._sessions.get(key)

    def use(self, key: str) -> None:
        """Count a click: the idle time starts anew."""
        if (session := self.find(key)) is not None:
            session.used_s = self.now_s()

    def pop_notice(self, key: str) -> str:
        """Return the notice of a session, and clear it."""
        if (session := self.find(key)) is None:
            return ""
        notice, session.notice = session.notice, ""
        return notice

    def end(self, key: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(key, None)

    def end_all(self, account: str) -> None:
        """End all sessions of an account: its password has changed, or it was closed."""
        with self._lock:
            self._sessions = {key: each for key, each in self._sessions.items() if each.account != account}
            self._tickets = {key: each for key, each in self._tickets.items() if each[0].account != account}

    def _expire(self) -> None:
        now_s = self.now_s()
        for key in [each for each, session in self._sessions.items() if session.used_s < now_s - self.idle_s]:
            del self._sessions[key]
        for key in [each for each, (of, _browser) in self._tickets.items() if of.used_s < now_s - TICKET_S]:
            del self._tickets[key]


@dataclass(frozen=True)
class Client:
    """A browser: its address, and the hashes of its two cookies, empty where there is none."""

    address: str
    browser: str
    session: str = ""

    @property
    def source(self) -> str:
        """The address that one person controls: an IPv4 address, or a /64 of IPv6."""
        try:
            address = ipaddress.ip_address(self.address)
        except ValueError:
            return self.address[:200]
        if isinstance(address, ipaddress.IPv6Address):
            if address.ipv4_mapped is not None:
                return str(address.ipv4_mapped)
            return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))
        return str(address)


_Key = tuple[str, str, str]
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass
class LoginRateLimiter:
    """A rate limit on all attempts at one server; safe to share between threads."""

    now_s: Callable[[], float] = time.monotonic
    _tries: OrderedDict[_Key, tuple[int, float]] = field(default_factory=OrderedDict)
    """Number of attempts, and the time of the last one, by account and source."""
    _sources: OrderedDict[str, float] = field(default_factory=OrderedDict)
    """The time at which each source has all of its attempts again."""
    _trusted: OrderedDict[str, frozenset[str]] = field(default_factory=OrderedDict)
    """The accounts that each browser has signed in to."""
    _lock: Lock = field(default_factory=Lock)

    def admit(self, name: str, client: Client) -> float:
        """Count an attempt before its password is checked. Returns the seconds to wait; 0: it was counted and
        may be made."""
        with self._lock:
            now_s = self.now_s()
            key, trusted = self._key(name, client)
            n, last_s = self._tries.get(key, (0, now_s))
            if last_s + FORGET_S < now_s:
                n, last_s = 0, now_s
            wait_s = last_s - now_s
            if n >= FREE_TRIES:
                wait_s += min(MAX_WAIT_S, WAIT_S * 2.0 ** min(30, n - FREE_TRIES))
            full_s = max(now_s, self._sources.get(client.source, now_s))
            if not trusted:
                wait_s = max(wait_s, full_s - now_s - (SOURCE_TRIES - 1) * SOURCE_REFILL_S)
            if wait_s > 0:
                return wait_s
            _remember(self._tries, key, (n + 1, now_s))
            if not trusted:
                _remember(self._sources, client.source, full_s + SOURCE_REFILL_S)
            return 0.0

    def record_success(self, name: str, client: Client) -> None:
        """Reset the counts of account and source after an admitted attempt with the right password."""
        with self._lock:
            key, trusted = self._key(name, client)
            self._tries.pop(key, None)
            self._refund(trusted, client)

    def trust(self, name: str, before: str, browser: str) -> None:
        """Trust a browser that has signed in, and whose cookie had the hash `before`."""
        with self._lock:
            _remember(self._trusted, browser, self._trusted.pop(before, frozenset()) | {name})

    def cancel(self, name: str, client: Client) -> None:
        """Take back an admitted attempt that was not made, as the server was too busy."""
        with self._lock:
            key, trusted = self._key(name, client)
            n, last_s = self._tries.get(key, (0, 0.0))
            if n:
                self._tries[key] = n - 1, last_s
            self._refund(trusted, client)

    def _key(self, name: str, client: Client) -> tuple[_Key, bool]:
        """Return the key that attempts are counted by, and whether it is a trusted browser of the account."""
        if name in self._trusted.get(client.browser, ()):
            return (name, "", client.browser), True
        return (name, client.source, ""), False

    def _refund(self, trusted: bool, client: Client) -> None:
        if not trusted and client.source in self._sources:
            self._sources[client.source] -= SOURCE_REFILL_S


def _remember(entries: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > MAX_ENTRIES:
        entries.popitem(last=False)


SESSIONS = Sessions()
"""The sessions of this server."""
RATE_LIMITER = LoginRateLimiter()
"""The rate limit of this server, for all pages that ask for a password."""


MAX_TICKET = 100
CLICK_PATIENCE_S = 4.0
"""Seconds that a click waits for a database that does not answer."""


@cache
def open_store(location: str) -> Store:
    """Open the store, once for this server."""
    return Store.open(location or None, interface="console", patience_s=CLICK_PATIENCE_S)


def find_account(store: Store, session: str) -> Account | None:
    """Return the account that a session acts for, as it is in the store; None if it may not act any more."""
    if SESSIONS.find(session) is None:
        return None
    return store.read(lambda transaction: _find(transaction, session))


def require_session(store: Store, session: str) -> Store:
    """Return the store for a session's page: any operation raises NotAllowed once the session has ended."""

    def require(transaction: Transaction) -> None:
        if _find(transaction, session) is None:
            raise NotAllowed("E_SESSION", "you were signed out; nothing was changed")

    return store.requiring(require)


def _find(transaction: Transaction, key: str) -> Account | None:
    if (session := SESSIONS.find(key)) is None:
        return None
    account = find_signed_in(transaction, session.account, session.proof)
    if account is None:
        SESSIONS.end(key)  # for good: what ended it may be undone
    return account


def find_lead(store: Store, session: str) -> str | None:
    """Return the name of the account that a session acts for, if it is a lead's; this counts as use."""
    account = find_account(store, session)
    SESSIONS.use(session)
    return account.id if account is not None and has_permission(account, "plan") else None


async def may_upload(session: str) -> bool:
    """Return whether a session is a lead's, who may score logs."""
    try:
        return await run_in_threadpool(lambda: find_lead(_open_own(), session)) is not None
    except DialintError:  # the store is away
        return False


def lead_route(path: str, answer: Callable[[Store, str, Request], Response | None]) -> Route:
    """Return a route of files for leads, which `answer` makes in a thread. Everybody else, and a refusal,
    gets 404."""

    def respond(request: Request) -> Response:
        session, language = request.headers[SESSION], request.headers.get("accept-language", "")
        try:
            store = require_session(_open_own(), session)
            account = find_lead(store, session)
            if account is not None:
                language = load_preferences(store, account).language or language
                return answer(store, account, request) or Response(status_code=404)
        except WorldError:
            with use_language(language):
                text = _("This file could not be made. Please try again later.")
            return Response(f"{text}\n", 503, media_type="text/plain")
        except DialintError:
            pass
        return Response(status_code=404)

    return Route(path, respond, methods=["GET"])


def _open_own() -> Store:
    return open_store(os.environ.get("DIALINT_STORE", ""))


async def exchange_ticket(request: Request) -> Response:
    """End the session of the browser, and begin that of the ticket in the request's body, if there is one."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_TICKET:
            return Response(status_code=413)
    browser = request.headers[BROWSER]
    session = SESSIONS.redeem(body.decode("latin-1"), browser)
    if body and session is None:
        return Response(status_code=403)
    SESSIONS.end(request.headers[SESSION])
    answer = Response(status_code=204)
    if session is None:
        answer.headers.append("set-cookie", set_cookie(SESSION_COOKIE, "", request.url.scheme))
    else:
        begin_session(answer, session, browser, request.url.scheme)
    return answer


def begin_session(answer: Response, session: Session, browser: str, scheme: str) -> None:
    """Begin a session in the browser that gets the answer. Both cookies are new, so the old ones are void."""
    recognition = new_secret()
    RATE_LIMITER.trust(session.account, browser, hash_secret(recognition))
    for name, value in ((BROWSER_COOKIE, recognition), (SESSION_COOKIE, SESSIONS.begin(session))):
        answer.headers.append("set-cookie", set_cookie(name, value, scheme))


ROUTES = [Route(SESSION_PATH, exchange_ticket, methods=["POST"])]
