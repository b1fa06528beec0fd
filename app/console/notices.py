"""A message of a page that is shown once, at the top of its next run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dialint.app.console.i18n import N_, _
from dialint.app.console.messages import explain
from dialint.app.console.text import safe_markdown
from dialint.detector.errors import DialintError
from dialint.labeling.store.errors import DialogueMissing

ERASED = N_("This dialogue was deleted from the store meanwhile. Nothing of it was saved.")


def set_notice(page: str, kind: str, text: str) -> None:
    """Show `text` on the next run of `page`; `kind` is success, info or error."""
    st.session_state[f"notice:{page}"] = (kind, text)


def show_notice(page: str) -> None:
    """Show the message of `page`, if there is one."""
    kind, text = st.session_state.pop(f"notice:{page}", (None, ""))
    if kind is not None:
        {"success": st.success, "info": st.info, "error": st.error}[kind](safe_markdown(text))


@contextmanager
def report_refusals(page: str) -> Iterator[None]:
    """Show on the next run of `page` what the store refuses."""
    try:
        yield
    except DialogueMissing:
        set_notice(page, "error", _(ERASED))
    except DialintError as refused:
        message = _("That was not saved: {message}.").format(message=explain(refused))
        set_notice(page, "error", message)
