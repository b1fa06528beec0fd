"""The dialogue on the screen: one small component that draws turns and marks, and says what was selected.

The browser gets pieces of text and draws each by ``textContent``: nothing in a dialogue can become
markup. Offsets are code points of the shown text on both sides, one for one of the dialogue's: what may
steer a terminal, turn the text beside it or vanish on a screen is drawn as its picture or by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from app.console.answer import Answer, Place
from app.console.plain import HIDDEN, HIDDEN_AT, pictured, visible
from detector.records import Dialogue, Turn
from labeling.annotation import judged_turns

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

NAME = "dialint.dialogue"
MarkState = Literal["open", "kept", "rejected", "selected"]
UNSEEN = "\ufffd"
"""Stands in the shown text for a character that is drawn by its name."""
NAMED = 200
"""So many characters of a turn are drawn by their names; more of them are drawn as `UNSEEN`."""
SYMBOLS: dict[MarkState, str] = {"open": "?", "kept": "✓", "rejected": "✗", "selected": "…"}
"""Beside each mark, so that nothing is said by colour alone."""


@dataclass(frozen=True)
class Mark:
    """A stretch of a turn that is underlined, and the few words beside it."""

    place: Place
    label: str
    state: MarkState


def marks_of(answer: Answer, selected: Place | None) -> list[Mark]:
    """A mark for each choice, numbered as the cards beside the dialogue are, and one for the selection."""
    marks = [
        Mark(
            Place(turn=choice.finding.turn, start=choice.finding.start, end=choice.finding.end),
            visible(f"{number} {choice.finding.code} {SYMBOLS[choice.state]}"),
            choice.state,
        )
        for number, choice in enumerate(answer.choices, 1)
    ]
    return marks if selected is None else [*marks, Mark(selected, "selected", "selected")]


def drawn(
    dialogue: Dialogue, asked: int | None, marks: Sequence[Mark], focus: int | None, shown: int
) -> dict[str, Any]:
    """What the browser draws. `asked`: the only turn in question; `focus`: the turn to bring into view;
    `shown` tells one dialogue from the next, as its id must not be in a blind labeler's page."""
    judged = judged_turns(dialogue)
    turns = [
        {
            "index": turn.index,
            "role": turn.role,
            "asked": turn.index == asked,
            "selectable": turn.index in judged and asked in (None, turn.index),
            "pieces": _pieces(turn, [mark for mark in marks if mark.place.turn == turn.index]),
        }
        for turn in dialogue.turns
    ]
    return {"shown": shown, "turns": turns, "focus": focus}


def _pieces(turn: Turn, marks: Sequence[Mark]) -> list[dict[str, Any]]:
    """The turn's text cut where marks and unseen characters begin and end; each piece with the states over
    it, the labels of the marks that end with it, and its name if it is such a character."""
    unseen = {at.start(): HIDDEN[ord(at[0])] for at in islice(HIDDEN_AT.finditer(turn.text), NAMED)}
    shown = HIDDEN_AT.sub(UNSEEN, pictured(turn.text))
    edges = {edge for mark in marks for edge in (mark.place.start, mark.place.end) if edge <= len(shown)}
    cuts = sorted(edges.union({0, len(shown)}, unseen, (place + 1 for place in unseen)))
    pieces = []
    for start, end in pairwise(cuts):
        over = [mark for mark in marks if mark.place.start <= start and end <= mark.place.end]
        pieces.append(
            {
                "text": shown[start:end],
                "name": unseen.get(start),
                "states": sorted({mark.state for mark in over}),
                "ends": [
                    {"label": mark.label, "state": mark.state} for mark in over if mark.place.end == end
                ],
            }
        )
    return pieces


def draw(data: dict[str, Any], key: str, on_selected: Callable[[], None]) -> None:
    """Put the dialogue on the page. When words are selected, session state at `key` holds ``selected``:
    {turn, start, end} as the browser says, not to be trusted."""
    _component()(key=key, data=data, on_selected_change=on_selected)


@cache
def _component() -> ComponentRenderer:
    import streamlit as st

    folder = Path(__file__).parent
    return st.components.v2.component(
        NAME,
        html='<ol class="dialint-turns" tabindex="0" aria-label="Dialogue"></ol>',
        css=(folder / "dialogue.css").read_text(encoding="utf-8"),
        js=(folder / "dialogue.js").read_text(encoding="utf-8"),
        isolate_styles=False,  # the browser tells the selection inside a shadow root to nobody
    )
