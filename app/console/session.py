"""Who is signed in: random tokens in this process's memory, each with an idle limit.

A browser holds no token at all: it stays in the server's session state, which ends with the page. A
restart of the server signs everybody out; drafts are in the store.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

IDLE_S = 1800.0
IDLE_VARIABLE = "DIALINT_CONSOLE_IDLE_S"
FREE_TRIES = 5
"""Wrong passwords of one name before it has to wait."""
WAIT_S = 30.0
"""How long it waits then, from the last try."""


@dataclass
class _Session:
    account: str
    used_s: float


@dataclass
class Sessions:
    """All of one server."""

    idle_s: float = field(default_factory=lambda: float(os.environ.get(IDLE_VARIABLE) or IDLE_S))
    now_s: Callable[[], float] = time.monotonic
    _by_token: dict[str, _Session] = field(default_factory=dict)
    _wrong: dict[str, tuple[int, float]] = field(default_factory=dict)

    def begin(self, account: str) -> str:
        """A token for an account that has just signed in."""
        self._wrong.pop(account, None)
        self._forget()
        token = secrets.token_urlsafe(32)
        self._by_token[token] = _Session(account, self.now_s())
        return token

    def account(self, token: str | None) -> str | None:
        """Whose token it is, which counts as use; none if it ran out or never was."""
        self._forget()
        found = self._by_token.get(token or "")
        if found is None:
            return None
        found.used_s = self.now_s()
        return found.account

    def end(self, token: str | None) -> None:
        """Sign one page out."""
        self._by_token.pop(token or "", None)

    def end_all(self, account: str, *, but: str | None = None) -> None:
        """Sign an account out everywhere, but for one token: its password has changed."""
        for token in [each for each, of in self._by_token.items() if of.account == account and each != but]:
            del self._by_token[token]

    def wait_s(self, name: str) -> float:
        """Seconds this name has to wait before it may try again."""
        n, at_s = self._wrong.get(name, (0, 0.0))
        return max(0.0, at_s + WAIT_S - self.now_s()) if n >= FREE_TRIES else 0.0

    def wrong(self, name: str) -> None:
        """Note a wrong password."""
        now_s = self.now_s()
        recent = {each: of for each, of in self._wrong.items() if of[1] + WAIT_S > now_s}
        self._wrong = {**recent, name: (recent.get(name, (0, 0.0))[0] + 1, now_s)}

    def _forget(self) -> None:
        oldest_s = self.now_s() - self.idle_s
        for token in [each for each, of in list(self._by_token.items()) if of.used_s < oldest_s]:
            self._by_token.pop(token, None)


SESSIONS = Sessions()
"""This server's."""
