"""The way into Review and Label: how much waits, a button that claims the first task, and the keys.

Looking at the page takes no work from others.
"""

from __future__ import annotations

import streamlit as st

from dialint.app.console.i18n import _, show_number
from dialint.app.console.text import safe_markdown
from dialint.app.console.workspace.earnings import earnings_text
from dialint.app.console.workspace.page_session import (
    PageSession,
    count_queue,
    show_notices,
    show_projects,
    undo,
)
from dialint.app.console.workspace.workspace_words import ACTIONS
from dialint.labeling.store.own_work import is_time_used_up
from dialint.labeling.store.records import Purpose

COLUMNS = 2


def show_start(session: PageSession, purposes: tuple[Purpose, ...], label: str, waiting: str) -> None:
    """Show it. `label` is the button's, `waiting` the line with the queue's length."""
    show_notices(session)

    def start() -> None:
        session.started, session.waiting, session.back = True, None, None

    left, right = st.columns([5, 6], gap="large")
    with left:
        show_projects(session, purposes)
        n = count_queue(session)
        st.markdown(f"**{safe_markdown(waiting.format(n=show_number(n)))}**")
        assert session.project is not None
        if is_time_used_up(session.store, session.account.id, session.project):
            st.info(
                _("The time of this project is used up: nobody gets more tasks until a lead gives it more.")
            )
        elif n == 0:
            st.info(_("Nothing is waiting for you in this queue."))
        if earned := earnings_text(session):
            st.caption(safe_markdown(earned))
        st.caption(
            _(
                "A task that you start is reserved for you until you save it, skip it or stop. What you "
                "decide is kept on the server at once."
            )
        )
        with st.container(horizontal=True):
            st.button(
                safe_markdown(label), key="start", type="primary", shortcut="Enter",
                on_click=session.on_click, args=(start,),
            )  # fmt: skip
            st.button(
                _("Reopen my last answer"), key="start:undo", on_click=session.on_click, args=(undo, session)
            )
    with right:
        _show_keys(session)


def _show_keys(session: PageSession) -> None:
    mode = "label" if session.blind else "review"
    rows = [(words.name, words.key) for words in ACTIONS.values() if mode in words.modes]
    st.caption(_("Keys; ? shows them while you work."))
    half = -(-len(rows) // COLUMNS)
    for column, part in zip(st.columns(COLUMNS), (rows[:half], rows[half:]), strict=True):
        with column, st.container(gap=None):  # a table would import pandas here
            for name, key in part:
                st.caption(f"**{safe_markdown(_key_name(key))}** {safe_markdown(_(name))}")


def _key_name(key: str) -> str:
    return key.upper() if len(key) == 1 else key
