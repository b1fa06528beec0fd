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

from dialint.app.console.answer import Answer, Place
from dialint.app.console.plain import HIDDEN, HIDDEN_AT, pictured, visible
from dialint.detector.records import Dialogue
from dialint.labeling.annotation import judged_turns

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

NAME = "dialint.dialogue"
MarkState = Literal["open", "kept", "rejected", "selected"]
UNSEEN = "\ufffd"
"""Stands in the shown text for a character that is drawn by its name."""
NAMED = 200
"""So many characters of a turn are drawn by their names; more of them are drawn as `UNSEEN`."""
PAGE_TURNS, PAGE_CHARS = 200, 100_000
"""What a browser is given to draw at once: of a longer dialogue, one page of it."""
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


@dataclass(frozen=True)
class Stretch:
    """A turn, or the part of it from `start` to `end`, that stands on one page. `turn` is its index."""

    turn: int
    start: int
    end: int


def paged(dialogue: Dialogue) -> tuple[tuple[Stretch, ...], ...]:
    """The dialogue cut into pages of at most `PAGE_TURNS` and `PAGE_CHARS`."""
    pages: list[list[Stretch]] = [[]]
    room = PAGE_CHARS
    for turn in dialogue.turns:
        start = 0
        while True:
            end = min(len(turn.text), start + PAGE_CHARS)
            if len(pages[-1]) == PAGE_TURNS or (pages[-1] and end - start > room):
                pages.append([])
                room = PAGE_CHARS
            pages[-1].append(Stretch(turn.index, start, end))
            room -= end - start
            start = end
            if start == len(turn.text):
                break
    return tuple(map(tuple, pages))


def page_of(pages: Sequence[Sequence[Stretch]], turn: int, at: int = 0) -> int:
    """The page on which the code point `at` of a turn stands."""
    return next(
        (n for n, page in enumerate(pages) for each in page if each.turn == turn and at <= each.end), 0
    )


def drawn(
    dialogue: Dialogue,
    asked: int | None,
    marks: Sequence[Mark],
    focus: int | None,
    shown: int,
    page: tuple[int, Sequence[Stretch]] | None = None,
) -> dict[str, Any]:
    """What the browser draws. `asked`: the only turn in question; `focus`: the turn to bring into view;
    `shown` tells one dialogue from the next, as its id must not be in a blind labeler's page. `page`: its
    number and what stands on it, if not all."""
    judged = judged_turns(dialogue)
    number, stretches = page or (0, [Stretch(turn.index, 0, len(turn.text)) for turn in dialogue.turns])
    by_index = {turn.index: turn for turn in dialogue.turns}
    turns = []
    for each in stretches:
        turn = by_index[each.turn]
        near = [mark for mark in marks if mark.place.turn == each.turn and mark.place.end > each.start]
        turns.append(
            {
                "index": turn.index,
                "role": turn.role,
                "from": each.start,
                "part": (each.start, each.end) != (0, len(turn.text)),
                "asked": turn.index == asked,
                "selectable": turn.index in judged and asked in (None, turn.index),
                "pieces": _pieces(turn.text[each.start : each.end], each.start, near),
            }
        )
    return {"shown": shown, "page": number, "turns": turns, "focus": focus}


def _pieces(text: str, first: int, marks: Sequence[Mark]) -> list[dict[str, Any]]:
    """A turn's text, or its part from `first`, cut where marks and unseen characters begin and end; each
    piece with the states over it, the labels of marks that end with it, and its name if it is unseen."""
    unseen = {at.start(): HIDDEN[ord(at[0])] for at in islice(HIDDEN_AT.finditer(text), NAMED)}
    shown = HIDDEN_AT.sub(UNSEEN, pictured(text))
    places = [
        (mark, mark.place.start - first, mark.place.end - first)
        for mark in marks
        if mark.place.start < first + len(text)
    ]
    edges = {edge for _, start, end in places for edge in (start, end) if 0 <= edge <= len(shown)}
    cuts = sorted(edges.union({0, len(shown)}, unseen, (place + 1 for place in unseen)))
    pieces = []
    for start, end in pairwise(cuts):
        over = [(mark, last) for mark, begin, last in places if begin <= start and end <= last]
        pieces.append(
            {
                "text": shown[start:end],
                "name": unseen.get(start),
                "states": sorted({mark.state for mark, _ in over}),
                "ends": [{"label": mark.label, "state": mark.state} for mark, last in over if last == end],
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
