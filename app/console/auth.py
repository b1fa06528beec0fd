"""Sign-in: sessions, and a rate limit for passwords. All of it is in this process's memory; a restart of the
server signs everybody out.

A session is a random token with an idle limit, bound to one browser. The page holds no token: it stays in the
server's session state. Streamlit hands a session state to whoever names its id, so a token counts only
together with the browser's cookie (`dialint.app.console.middleware`). A reloaded page and another tab find
the session by that cookie; signing out in one of them signs out of all.

Attempts are counted by account and source under one lock, before anything is hashed, so parallel attempts do
not evade the limit. Strangers cannot lock an owner out: they use up attempts of their own source alone. An
owner who shares that source gets in with a browser that has signed in to the account before, which has
attempts of its own.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

LOGIN = "/auth/login"
"""The path at which the company's provider is asked (`dialint.app.console.oidc`)."""
PROVIDER_VARIABLE = "DIALINT_CONSOLE_PROVIDER"
"""Environment variable with the provider's name, if one is configured."""
IDLE_S = 1800.0
IDLE_VARIABLE = "DIALINT_CONSOLE_IDLE_S"
FREE_TRIES = 5
"""Wrong passwords for one account from one source before it has to wait."""
WAIT_S = 30.0
"""The first wait; each further wrong password doubles it."""
MAX_WAIT_S = 3600.0
FORGET_S = 86_400.0
"""After this long without an attempt, account and source start anew."""
SOURCE_TRIES = 60
"""Attempts of one source at once, whatever the names. A successful sign-in uses up none."""
SOURCE_REFILL_S = 10.0
"""After this long a source has one attempt more."""
MAX_ENTRIES = 100_000
"""Pairs of account and source, sources, and trusted browsers that are remembered; the oldest go first."""


@dataclass
class _Session:
    account: str
    browser: str
    used_s: float
    by_identity: bool = False


@dataclass
class Sessions:
    """All sessions of one server; safe to share between threads."""

    idle_s: float = field(default_factory=lambda: float(os.environ.get(IDLE_VARIABLE) or IDLE_S))
    now_s: Callable[[], float] = time.monotonic
    _by_token: dict[str, _Session] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def create(self, account: str, browser: str, *, by_identity: bool = False) -> str:
        """A token for an account that has just signed in with this browser: by a password, or by an identity
        of OpenID Connect."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._expire()
            self._by_token[token] = _Session(account, browser, self.now_s(), by_identity)
        return token

    def account(self, token: str | None, browser: str) -> str | None:
        """The account of a token, which counts as use; None if the token expired, is unknown, or belongs to
        another browser."""
        with self._lock:
            self._expire()
            session = self._by_token.get(token or "")
            if session is None or session.browser != browser:
                return None
            session.used_s = self.now_s()
            return session.account

    def is_by_identity(self, token: str | None) -> bool:
        """Whether the session of a token was begun by an identity of OpenID Connect."""
        with self._lock:
            session = self._by_token.get(token or "")
            return session is not None and session.by_identity

    def find(self, browser: str) -> str | None:
        """The token of the session that was used last in a browser; None if there is none."""
        with self._lock:
            self._expire()
            own = [
                (s.used_s, token) for token, s in self._by_token.items() if browser and s.browser == browser
            ]
            return max(own)[1] if own else None

    def end(self, browser: str) -> None:
        """End the sessions of a browser."""
        with self._lock:
            self._by_token = {
                t: session for t, session in self._by_token.items() if session.browser != browser
            }

    def end_all(self, account: str) -> None:
        """End all sessions of an account: its password has changed, or it was closed."""
        with self._lock:
            self._by_token = {
                t: session for t, session in self._by_token.items() if session.account != account
            }

    def _expire(self) -> None:
        oldest_s = self.now_s() - self.idle_s
        for token in [t for t, session in self._by_token.items() if session.used_s < oldest_s]:
            del self._by_token[token]


@dataclass(frozen=True)
class Client:
    """Where an attempt comes from: the address, and the browser's cookie or its hash."""

    address: str
    browser: str

    @property
    def source(self) -> str:
        """What one person may hold all of: an IPv4 address, a /64 of IPv6."""
        try:
            address = ipaddress.ip_address(self.address)
        except ValueError:
            return self.address[:200]
        if isinstance(address, ipaddress.IPv6Address):
            if address.ipv4_mapped is not None:
                return str(address.ipv4_mapped)
            return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))
        return str(address)


@dataclass
class _Tries:
    n: int
    last_s: float

    def next_s(self) -> float:
        """When the next attempt may be made."""
        if self.n < FREE_TRIES:
            return self.last_s
        return self.last_s + min(MAX_WAIT_S, WAIT_S * 2.0 ** min(30, self.n - FREE_TRIES))


_Key = tuple[str, str, str]
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass
class LoginRateLimiter:
    """All attempts at one server; safe to share between threads."""

    now_s: Callable[[], float] = time.monotonic
    _tries: OrderedDict[_Key, _Tries] = field(default_factory=OrderedDict)
    _sources: OrderedDict[str, float] = field(default_factory=OrderedDict)
    """When each source will have all of its attempts again."""
    _trusted: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)
    """Accounts with the browsers that have signed in to them."""
    _lock: Lock = field(default_factory=Lock)

    def admit(self, name: str, client: Client) -> float:
        """Count an attempt; to be called before the password is checked. 0: it may be made. Otherwise it must
        not, nothing was counted, and the caller has to wait for so many seconds."""
        with self._lock:
            now_s = self.now_s()
            key, trusted = self._key(name, client)
            tries = self._tries.get(key)
            if tries is None or tries.last_s + FORGET_S < now_s:
                tries = _Tries(0, now_s)
            full_s = max(now_s, self._sources.get(client.source, now_s))
            wait_s = tries.next_s() - now_s
            if not trusted:
                wait_s = max(wait_s, full_s - now_s - (SOURCE_TRIES - 1) * SOURCE_REFILL_S)
            if wait_s > 0:
                return wait_s
            _remember(self._tries, key, _Tries(tries.n + 1, now_s))
            if not trusted:
                _remember(self._sources, client.source, full_s + SOURCE_REFILL_S)
            return 0.0

    def record_success(self, name: str, client: Client) -> None:
        """The password of an admitted attempt was right: its account and source start anew, and the browser
        is trusted from now on."""
        with self._lock:
            key, trusted = self._key(name, client)
            self._tries.pop(key, None)
            self._refund(trusted, client)
            if client.browser:
                _remember(self._trusted, (name, client.browser), None)

    def cancel(self, name: str, client: Client) -> None:
        """An admitted attempt was not made after all, as the server was too busy."""
        with self._lock:
            key, trusted = self._key(name, client)
            if (tries := self._tries.get(key)) is not None and tries.n:
                tries.n -= 1
            self._refund(trusted, client)

    def _key(self, name: str, client: Client) -> tuple[_Key, bool]:
        """What the attempt is counted under, and whether that is a trusted browser of the account."""
        if (name, client.browser) in self._trusted:
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
