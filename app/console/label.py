"""The Label page: blind. Instructions and definitions beside the dialogue; yes or no for each code."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dialint.app.console.answer import Answer, set_present, unanswered_codes
from dialint.app.console.forms import finding_form, other_buttons, remove_button, save_button, undo_button
from dialint.app.console.items import Item
from dialint.app.console.page_session import (
    PageSession,
    button_type,
    open_session,
    save,
    show_dialogue,
    update_answer,
)
from dialint.app.console.text import code_title, explain_code, safe_markdown, safe_text, source_text
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account

N_EXPANDED = 2
"""Items for which the instructions are expanded; then they are known, and a click away."""
GUIDE = "Numbers are turns. Only agent and bot turns can hold an error."
MASKED = " Words such as [NAME_1] stand in place of personal data; they are no error."
STATE_LABELS = {None: "not answered", False: "no ✗", True: "yes, but mark where"}


def label_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    session = open_session("label", store, account, ("label", "calibration"), blind=True)
    if session.project is None:
        st.info("There is no open project to label. A lead makes one.")
    elif session.item is None or session.answer is None:
        st.info("Nothing is waiting for you in this project.")
        undo_button(session)
    else:
        _show_item(session, session.item, session.answer)


def _show_item(session: PageSession, item: Item, answer: Answer) -> None:
    taxonomy = load_taxonomy()
    left, right = st.columns([11, 9], gap="medium")
    with left:
        if item.supersedes is not None:
            st.caption("You are changing your last answer.")
        st.caption(safe_markdown(GUIDE + MASKED if item.dialogue.masked else GUIDE))
        show_dialogue(session, "label")
    with right:
        if item.instructions:
            with st.expander("Instructions", expanded=session.n_items <= N_EXPANDED):
                st.text(safe_text(item.instructions))
        with st.container(border=True):
            st.markdown("**Mark an error**")
            finding_form(session, item, item.codes, taxonomy, with_model=False)
        for code in item.codes:
            with st.container(border=True):
                _show_code(session, item, answer, code, taxonomy)
        unanswered = unanswered_codes(answer, item.codes)
        if unanswered:
            st.caption(safe_markdown(f"Still to answer: {', '.join(unanswered)}."))
        save_button(session, item, ready=not unanswered)
        st.button(
            "Nothing wrong here", key=f"nothing:{session.n_items}", shortcut="0",
            disabled=bool(answer.findings), width="stretch", on_click=_save_nothing, args=(session, item),
            help="Answers no to every code, saves, and goes to the next.",
        )  # fmt: skip
        other_buttons(session, item)


def _show_code(session: PageSession, item: Item, answer: Answer, code: str, taxonomy: Taxonomy) -> None:
    has_finding = any(finding.code == code for finding in answer.findings)
    present = True if has_finding else answer.said.get(code)
    state = "yes ✓" if has_finding else STATE_LABELS[present]
    st.markdown(f"**{safe_markdown(code_title(code, taxonomy))}**: {safe_markdown(state)}")
    entry = taxonomy.codes.get(code)
    if entry is not None:
        st.caption(safe_markdown(entry.test))
    for index, choice in enumerate(answer.choices):
        if choice.finding.code == code and choice.state != "rejected":
            by = "" if choice.proposed is None else f", {source_text(choice.proposed, item.verdict)}"
            st.text(safe_text(f"Turn {choice.finding.turn}{by}: “{choice.finding.quote}”"))
            remove_button(session, item, index)
    with st.container(horizontal=True):
        for value, label in ((True, "Yes"), (False, "No")):
            st.button(
                safe_markdown(label), key=f"say:{session.n_items}:{code}:{label}",
                type=button_type(present is value), on_click=update_answer,
                args=(session, item, partial(set_present, code=code, present=value)),
            )  # fmt: skip
        if entry is not None:
            with st.popover("What it means"):
                st.markdown(explain_code(entry))


def _save_nothing(session: PageSession, item: Item) -> None:
    if session.answer is None or session.item is not item:
        return
    for code in item.codes:
        session.answer = set_present(session.answer, code, False)
    save(session, item)
