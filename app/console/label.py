"""The Label page: blind. Instructions and definitions beside the dialogue; yes or no for each code."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dialint.app.console.answer import Answer, say, unanswered
from dialint.app.console.desk import Desk, open_desk, pressed, save, show_dialogue, step
from dialint.app.console.ending import other_ways, save_button, undo_button
from dialint.app.console.finding_form import finding_form, remove_button
from dialint.app.console.plain import explained, inert, named, source_of, visible
from dialint.app.console.work import Item
from dialint.detector.taxonomy import Taxonomy, load
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account

SHOWN_OPEN = 2
"""Items for which the instructions stand open; then they are known, and a click away."""
GUIDE = "Numbers are turns. Only agent and bot turns can hold an error."
MASKED = " Words such as [NAME_1] stand in place of personal data; they are no error."


def label_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    at = open_desk("label", store, account, ("label", "calibration"), blind=True)
    if at.project is None:
        st.info("There is no open project to label. A lead makes one.")
    elif at.item is None or at.answer is None:
        st.info("Nothing is waiting for you in this project.")
        undo_button(at)
    else:
        _show_item(at, at.item, at.answer)


def _show_item(at: Desk, item: Item, answer: Answer) -> None:
    taxonomy = load()
    dialogue, panel = st.columns([11, 9], gap="medium")
    with dialogue:
        if item.supersedes is not None:
            st.caption("You are changing your last answer.")
        st.caption(inert(GUIDE + MASKED if item.dialogue.masked else GUIDE))
        show_dialogue(at, "label")
    with panel:
        if item.instructions:
            with st.expander("Instructions", expanded=at.n_shown <= SHOWN_OPEN):
                st.text(visible(item.instructions))
        with st.container(border=True):
            st.markdown("**Mark an error**")
            finding_form(at, item, item.codes, taxonomy, with_model=False)
        for code in item.codes:
            with st.container(border=True):
                _show_code(at, item, answer, code, taxonomy)
        _show_end(at, item, answer)


def _show_code(at: Desk, item: Item, answer: Answer, code: str, taxonomy: Taxonomy) -> None:
    st.markdown(f"**{inert(named(code, taxonomy))}**: {inert(_state(answer, code))}")
    known = taxonomy.codes.get(code)
    if known is not None:
        st.caption(inert(known.test))
    for place, choice in enumerate(answer.choices):
        if choice.finding.code == code and choice.state != "rejected":
            by = "" if choice.proposed is None else f", {source_of(choice.proposed, item.verdict)}"
            st.text(visible(f"Turn {choice.finding.turn}{by}: “{choice.finding.quote}”"))
            remove_button(at, item, place)
    with st.container(horizontal=True):
        for present, word in ((True, "Yes"), (False, "No")):
            st.button(
                inert(word), key=f"say:{at.n_shown}:{code}:{word}",
                type=pressed(_says(answer, code) is present),
                on_click=step, args=(at, item, partial(say, code=code, present=present)),
            )  # fmt: skip
        if known is not None:
            with st.popover("What it means"):
                st.markdown(explained(known))


def _says(answer: Answer, code: str) -> bool | None:
    """Yes, no, or nothing said yet."""
    return True if any(finding.code == code for finding in answer.findings) else answer.said.get(code)


def _state(answer: Answer, code: str) -> str:
    if any(finding.code == code for finding in answer.findings):
        return "yes ✓"
    return {None: "not answered", False: "no ✗", True: "yes, but mark where"}[answer.said.get(code)]


def _show_end(at: Desk, item: Item, answer: Answer) -> None:
    left = unanswered(answer, item.codes)
    if left:
        st.caption(inert(f"Still to answer: {', '.join(left)}."))
    save_button(at, item, ready=not left)
    st.button(
        "Nothing wrong here", key=f"nothing:{at.n_shown}", shortcut="0", disabled=bool(answer.findings),
        width="stretch", on_click=_nothing, args=(at, item),
        help="Answers no to every code, saves, and goes to the next.",
    )  # fmt: skip
    other_ways(at, item)


def _nothing(at: Desk, item: Item) -> None:
    if at.answer is None or at.item is not item:
        return
    for code in item.codes:
        at.answer = say(at.answer, code, False)
    save(at, item)
