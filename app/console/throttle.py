"""How often passwords may be tried: counted by account and source, before anything is hashed.

A try is counted under one lock before the password is looked at, so tries in parallel are no way past it.
Strangers can't lock an owner out: they use up tries of their own source alone. An owner who shares that
source gets in with a browser that has signed in to the account before, which has tries of its own. All of it
is in this process's memory, bounded, and forgotten by a restart.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

FREE_TRIES = 5
"""Wrong passwords for one account from one source before it has to wait."""
WAIT_S = 30.0
"""The first wait; each further wrong password doubles it."""
MOST_WAIT_S = 3600.0
FORGET_S = 86_400.0
"""After this long without a try an account and source begin anew."""
SOURCE_TRIES = 60
"""Tries of one source at once, whatever the names. Whoever gets in has used up none."""
SOURCE_REFILL_S = 10.0
"""After this long a source has one try more."""
MOST_KEPT = 100_000
"""Pairs of account and source, sources, and known browsers that are remembered; the oldest go first."""


@dataclass(frozen=True)
class Client:
    """Where a try comes from: the address, and the browser's cookie or its hash."""

    address: str
    browser: str

    @property
    def source(self) -> str:
        """What one person may hold all of: an IPv4 address, a /64 of IPv6."""
        try:
            found = ipaddress.ip_address(self.address)
        except ValueError:
            return self.address[:200]
        if isinstance(found, ipaddress.IPv6Address):
            if found.ipv4_mapped is not None:
                return str(found.ipv4_mapped)
            return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
        return str(found)


@dataclass
class _Tries:
    n: int
    last_s: float

    def open_s(self) -> float:
        """When the next try may be made."""
        if self.n < FREE_TRIES:
            return self.last_s
        return self.last_s + min(MOST_WAIT_S, WAIT_S * 2.0 ** min(30, self.n - FREE_TRIES))


_Key = tuple[str, str, str]
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass
class Throttle:
    """All tries at one server; safe to share between threads."""

    now_s: Callable[[], float] = time.monotonic
    _tries: OrderedDict[_Key, _Tries] = field(default_factory=OrderedDict)
    _sources: OrderedDict[str, float] = field(default_factory=OrderedDict)
    """When each source will have all of its tries again."""
    _known: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)
    """Accounts with the browsers that have signed in to them."""
    _lock: Lock = field(default_factory=Lock)

    def admit(self, name: str, client: Client) -> float:
        """Count a try, to be called before the password is looked at. 0: it may be made; otherwise it must
        not, nothing was counted, and this many seconds are to be waited."""
        with self._lock:
            now_s = self.now_s()
            key, known = self._key(name, client)
            tries = self._tries.get(key)
            if tries is None or tries.last_s + FORGET_S < now_s:
                tries = _Tries(0, now_s)
            full_s = max(now_s, self._sources.get(client.source, now_s))
            wait_s = tries.open_s() - now_s
            if not known:
                wait_s = max(wait_s, full_s - now_s - (SOURCE_TRIES - 1) * SOURCE_REFILL_S)
            if wait_s > 0:
                return wait_s
            _keep(self._tries, key, _Tries(tries.n + 1, now_s))
            if not known:
                _keep(self._sources, client.source, full_s + SOURCE_REFILL_S)
            return 0.0

    def succeeded(self, name: str, client: Client) -> None:
        """The password of an admitted try was right: its account and source begin anew, and the browser is
        known from now on."""
        with self._lock:
            key, known = self._key(name, client)
            self._tries.pop(key, None)
            self._give_back(known, client)
            if client.browser:
                _keep(self._known, (name, client.browser), None)

    def undo(self, name: str, client: Client) -> None:
        """An admitted try was not made after all, as the server was too busy."""
        with self._lock:
            key, known = self._key(name, client)
            if (tries := self._tries.get(key)) is not None and tries.n:
                tries.n -= 1
            self._give_back(known, client)

    def _key(self, name: str, client: Client) -> tuple[_Key, bool]:
        """What the try is counted under, and whether that is a browser of the account's own."""
        if (name, client.browser) in self._known:
            return (name, "", client.browser), True
        return (name, client.source, ""), False

    def _give_back(self, known: bool, client: Client) -> None:
        if not known and client.source in self._sources:
            self._sources[client.source] -= SOURCE_REFILL_S


def _keep(kept: OrderedDict[_K, _V], key: _K, value: _V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MOST_KEPT:
        kept.popitem(last=False)
