"""What a form of the Admin page did: its action, and the message after the page ran again."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from pydantic import ValidationError

from dialint.app.console.i18n import _
from dialint.app.console.messages import explain_as_sentence, explain_validation
from dialint.app.console.notices import current_notice, hold_notices, set_notice, show_notice
from dialint.app.console.text import safe_text
from dialint.detector.errors import DialintError

NOTICE, SECRET = "admin", "one-time password"


def attempt(work: Callable[[], str]) -> None:
    """Do `work`, which returns what to tell, and run the page again; a refusal is told instead."""
    with hold_notices(NOTICE):
        try:
            set_notice(NOTICE, "success", work())
        except ValidationError as error:
            set_notice(NOTICE, "error", explain_validation(error))
        except DialintError as refused:
            set_notice(NOTICE, "error", explain_as_sentence(refused))
    st.rerun()


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
