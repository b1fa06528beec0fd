"""A dialogue beside the facts about it, for pages where nothing is drafted: marks, a turn in focus, pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from dialint.app.console.i18n import _
from dialint.app.console.text import safe_text
from dialint.app.console.workspace.answer import Selection, parse_selection
from dialint.app.console.workspace.dialogue_view import Mark, find_page, paginate, render_dialogue, view_data
from dialint.detector.records import Dialogue, Finding


def finding_marks(findings: Sequence[Finding]) -> list[Mark]:
    """A mark for each finding, with its number in the list."""
    return [
        Mark(
            Selection(turn=each.turn, start=each.start, end=each.end),
            safe_text(f"{number} {each.code}"),
            "open",
        )
        for number, each in enumerate(findings, 1)
    ]


def show_marked_dialogue(
    dialogue: Dialogue, marks: Sequence[Mark], focus: int | None, key: str, *,
    only_turn: int | None = None, on_selection: Callable[[Selection], None] | None = None,
) -> None:  # fmt: skip
    """Show the dialogue with its marks; of a long one the page with the turn `focus`. `on_selection` gets the
    words that are selected in `only_turn`, or in any turn that is judged."""
    pages = paginate(dialogue)
    number = find_page(pages, focus) if focus is not None else 0
    if len(pages) > 1:
        title = _("Page {page} of {n}: from turn {turn}")
        number = st.selectbox(
            _("Page"), range(len(pages)), index=number, key=f"page:{key}",
            format_func=lambda i: safe_text(
                title.format(page=i + 1, n=len(pages), turn=pages[i][0].turn)
            ),
        )  # fmt: skip
    name = f"dialogue:{key}"

    def on_selected() -> None:
        raw = getattr(st.session_state.get(name), "selected", None)
        selection = parse_selection(dialogue, only_turn, raw)
        if selection is not None and on_selection is not None:
            on_selection(selection)

    data = view_data(dialogue, only_turn, marks, focus, 0, (number, pages[number]))
    render_dialogue({**data, "words": _turn_words()}, name, on_selected)


def _turn_words() -> dict[str, object]:
    """The words around a turn's text, in the language of the page."""
    return {
        "names": {
            "customer": _("Customer"), "agent": _("Agent"), "bot": _("Bot"), "system": _("System"),
            "tool": _("Tool result"),
        },
        "unseen": _("not seen by the customer"), "call": _("Tool call"),
        "part": _("a part, from character {n}"), "asked": _("this turn is asked about"),
    }  # fmt: skip
