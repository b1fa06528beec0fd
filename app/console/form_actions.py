"""What a form of the Admin page did: its action, and the message after the page ran again."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dialint.app.console import attempts
from dialint.app.console.i18n import _
from dialint.app.console.notices import current_notice, set_notice, show_notice
from dialint.app.console.text import safe_text

NOTICE, SECRET = "admin", "one-time password"

attempt = partial(attempts.attempt, NOTICE)
"""Do what a form asks for, which returns what to tell, and run the page again."""


def set_secret(text: str) -> None:
    """Show a one-time password beside the message of the form that made it. The next form does not drop it: a
    second click on the same one would take it away unread."""
    set_notice(SECRET, "info", text)


def show_notices() -> None:
    """Show what the last form did."""
    show_notice(NOTICE)
    if (secret := current_notice(SECRET)) is not None:
        st.info(_("Tell this password to its owner. It is shown once and works for one sign-in."))
        st.code(safe_text(secret.text), language=None)
