"""Charts of the console: days, shares with intervals, weeks.

They are Vega-Lite specifications as data and not built with Altair's classes, which take 100 ms for each
chart to build and to validate (2026-11-25), in every rerun. Streamlit's theme gives text and lines their
colours in light and dark; those of the marks are here and can be told apart from both backgrounds. Nothing is
told by colour alone: series have a shape, a place or a label, too. Text from outside goes through
`safe_text`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import streamlit as st

from dialint.app.console.i18n import _
from dialint.app.console.tables import share_text
from dialint.app.console.text import safe_text
from dialint.detector.statistics import wilson_interval

STRONG, MUTED, MARKED = "#3b82d6", "#808a97", "#d9722a"
"""Colours of marks; each has a contrast of 3 or more on the backgrounds of both themes (WCAG 1.4.11)."""
SHAPES = {STRONG: "circle", MUTED: "diamond", MARKED: "triangle-up"}
LEGEND = {"orient": "top", "direction": "vertical", "labelLimit": 0}
"""One line for each series, so that a narrow screen cuts none."""
ROW_HEIGHT_PX = 28
LABEL_WIDTH_PX = 160


@dataclass(frozen=True)
class DayCount:
    """Dialogues of one day, and those of them that stand out."""

    day: date
    n: int
    n_marked: int


@dataclass(frozen=True)
class ShareMark:
    """A share in [0, 1] with its interval; `state` names the series, `detail` is shown beside the pointer."""

    label: str
    value: float
    low: float
    high: float
    state: str
    color: str = STRONG
    detail: str = ""

    @classmethod
    def of(cls, label: str, k: int, n: int, state: str, color: str = STRONG) -> ShareMark:
        """Return the mark of `k` of `n`, with Wilson's interval."""
        return cls(label, k / max(1, n), *wilson_interval(k, n), state, color, share_text(k, n))


def draw_days(days: Sequence[DayCount], names: tuple[str, str], alt: str, label: str = "%m-%d") -> None:
    """Draw bars by day (in the format `label`): what stands out below, the others above, with the `names` of
    both."""
    marked, others = names
    values = [
        {"day": row.day.strftime(label), "series": series, "n": n, "order": order}
        for row in days
        for order, series, n in ((0, marked, row.n_marked), (1, others, row.n - row.n_marked))
    ]
    _draw(values, {
        "layer": [{"mark": {"type": "bar", "cornerRadiusEnd": 1}}],
        "encoding": {
            "x": {
                "field": "day", "type": "ordinal", "sort": None, "title": None,
                "axis": {"labelAngle": 0, "labelOverlap": True, "grid": False, "ticks": False},
            },
            "y": {
                "field": "n", "type": "quantitative", "title": _("Dialogues"),
                "axis": {"tickMinStep": 1, "tickCount": 4, "format": ",d"},
            },
            "color": {
                "field": "series", "type": "nominal", "title": None,
                "scale": {"domain": [marked, others], "range": [MARKED, STRONG]},
                "legend": LEGEND,
            },
            "order": {"field": "order"},
            "tooltip": [
                {"field": "day", "type": "nominal", "title": _("Day")},
                {"field": "series", "type": "nominal", "title": _("What")},
                {"field": "n", "type": "quantitative", "title": _("Dialogues")},
            ],
        },
    }, 250, alt)  # fmt: skip


def draw_shares(
    marks: Sequence[ShareMark],
    title: str,
    alt: str,
    reference: float | None = None,
    *,
    n_rows: int | None = None,
    by_week: bool = False,
) -> None:
    """Draw a point with its interval for each mark, one row a label, or by week from left to right; a dashed
    line at the `reference`."""
    n_rows = n_rows or len(marks)
    names_on, along, height_px = (
        "y",
        "x",
        round(96 + ROW_HEIGHT_PX * n_rows * (1.4 if len(marks) > n_rows else 1)),
    )
    axis: dict[str, Any] = {"labelLimit": LABEL_WIDTH_PX, "labelOverlap": False, "grid": False}
    if by_week:
        names_on, along, height_px = "x", "y", 250
        axis = {"labelAngle": 0, "labelOverlap": True, "grid": False}
    position = {"field": "label", "type": "nominal", "sort": None, "title": None, "axis": axis}
    colors = {mark.state: mark.color for mark in marks}
    values = [
        {
            "label": safe_text(mark.label), "value": mark.value, "low": mark.low, "high": mark.high,
            "state": mark.state, "detail": safe_text(mark.detail),
        }
        for mark in marks
    ]  # fmt: skip
    domain, palette = list(colors), list(colors.values())
    beside: dict[str, Any] = {}
    if not by_week and len({mark.label for mark in marks}) < len(marks):
        beside = {"yOffset": {"field": "state", "type": "nominal", "sort": None}}
    color = {
        "field": "state", "type": "nominal", "title": None, "scale": {"domain": domain, "range": palette},
        "legend": LEGEND if len(domain) > 1 else None,
    }  # fmt: skip
    shapes = {**color, "scale": {"domain": domain, "range": [SHAPES[each] for each in palette]}}
    tooltip = [
        {"field": "label", "type": "nominal", "title": _("Name")},
        {"field": "detail", "type": "nominal", "title": title},
        {"field": "state", "type": "nominal", "title": _("What")},
    ]
    spaced = "replace(datum.label, '%', '\N{NO-BREAK SPACE}%')"
    scale = {"format": ".0%", "labelExpr": spaced, "tickCount": 4, "titleAnchor": "end"}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2.5, "opacity": 0.75},
            "encoding": {
                along: {"field": "low", "type": "quantitative", "title": title, "axis": scale},
                f"{along}2": {"field": "high"}, "color": color, "tooltip": tooltip, **beside,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {
                along: {"field": "value", "type": "quantitative"}, "color": color, "shape": shapes,
                "tooltip": tooltip, **beside,
            },
        },
    ]  # fmt: skip
    if reference is not None:
        layers.append({
            "data": {"values": [{"at": reference}]},
            "mark": {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.5, "color": MUTED},
            "encoding": {along: {"field": "at", "type": "quantitative"}, names_on: {}},
        })  # fmt: skip
    _draw(values, {"encoding": {names_on: position}, "layer": layers}, height_px, alt)


def _draw(values: list[dict[str, Any]], chart: dict[str, Any], height_px: int, alt: str) -> None:
    """Draw layers that hold their data: Streamlit would convert those at the top by pandas, which takes 15
    ms."""
    layers = [{"data": {"values": values}, **layer} for layer in chart["layer"]]
    st.vega_lite_chart({**chart, "layer": layers}, height=height_px, theme="streamlit", alt=safe_text(alt))
