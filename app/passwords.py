"""Passwords that somebody else makes; the store takes one for no more than choosing another."""

from __future__ import annotations

import secrets


def one_time_password() -> str:
    """A new one, 96 random bits; it says itself what it is."""
    return "once-" + secrets.token_hex(12)
