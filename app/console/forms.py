"""Form parts of the working pages: the form for one's own finding, and the buttons that end an item."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from dialint.app.console.answer import add_finding, make_finding, parse_selection, remove_finding
from dialint.app.console.items import Item, masked_turn
from dialint.app.console.page_session import (
    PageSession,
    discard,
    save,
    skip,
    turns_in_view,
    undo,
    update_answer,
)
from dialint.app.console.text import (
    code_title,
    coverage_text,
    lookup_code,
    safe_markdown,
    safe_text,
    severity_title,
)
from dialint.detector.records import Severity
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.annotation import judged_turns

MAX_QUOTE = 160
SKIP_REASONS = (
    "Not in my language",
    "The text is broken or cut off",
    "I cannot decide",
    "I know the people in it",
)


def finding_form(
    session: PageSession, item: Item, codes: Sequence[str], taxonomy: Taxonomy, *, with_model: bool
) -> None:
    """A form for a finding of one's own: a selection in the dialogue or a whole turn, and an error code. With
    `with_model` it shows what the model says of the chosen code, and asks for the severity."""
    turns = [turn for turn in judged_turns(item.dialogue) if item.turn in (None, turn)]
    if not turns or session.answer is None:
        return
    in_view = turns_in_view(session)
    turns = [turn for turn in turns if turn in in_view]
    key = f"{session.n_items}:{len(session.answer.choices)}"
    texts = {turn.index: turn.text for turn in item.dialogue.turns}
    where, what = st.columns(2)
    with where:
        selection = session.selected
        if selection is None:
            turn = st.selectbox(
                "Select words, or a whole turn", turns, index=None, placeholder="turn",
                format_func=lambda each: safe_text(str(each)), key=f"turn:{key}",
            )  # fmt: skip
            whole = {"turn": turn, "start": 0, "end": 0 if turn is None else len(texts[turn])}
            selection = parse_selection(item.dialogue, item.turn, whole)
        else:
            quote = texts[selection.turn][selection.start : selection.end]
            st.caption(safe_markdown(f"Selected in turn {selection.turn}:"))
            st.text(safe_text(quote if len(quote) <= MAX_QUOTE else f"{quote[: MAX_QUOTE - 1]}…"))
            st.button(
                "Clear the selection", key=f"clear:{key}", on_click=setattr, args=(session, "selected", None)
            )
    with what:
        code = st.selectbox(
            "Error", codes, index=None, format_func=lambda each: safe_text(code_title(each, taxonomy)),
            placeholder="which error?", key=f"code:{key}",
        )  # fmt: skip
    severity: Severity | None = None
    if code is not None:
        entry = lookup_code(code, taxonomy)
        st.caption(safe_markdown(entry.definition))
        severity = entry.severity
        if with_model:
            turn = None if selection is None else selection.turn
            st.caption(safe_markdown(coverage_text(item.verdict, code, turn)))
            severity = st.selectbox(
                "Severity", entry.severities, index=entry.severities.index(entry.severity),
                format_func=lambda each: safe_text(severity_title(each, taxonomy)),
                key=f"severity:{key}:{code}",
            )  # fmt: skip

    def on_add() -> None:
        if selection is None or code is None or severity is None:
            return
        masked = masked_turn(session.store, item, selection.turn)
        finding = make_finding(item.dialogue, selection, lookup_code(code, taxonomy), severity, masked)
        session.selected = None
        update_answer(session, item, partial(add_finding, finding=finding))

    st.button(
        "Add finding", key=f"add:{key}", shortcut="A", disabled=selection is None or code is None,
        on_click=on_add,
    )  # fmt: skip


def remove_button(session: PageSession, item: Item, index: int) -> None:
    """Remove the finding of choice `index`."""
    st.button(
        "Remove", key=f"remove:{session.n_items}:{index}",
        on_click=update_answer, args=(session, item, partial(remove_finding, index=index)),
    )  # fmt: skip


def save_button(session: PageSession, item: Item, *, ready: bool) -> None:
    """Save the answer, if it is complete."""
    st.button(
        "Save and next", key=f"save:{session.n_items}", type="primary", shortcut="S", disabled=not ready,
        width="stretch", on_click=save, args=(session, item),
    )  # fmt: skip


def other_buttons(session: PageSession, item: Item) -> None:
    """What one can do without an answer: skip a task or undo the last answer; discard a correction."""
    if item.supersedes is not None:
        st.button(
            "Leave my answer as it was", key=f"leave:{session.n_items}", width="stretch",
            on_click=discard, args=(session, item),
        )  # fmt: skip
        return
    st.button(
        "Skip…", key=f"skip:{session.n_items}", shortcut="K", width="stretch",
        on_click=setattr, args=(session, "skipping", not session.skipping),
    )  # fmt: skip
    if session.skipping:
        with st.container(border=True):
            reason = st.selectbox("Why?", SKIP_REASONS, key=f"why:{session.n_items}")
            more = st.text_input("More, if you like", key=f"more:{session.n_items}", max_chars=200).strip()
            st.button(
                "Skip this task", key=f"skipped:{session.n_items}",
                on_click=skip, args=(session, item, f"{reason}: {more}" if more else reason),
            )  # fmt: skip
    undo_button(session)


def undo_button(session: PageSession) -> None:
    """Reopen the last answer."""
    st.button(
        "Undo my last answer", key=f"undo:{session.n_items}", shortcut="U", width="stretch",
        on_click=undo, args=(session,),
    )  # fmt: skip
