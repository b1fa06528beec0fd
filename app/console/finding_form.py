"""A person's own findings: words selected in the dialogue, or a whole turn, and what is wrong there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from dialint.app.console.answer import Place, add, marked, place_in, remove
from dialint.app.console.desk import Desk, step, turns_in_view
from dialint.app.console.plain import code_of, coverage, inert, named, severity_name, visible
from dialint.app.console.work import Item, masked_turn
from dialint.detector.records import Severity
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.annotation import judged_turns


def finding_form(at: Desk, item: Item, codes: Sequence[str], taxonomy: Taxonomy, *, with_model: bool) -> None:
    """The form; `with_model` says what the model made of the code that is chosen, and asks the severity."""
    turns = [turn for turn in judged_turns(item.dialogue) if item.turn in (None, turn)]
    if not turns or at.answer is None:
        return
    in_view = turns_in_view(at)
    turns = [turn for turn in turns if turn in in_view]
    key = f"{at.n_shown}:{len(at.answer.choices)}"
    where, what = st.columns(2)
    with where:
        place = _place(at, item, turns, key)
    with what:
        code = st.selectbox(
            "Error", codes, index=None, format_func=lambda each: visible(named(each, taxonomy)),
            placeholder="which error?", key=f"code:{key}",
        )  # fmt: skip
    severity: Severity | None = None
    if code is not None:
        known = code_of(code, taxonomy)
        st.caption(inert(known.definition))
        severity = known.severity
        if with_model:
            st.caption(inert(coverage(item.verdict, code, None if place is None else place.turn)))
            severity = st.selectbox(
                "Severity", known.severities, index=known.severities.index(known.severity),
                format_func=lambda each: visible(severity_name(each, taxonomy)), key=f"severity:{key}:{code}",
            )  # fmt: skip
    st.button(
        "Add finding", key=f"add:{key}", shortcut="A", disabled=place is None or code is None,
        on_click=_add, args=(at, item, place, code, severity, taxonomy),
    )  # fmt: skip


def _place(at: Desk, item: Item, turns: Sequence[int], key: str) -> Place | None:
    """The words selected, or the whole turn that is chosen here."""
    texts = {turn.index: turn.text for turn in item.dialogue.turns}
    if at.selected is not None:
        st.caption(inert(f"Selected in turn {at.selected.turn}:"))
        st.text(visible(_shortened(texts[at.selected.turn][at.selected.start : at.selected.end])))
        st.button("Clear the selection", key=f"clear:{key}", on_click=_clear, args=(at,))
        return at.selected
    turn = st.selectbox(
        "Select words, or a whole turn",
        turns,
        index=None,
        format_func=lambda each: visible(str(each)),
        placeholder="turn",
        key=f"turn:{key}",
    )
    whole = {"turn": turn, "start": 0, "end": len(texts.get(turn, "")) if turn is not None else 0}
    return place_in(item.dialogue, item.turn, whole)


def _shortened(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _clear(at: Desk) -> None:
    at.selected = None


def _add(
    at: Desk, item: Item, place: Place | None, code: str | None, severity: Severity | None, taxonomy: Taxonomy
) -> None:
    if place is None or code is None or severity is None:
        return
    masked = masked_turn(at.store, item, place.turn)
    finding = marked(item.dialogue, place, code_of(code, taxonomy), severity, masked)
    at.selected = None
    step(at, item, partial(add, finding=finding))


def remove_button(at: Desk, item: Item, place: int) -> None:
    """Take the finding at `place` away."""
    st.button(
        "Remove", key=f"remove:{at.n_shown}:{place}",
        on_click=step, args=(at, item, partial(remove, place=place)),
    )  # fmt: skip
