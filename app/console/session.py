"""Who is signed in: random tokens in this process's memory, each with an idle limit and bound to one browser.

The page holds no token: it stays in the server's session state. Streamlit hands a session state to whoever
names its id, so a token counts only together with the browser's cookie (`dialint.app.console.guard`) that
it was given to. A restart of the server signs everybody out; drafts are in the store.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from dialint.app.console.throttle import Throttle

IDLE_S = 1800.0
IDLE_VARIABLE = "DIALINT_CONSOLE_IDLE_S"


@dataclass
class _Session:
    account: str
    browser: str
    used_s: float


@dataclass
class Sessions:
    """All of one server; safe to share between threads."""

    idle_s: float = field(default_factory=lambda: float(os.environ.get(IDLE_VARIABLE) or IDLE_S))
    now_s: Callable[[], float] = time.monotonic
    _by_token: dict[str, _Session] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def begin(self, account: str, browser: str) -> str:
        """A token for an account that has just signed in with this browser."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._forget()
            self._by_token[token] = _Session(account, browser, self.now_s())
        return token

    def account(self, token: str | None, browser: str) -> str | None:
        """Whose token it is, which counts as use; none if it ran out, never was, or is another browser's."""
        with self._lock:
            self._forget()
            found = self._by_token.get(token or "")
            if found is None or found.browser != browser:
                return None
            found.used_s = self.now_s()
            return found.account

    def end(self, token: str | None) -> None:
        """Sign one page out."""
        with self._lock:
            self._by_token.pop(token or "", None)

    def end_all(self, account: str) -> None:
        """Sign an account out everywhere: its password has changed, or it was closed."""
        with self._lock:
            self._by_token = {each: of for each, of in self._by_token.items() if of.account != account}

    def _forget(self) -> None:
        oldest_s = self.now_s() - self.idle_s
        for token in [each for each, of in self._by_token.items() if of.used_s < oldest_s]:
            del self._by_token[token]


SESSIONS = Sessions()
"""This server's."""
THROTTLE = Throttle()
"""This server's, for all pages that ask for a password."""
