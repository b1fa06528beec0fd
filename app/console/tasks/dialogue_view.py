"""A Streamlit component that renders a dialogue with marks and reports what was selected in it.

The browser gets pieces of text and renders each by ``textContent``: nothing in a dialogue can become markup.
Calls of tools and their results are folded, and marked as not seen by the customer.
Offsets are code points of the displayed text on both sides, equal to those of the dialogue: characters that
may steer a terminal, reverse the text beside them or vanish on a screen are rendered as a picture or by their
name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from dialint.app.console.i18n import _, show_number
from dialint.app.console.tables import select
from dialint.app.console.tasks.answer import Selection, parse_selection
from dialint.app.console.text import HIDDEN, HIDDEN_PATTERN, replace_controls, safe_text
from dialint.detector.records import Dialogue, Finding
from dialint.detector.tool_use import format_call
from dialint.detector.yaml_document import read_document
from dialint.labeling.annotation import judged_turns

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer


NAME = "dialint.dialogue"
WORDS_FILE = Path(__file__).with_name("workspace.yaml")
MarkState = Literal["open", "suggested", "kept", "rejected", "selected"]
UNSEEN = "\ufffd"
"""Replaces in the displayed text a character that is rendered by its name."""
MAX_HIDDEN_NAMES = 200
"""So many characters of a turn are rendered by their names, more of them as `UNSEEN`."""
PAGE_TURNS, PAGE_CHARS = 200, 100_000
"""The most that a browser renders at once: of a longer dialogue, one page."""
MAX_CALL_CHARS = 4_000
"""The most that is rendered of one call."""


@dataclass(frozen=True)
class Mark:
    """A part of a turn that is underlined, and the label beside it."""

    selection: Selection
    label: str
    state: MarkState

    @classmethod
    def of(cls, finding: Finding, label: str, state: MarkState = "open") -> Mark:
        """Return a mark of a finding's words; the `label` may be from outside."""
        selection = Selection(turn=finding.turn, start=finding.start, end=finding.end)
        return cls(selection, safe_text(label), state)

    @property
    def badge(self) -> dict[str, str]:
        """The label that the browser draws behind the words, or behind the call."""
        return {"label": self.label, "state": self.state}


@dataclass(frozen=True)
class TurnSlice:
    """A turn, or the part of it from `start` to `end`, that is on one page. `turn` is its index."""

    turn: int
    start: int
    end: int


@cache
def load_words() -> dict[str, Any]:
    """Return `workspace.yaml`: the words and the keys of the workspace, and the words of turns."""
    words: dict[str, Any] = read_document(WORDS_FILE, "E_WORDS").value
    return words


def translate_words(words: Any) -> Any:
    """Translate the texts of a part of `load_words` into the language of this page."""
    if isinstance(words, dict):
        return {name: translate_words(each) for name, each in words.items()}
    return _(words)


def paginate(dialogue: Dialogue) -> tuple[tuple[TurnSlice, ...], ...]:
    """Cut the dialogue into pages of at most `PAGE_TURNS` and `PAGE_CHARS`."""
    pages: list[list[TurnSlice]] = [[]]
    room = PAGE_CHARS
    for turn in dialogue.turns:
        start = 0
        while True:
            end = min(len(turn.text), start + PAGE_CHARS)
            if len(pages[-1]) == PAGE_TURNS or (pages[-1] and end - start > room):
                pages.append([])
                room = PAGE_CHARS
            pages[-1].append(TurnSlice(turn.index, start, end))
            room -= end - start
            start = end
            if start == len(turn.text):
                break
    return tuple(map(tuple, pages))


def find_page(pages: Sequence[Sequence[TurnSlice]], turn: int) -> int:
    """Return the index of the page on which a turn begins."""
    return next((n for n, page in enumerate(pages) for part in page if part.turn == turn), 0)


