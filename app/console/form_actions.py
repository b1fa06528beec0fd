"""What a form of the console did: its action, and the message after the page ran again."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from pydantic import ValidationError

from dialint.app.console.i18n import _
from dialint.app.console.messages import explain_as_sentence, explain_validation
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.errors import DialintError

DONE, FAILED, SECRET = "notice done", "notice failed", "notice secret"


def attempt(work: Callable[[], str]) -> None:
    """Do `work`, which returns what to tell, and run the page again; a refusal is told instead."""
    try:
        st.session_state[DONE] = work()
    except ValidationError as error:
        st.session_state[FAILED] = explain_validation(error)
    except DialintError as refused:
        st.session_state[FAILED] = explain_as_sentence(refused)
    st.rerun()


def show_notices() -> None:
    """Show what the last form did, once."""
    if (message := st.session_state.pop(DONE, None)) is not None:
        st.success(safe_markdown(message))
    if (message := st.session_state.pop(FAILED, None)) is not None:
        st.error(safe_markdown(message))
    if (secret := st.session_state.pop(SECRET, None)) is not None:
        st.info(_("Tell this password to its owner. It is shown once and works for one sign-in."))
        st.code(safe_text(secret), language=None)
