"""Notes of coaching on a page: a lead writes them, the agent reads and acknowledges them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from dialint.app.console.i18n import _, ngettext, show_day
from dialint.app.console.notices import report_refusals, set_notice, show_notice
from dialint.app.console.text import safe_markdown, safe_text
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.notes import MAX_CHARACTERS, Note, acknowledge_note, list_notes, write_note
from dialint.labeling.store.records import Account

NOTICE = "coaching"
PER_PAGE = 10
ABOUT_AGENT = ""
SENT = "notes sent"
"""Key in session state: how many notes were sent to each agent, changed in place."""


def show_notes(
    store: Store, account: Account, agent: str, dialogues: Sequence[str], *, is_lead: bool
) -> None:
    """Show the newest notes to an agent; a lead can write one, about one of `dialogues` too, and the agent
    acknowledges them."""
    notes = list_notes(store, account.id, agent, n=PER_PAGE)
    st.markdown(f"**{safe_markdown(_('Notes'))}**")
    show_notice(NOTICE)
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
                with report_refusals(NOTICE):
                    acknowledge_note(store, account.id, note.id)

            st.button(_("I have read it"), key=f"acknowledge:{note.id}", type="primary", on_click=acknowledge)
        else:
            st.caption(_("Not acknowledged yet"))


def _show_form(store: Store, account: Account, agent: str, dialogues: Sequence[str]) -> None:
    """The form for a note. It is a new, empty one after a note was sent, so that a second click on the old
    one sends nothing; a refusal leaves the text in it."""
    sent: Counter[str] = st.session_state.setdefault(SENT, Counter())
    number = sent[agent]
    text, about = f"note text:{agent}:{number}", f"note about:{agent}:{number}"

    def send() -> None:
        if sent[agent] != number:
            return
        chosen = st.session_state[text], st.session_state[about]
        with report_refusals(NOTICE):
            write_note(store, account.id, agent, chosen[0], chosen[1] or None)
            sent[agent] += 1
            set_notice(NOTICE, "success", _("The note was sent."))

    with st.form(f"note:{agent}:{number}"):
        st.text_area(_("Write a note that the agent reads"), max_chars=MAX_CHARACTERS, height=120, key=text)
        st.selectbox(
            _("About"), [ABOUT_AGENT, *dialogues[:200]], key=about,
            format_func=lambda name: safe_text(name or _("the agent's work as a whole")),
        )  # fmt: skip
        st.form_submit_button(_("Send the note"), type="primary", on_click=send)


def _day(at_ms: int) -> str:
    return show_day(datetime.fromtimestamp(at_ms / 1000, UTC))
