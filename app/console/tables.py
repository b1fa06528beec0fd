"""Tables of the console's pages, whose cells are inert, and shares with their intervals in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import streamlit as st

from dialint.app.console.i18n import N_, show_number, show_percent
from dialint.app.console.links import dialogue_address, link
from dialint.app.console.text import safe_markdown
from dialint.detector.statistics import Estimate, round_interval, wilson_interval
from dialint.labeling.store.reviewed_scores import ReviewedScore

SCORE_HELP = N_(
    "Mean quality of the reviewed dialogues by what people decided, beside the model's of the same ones. "
    "They are no random sample of all dialogues."
)


@dataclass(frozen=True)
class DialogueLink:
    """A cell that leads to a dialogue's page; `name` is its id, `filters` of the search that it is a result
    of."""

    name: str
    filters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PageLink:
    """A cell that leads to an address of ours (`links`)."""

    text: str
    address: str


Colour = Literal["red", "orange", "blue", "gray"]


@dataclass(frozen=True)
class Chips:
    """A cell of short texts on coloured grounds; no meaning may be in the colour alone."""

    chips: tuple[tuple[str, Colour], ...]


Cell = str | DialogueLink | PageLink | Chips


def table_cell(cell: Cell) -> str:
    """A cell as Markdown, inert but for the link."""
    if isinstance(cell, DialogueLink):
        return link(cell.name, dialogue_address(cell.name, **cell.filters))
    if isinstance(cell, PageLink):
        return link(cell.text, cell.address)
    if isinstance(cell, Chips):
        return " ".join(f":{colour}-badge[{safe_markdown(text)}]" for text, colour in cell.chips)
    return safe_markdown(cell)


def show_table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Show a static table, lines between its rows. Headings must differ."""
    listed = list(rows)
    st.table(
        {
            safe_markdown(heading): [table_cell(row[column]) for row in listed]
            for column, heading in enumerate(headings)
        },
        border="horizontal", hide_index=True,
    )  # fmt: skip


def percent_bounds(low: float, high: float) -> tuple[str, str]:
    """The ends of an interval of a share as percentages, which never look alike."""
    first, last = round_interval(low, high, 2)
    return show_percent(first), show_percent(last)


def share_text(successes: int, n: int) -> str:
    """``31% (16%–51%)``: a share with its Wilson interval; a dash without any."""
    if not n:
        return "–"
    low, high = percent_bounds(*wilson_interval(successes, n))
    return f"{show_percent(successes / n)} ({low}–{high})"


def short_share(successes: int, n: int) -> str:
    """``31% (16–51)``: as `share_text`, for a narrow column."""
    if not n:
        return "–"
    bounds = round_interval(*wilson_interval(successes, n), 2)
    low, high = (show_number(round(100 * each)) for each in bounds)
    return f"{show_percent(successes / n)} ({low}–{high})"


def score_text(score: ReviewedScore | None) -> str:
    """``92 / 88 (4)``: mean scores by people and by the model, and of how many reviewed dialogues, for a
    narrow column; a dash without any."""
    if score is None:
        return "–"
    model = "–" if score.model is None else show_number(round(score.model))
    return f"{show_number(round(score.reviewed))} / {model} ({show_number(score.n)})"


def mean_text(mean: float | None) -> str:
    """A mean score with one decimal; a dash where there is none."""
    return "–" if mean is None else show_number(round(mean, 1), "0.0")


def estimate_text(estimate: Estimate, *, signed: bool = False) -> str:
    """``0.62 (0.41 to 0.80)``; a dash where it is not defined."""
    if estimate.value != estimate.value:
        return "–"
    pattern = "+0.00;−0.00" if signed else "0.00"
    value = show_number(round(estimate.value, 2) + 0.0, pattern)  # never -0.00
    if estimate.low != estimate.low:
        return value
    bounds = round_interval(estimate.low, estimate.high, 2)
    low, high = (show_number(bound + 0.0, pattern) for bound in bounds)
    return f"{value} ({low} … {high})"
