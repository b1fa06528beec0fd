"""The message of a page about what was done last, at its top.

One run of a page may never reach the browser: a newer one, such as that of a second click, ends it at its
next call of Streamlit. So a message stays for `STAYS_S` after it was first shown, or until the next thing is
done on the page; and what is done holds the messages first (`hold_notices`), so that nothing comes between
the deed and its message.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import streamlit as st

from dialint.app.console.i18n import N_, _, hold_language
from dialint.app.console.messages import explain
from dialint.app.console.text import safe_markdown
from dialint.detector.errors import DialintError
from dialint.labeling.store.errors import DialogueMissing

ERASED = N_("This dialogue was deleted from the store meanwhile. Nothing of it was saved.")
STAYS_S = 10.0
NOTICES = "notices"
"""Key in session state: the messages by page, changed in place."""


@dataclass
class Notice:
    """A message: `kind` is success, info or error; `shown_s` is when a run first showed it."""

    kind: str
    text: str
    shown_s: float | None = None


_HELD: ContextVar[dict[str, Notice] | None] = ContextVar("held notices", default=None)


def _notices() -> dict[str, Notice]:
    if (held := _HELD.get()) is not None:
        return held
    notices: dict[str, Notice] = st.session_state.setdefault(NOTICES, {})
    return notices


@contextmanager
def hold_notices(page: str) -> Iterator[None]:
    """Drop the message of `page`, and take what a new one needs from Streamlit now: within, `set_notice` and
    texts make no call at which a newer click could end the run."""
    notices = _notices()
    notices.pop(page, None)
    token = _HELD.set(notices)
    try:
        with hold_language():
            yield
    finally:
        _HELD.reset(token)


def set_notice(page: str, kind: str, text: str) -> None:
    """Show `text` on the next run of `page`; `kind` is success, info or error."""
    _notices()[page] = Notice(kind, text)


def current_notice(page: str) -> Notice | None:
    """The message that this run of `page` shows, if there is one."""
    notices, now_s = _notices(), time.monotonic()
    notice = notices.get(page)
    if notice is None:
        return None
    if notice.shown_s is None:
        notice.shown_s = now_s
    elif now_s - notice.shown_s > STAYS_S:
        del notices[page]
        return None
    return notice


def show_notice(page: str) -> None:
    """Show the message of `page`, if there is one."""
    if (notice := current_notice(page)) is not None:
        {"success": st.success, "info": st.info, "error": st.error}[notice.kind](safe_markdown(notice.text))


@contextmanager
def report_refusals(page: str) -> Iterator[None]:
    """Show on the next run of `page` what the store refuses."""
    with hold_notices(page):
        try:
            yield
        except DialogueMissing:
            set_notice(page, "error", _(ERASED))
        except DialintError as refused:
            message = _("That was not saved: {message}.").format(message=explain(refused))
            set_notice(page, "error", message)
