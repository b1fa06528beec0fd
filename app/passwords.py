"""Passwords that somebody else made: good for one sign-in, after which the account chooses its own."""

from __future__ import annotations

import secrets

ONCE = "once-"
"""How such a password begins; nobody may choose one that does."""


def one_time_password() -> str:
    """A new one, 96 random bits."""
    return ONCE + secrets.token_hex(12)
