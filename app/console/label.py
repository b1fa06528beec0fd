"""The Label page: blind. Instructions and definitions beside the dialogue; yes or no for each code."""

from __future__ import annotations

import streamlit as st

from app.console.answer import Answer, remove, say, unanswered
from app.console.desk import (
    Desk,
    acted,
    choose_project,
    desk,
    open_next,
    pressed,
    save,
    say_notices,
    show_dialogue,
    skip_button,
)
from app.console.finding_form import finding_form
from app.console.plain import explained, inert, named
from app.console.work import Item
from detector.taxonomy import Taxonomy, load
from labeling.store import projects
from labeling.store.database.transactions import Store
from labeling.store.records import Account

SHOWN_OPEN = 2
"""Items for which the instructions stand open; then they are known, and a click away."""
PURPOSES = ("label", "calibration")
MASKED = r" Words such as \[NAME_1\] stand in place of personal data; they are no error."


def label_page(store: Store, account: Account) -> None:
    """Show the page to `account`."""
    at = desk("label", store, account)
    known = projects.listed(store, account.id)
    choose_project(at, [each for each, state in known if each.purpose in PURPOSES and state == "open"])
    open_next(at, blind=True)
    say_notices(at)
    if at.project is None:
        st.info("There is no open project to label. A lead makes one.")
    elif at.item is None or at.answer is None:
        st.info("Nothing is waiting for you in this project.")
    else:
        _show_item(at, at.item)


def _show_item(at: Desk, item: Item) -> None:
    taxonomy = load()
    dialogue, panel = st.columns([11, 9], gap="medium")
    with dialogue:
        told = "Numbers are turns. Only agent and bot turns can hold an error."
        st.caption(told + MASKED if item.dialogue.masked else told)
        show_dialogue(at, "label")
    with panel:
        if item.instructions:
            with st.expander("Instructions", expanded=at.n_shown <= SHOWN_OPEN):
                st.text(item.instructions)
        with st.container(border=True):
            st.markdown("**Mark an error**")
            finding_form(at, item, item.codes, taxonomy, with_model=False)
        for code in item.codes:
            with st.container(border=True):
                _show_code(at, item, code, taxonomy)
        _show_end(at, item)


def _show_code(at: Desk, item: Item, code: str, taxonomy: Taxonomy) -> None:
    answer = at.answer
    assert answer is not None
    key = f"{at.n_shown}:{code}"
    st.markdown(f"**{inert(named(code, taxonomy))}**: {_state(answer, code)}")
    known = taxonomy.codes.get(code)
    if known is not None:
        st.caption(inert(known.test))
        with st.expander("Definition and examples"):
            st.markdown(explained(known))
    for place, choice in enumerate(answer.choices):
        if choice.finding.code == code:
            st.text(f"Turn {choice.finding.turn}: “{choice.finding.quote}”")
            st.button("Remove", key=f"remove:{key}:{place}", on_click=_remove, args=(at, item, place))
    with st.container(horizontal=True):
        for present, word in ((True, "Yes"), (False, "No")):
            step = (at, item, code, present)
            st.button(
                word,
                key=f"say:{key}:{word}",
                type=pressed(_says(answer, code) is present),
                on_click=_say,
                args=step,
            )


def _says(answer: Answer, code: str) -> bool | None:
    """Yes, no, or nothing said yet."""
    return True if any(finding.code == code for finding in answer.findings) else answer.said.get(code)


def _state(answer: Answer, code: str) -> str:
    if any(finding.code == code for finding in answer.findings):
        return "yes ✓"
    return {None: "not answered", False: "no ✗", True: "yes, but mark where"}[answer.said.get(code)]


def _say(at: Desk, item: Item, code: str, present: bool) -> None:
    if at.answer is not None and at.item is item:
        acted(at, say(at.answer, code, present), item)


def _remove(at: Desk, item: Item, place: int) -> None:
    if at.answer is not None and at.item is item:
        acted(at, remove(at.answer, place), item)


def _show_end(at: Desk, item: Item) -> None:
    answer = at.answer
    assert answer is not None
    left = unanswered(answer, item.codes)
    if left:
        st.caption(f"Still to answer: {', '.join(left)}.")
    key = f"{at.n_shown}"
    st.button(
        "Save and next", key=f"save:{key}", type="primary", shortcut="S", disabled=bool(left),
        width="stretch", on_click=save, args=(at, item),
    )  # fmt: skip
    st.button(
        "Nothing wrong here", key=f"nothing:{key}", shortcut="0", disabled=bool(answer.findings),
        width="stretch", on_click=_nothing, args=(at, item),
        help="Answers no to every code, saves, and goes to the next.",
    )  # fmt: skip
    skip_button(at, item, key)


def _nothing(at: Desk, item: Item) -> None:
    if at.answer is None or at.item is not item:
        return
    answer = at.answer
    for code in item.codes:
        answer = say(answer, code, False)
    at.answer = answer
    save(at, item)
