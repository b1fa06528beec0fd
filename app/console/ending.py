"""How an item leaves the desk, on both pages: saved, skipped, or left for the answer before it."""

from __future__ import annotations

import streamlit as st

from dialint.app.console.desk import Desk, leave, save, take_back
from dialint.app.console.work import Item

SKIP_REASONS = (
    "Not in my language",
    "The text is broken or cut off",
    "I cannot decide",
    "I know the people in it",
)


def save_button(at: Desk, item: Item, *, ready: bool) -> None:
    """Save the answer, if it is one already."""
    st.button(
        "Save and next", key=f"save:{at.n_shown}", type="primary", shortcut="S", disabled=not ready,
        width="stretch", on_click=save, args=(at, item),
    )  # fmt: skip


def other_ways(at: Desk, item: Item) -> None:
    """What one can do without an answer: skip a task or take the last answer back; leave a correction."""
    if item.supersedes is not None:
        st.button(
            "Leave my answer as it was", key=f"leave:{at.n_shown}", width="stretch",
            on_click=leave, args=(at, item),
        )  # fmt: skip
        return
    st.button("Skip…", key=f"skip:{at.n_shown}", shortcut="K", width="stretch", on_click=_ask_why, args=(at,))
    if at.skipping:
        _show_reasons(at, item)
    undo_button(at)


def _ask_why(at: Desk) -> None:
    at.skipping = not at.skipping


def _show_reasons(at: Desk, item: Item) -> None:
    with st.container(border=True):
        reason = st.selectbox("Why?", SKIP_REASONS, key=f"why:{at.n_shown}")
        more = st.text_input("More, if you like", key=f"more:{at.n_shown}", max_chars=200).strip()
        said = f"{reason}: {more}" if more else reason
        st.button("Skip this task", key=f"skipped:{at.n_shown}", on_click=leave, args=(at, item, said))


def undo_button(at: Desk) -> None:
    """Take the last answer back."""
    st.button(
        "Undo my last answer", key=f"undo:{at.n_shown}", shortcut="U", width="stretch",
        on_click=take_back, args=(at,),
    )  # fmt: skip
