"""Notes of coaching on a page: a lead writes them, the agent reads and acknowledges them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from dialint.app.console.i18n import _, ngettext, show_day
from dialint.app.console.messages import explain_as_sentence
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.errors import DialintError
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.notes import MAX_CHARACTERS, Note, acknowledge_note, list_notes, write_note
from dialint.labeling.store.records import Account

NOTICE = "coaching notice"
PER_PAGE = 10
ABOUT_AGENT = ""


def show_notes(
    store: Store, account: Account, agent: str, dialogues: Sequence[str], *, is_lead: bool
) -> None:
    """Show the newest notes to an agent; a lead can write one, about one of `dialogues` too, and the agent
    acknowledges them."""
    notes = list_notes(store, account.id, agent, n=PER_PAGE)
    st.markdown(f"**{safe_markdown(_('Notes'))}**")
    if (notice := st.session_state.pop(NOTICE, None)) is not None:
        kind, text = notice
        (st.success if kind == "success" else st.error)(safe_markdown(text))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if not notes:
            st.caption(_("No notes yet."))
        for note in notes:
            _show_note(store, account, note)
        if len(notes) == PER_PAGE:
            st.caption(safe_markdown(ngettext("The newest {n} note.", "The newest {n} notes.", PER_PAGE)))
    with right:
        if is_lead:
            _show_form(store, account, agent, dialogues)
        else:
            st.caption(
                _(
                    "Your leads write here. Acknowledging a note says that you have read it, not that you "
                    "agree."
                )
            )


def _show_note(store: Store, account: Account, note: Note) -> None:
    with st.container(border=True, gap="xsmall"):
        written = _("{author}, {day}").format(author=note.author, day=_day(note.at_ms))
        about = "" if note.dialogue is None else _(" · about dialogue {name}").format(name=note.dialogue)
        st.caption(safe_markdown(written + about))
        st.text(safe_text(note.content))
        if note.acknowledged_ms is not None:
            st.caption(safe_markdown(_("✓ Acknowledged on {day}").format(day=_day(note.acknowledged_ms))))
        elif account.agent == note.agent:

            def acknowledge() -> None:
                try:
                    acknowledge_note(store, account.id, note.id)
                except DialintError as refused:
                    st.session_state[NOTICE] = ("error", explain_as_sentence(refused))

            st.button(_("I have read it"), key=f"acknowledge:{note.id}", type="primary", on_click=acknowledge)
        else:
            st.caption(_("Not acknowledged yet"))


def _show_form(store: Store, account: Account, agent: str, dialogues: Sequence[str]) -> None:
    with st.form(f"note:{agent}", clear_on_submit=True):
        text = st.text_area(
            _("Write a note that the agent reads"), max_chars=MAX_CHARACTERS, height=120,
            key=f"note text:{agent}",
        )  # fmt: skip
        about = st.selectbox(
            _("About"), [ABOUT_AGENT, *dialogues[:200]], key=f"note about:{agent}",
            format_func=lambda name: safe_text(name or _("the agent's work as a whole")),
        )  # fmt: skip
        if st.form_submit_button(_("Send the note"), type="primary"):
            try:
                write_note(store, account.id, agent, text, about or None)
                st.session_state[NOTICE] = ("success", _("The note was sent."))
            except DialintError as refused:
                st.session_state[NOTICE] = ("error", explain_as_sentence(refused))
            st.rerun()


def _day(at_ms: int) -> str:
    return show_day(datetime.fromtimestamp(at_ms / 1000, UTC))