def view_turns(
    dialogue: Dialogue, only_turn: int | None, marks: Sequence[Mark], parts: Sequence[TurnSlice]
) -> list[dict[str, Any]]:
    """Return the turns of a page, of these `parts`, as the browser renders them. `only_turn`: the only turn
    that the item is about."""
    judged = judged_turns(dialogue)
    by_index = {turn.index: turn for turn in dialogue.turns}
    turns = []
    for part in parts:
        turn = by_index[part.turn]
        near = [m for m in marks if m.selection.turn == part.turn and m.selection.end > part.start]
        turns.append(
            {
                "index": turn.index,
                "role": turn.role,
                "from": part.start,
                "part": (part.start, part.end) != (0, len(turn.text)),
                "in_question": turn.index == only_turn,
                "selectable": turn.index in judged and only_turn in (None, turn.index),
                "pieces": _split(turn.text[part.start : part.end], part.start, near),
                "unseen": turn.role == "tool",
                "calls": [safe_text(format_call(call)[:MAX_CALL_CHARS]) for call in turn.tool_calls]
                if part.start == 0
                else [],
                "call_marks": [
                    [mark.badge for mark in near if mark.selection.start <= n < mark.selection.end]
                    for n in range(len(turn.tool_calls) if turn.is_silent_act else 0)
                ],
            }
        )
    return turns


def _split(text: str, first: int, marks: Sequence[Mark]) -> list[dict[str, Any]]:
    """Split a turn's text where marks and hidden characters begin and end, with the states and labels of each
    piece."""
    matches = islice(HIDDEN_PATTERN.finditer(text), MAX_HIDDEN_NAMES)
    hidden = {match.start(): HIDDEN[ord(match[0])] for match in matches}
    displayed = HIDDEN_PATTERN.sub(UNSEEN, replace_controls(text))
    spans = [
        (mark, mark.selection.start - first, mark.selection.end - first)
        for mark in marks
        if mark.selection.start < first + len(text)
    ]
    edges = {edge for _, start, end in spans for edge in (start, end) if 0 <= edge <= len(displayed)}
    cuts = sorted(edges.union({0, len(displayed)}, hidden, (position + 1 for position in hidden)))
    pieces = []
    for start, end in pairwise(cuts):
        covering = [(mark, last) for mark, begin, last in spans if begin <= start and end <= last]
        pieces.append(
            {
                "text": displayed[start:end],
                "name": hidden.get(start),
                "states": sorted({mark.state for mark, _ in covering}),
                "ends": [mark.badge for mark, last in covering if last == end],
            }
        )
    return pieces


@cache
def _component() -> ComponentRenderer:
    folder = Path(__file__).parent
    return st.components.v2.component(
        NAME,
        html='<ol class="dialint-turns" tabindex="0" aria-label="Dialogue"></ol>',
        css=(folder / "dialogue.css").read_text(encoding="utf-8"),
        js="\n".join((folder / name).read_text(encoding="utf-8") for name in ("turns.js", "dialogue.js")),
        isolate_styles=False,  # browsers do not report selections inside a shadow root
    )


def finding_marks(findings: Sequence[Finding], suggestions: Sequence[Finding] = ()) -> list[Mark]:
    """Return a mark for each finding and suggestion, with its number in the list."""
    return [
        Mark.of(each, f"{number} {each.code}", "open" if number <= len(findings) else "suggested")
        for number, each in enumerate((*findings, *suggestions), 1)
    ]


def show_marked_dialogue(
    dialogue: Dialogue, marks: Sequence[Mark], focus: int | None, key: str, *,
    only_turn: int | None = None, on_selection: Callable[[Selection | None], None] | None = None,
) -> None:  # fmt: skip
    """Show the dialogue, of a long one the page with `focus`; `on_selection` gets words selected in a judged
    turn, or none."""
    pages = paginate(dialogue)
    number = find_page(pages, focus) if focus is not None else 0
    if len(pages) > 1:
        title = _("Page {page} of {n}: from turn {turn}")
        names = {
            n: title.format(page=show_number(n + 1), n=show_number(len(pages)), turn=page[0].turn)
            for n, page in enumerate(pages)
        }
        number = select(_("Page"), names, f"page:{key}", usual=number)
    name = f"dialogue:{key}"

    def on_selected() -> None:
        if on_selection is not None:
            raw = getattr(st.session_state.get(name), "selected", None)
            on_selection(parse_selection(dialogue, only_turn, raw))

    turns, words = view_turns(dialogue, only_turn, marks, pages[number]), load_words()["texts"]["turn"]
    data = {"turns": turns, "focus": focus, "page": number, "words": translate_words(words)}
    _component()(key=name, data=data, on_selected_change=on_selected)
