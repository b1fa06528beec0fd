"""Three charts as inline SVG: precision over recall, reliability, interval bars. Colours are CSS classes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

SIZE, LEFT, TOP = 200, 34, 8
"""Side of the plotted square and its margins, in SVG units."""
WIDTH, HEIGHT = SIZE + LEFT + 12, SIZE + TOP + 34
BAR_WIDTH, BAR_ROW, BAR_VALUE = 370, 26, 180
LETTER = 9
"""Width of a letter of a name, at most."""


def _x(value: float) -> float:
    return round(LEFT + SIZE * value, 1)


def _y(value: float) -> float:
    return round(TOP + SIZE * (1 - value), 1)


def _frame(title: str, across: str, up: str, content: str) -> str:
    """A unit square with quarter lines, both axes named."""
    lines = "".join(
        f'<line class="grid" x1="{_x(0)}" y1="{_y(v)}" x2="{_x(1)}" y2="{_y(v)}"/>'
        f'<line class="grid" x1="{_x(v)}" y1="{_y(0)}" x2="{_x(v)}" y2="{_y(1)}"/>'
        f'<text class="tick" x="{_x(v)}" y="{_y(0) + 12}" text-anchor="middle">{v:g}</text>'
        f'<text class="tick" x="{LEFT - 4}" y="{_y(v) + 3}" text-anchor="end">{v:g}</text>'
        for v in (0, 0.5, 1)
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{lines}"
        f'<text class="tick" x="{_x(0.5)}" y="{HEIGHT - 4}" text-anchor="middle">{escape(across)}</text>'
        f'<text class="tick" transform="translate(9 {_y(0.5)}) rotate(-90)" text-anchor="middle">'
        f"{escape(up)}</text>"
        f"{content}</svg>"
    )


def precision_recall(code: str, mine: dict[str, Any], others: Sequence[dict[str, Any] | None]) -> str:
    """The curve with a dot at the threshold; the others' curves, `None` where one has none, behind it."""
    elements = [
        f'<path class="line other{index % 4}" d="{_steps(other["precision_recall"])}"/>'
        for index, other in enumerate(others)
        if other is not None and other["precision_recall"]
    ]
    if mine["precision_recall"]:
        elements.append(f'<path class="line mine" d="{_steps(mine["precision_recall"])}"/>')
    if mine["at_threshold"]:
        recall, precision = mine["at_threshold"]
        elements.append(
            f'<circle class="dot" cx="{_x(recall)}" cy="{_y(precision)}" r="4.5">'
            f"<title>at the threshold: recall {recall:.2f}, precision {precision:.2f}</title></circle>"
        )
    return _frame(f"{code}: precision over recall", "recall", "precision", "".join(elements))


def _steps(points: Sequence[Sequence[float]]) -> str:
    """A path that holds each precision back to the recall before it."""
    path = f"M{_x(0)} {_y(points[0][1])}"
    for recall, precision in points:
        path += f"V{_y(precision)}H{_x(recall)}"
    return path


def reliability(code: str, mine: dict[str, Any]) -> str:
    """Frequency over probability; a dot's area grows with the rows in its bin."""
    bins = mine["reliability"]
    most = max((n for _, _, n in bins), default=1)
    elements = [f'<line class="ideal" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>']
    if len(bins) > 1:
        path = "L".join(f"{_x(p)} {_y(f)}" for p, f, _ in bins)
        elements.append(f'<path class="line mine thin" d="M{path}"/>')
    for p, frequency, n in bins:
        radius = round(2.5 + 5.5 * (n / most) ** 0.25, 1)
        elements.append(
            f'<circle class="bin" cx="{_x(p)}" cy="{_y(frequency)}" r="{radius}">'
            f"<title>said {p:.2f}, was {frequency:.2f}, {int(n)} rows</title></circle>"
        )
    return _frame(f"{code}: reliability", "probability said", "share that were errors", "".join(elements))


def bars(title: str, rows: Sequence[tuple[str, float, float | None, float | None]]) -> str:
    """A difference with its interval for each row; zero is a line, what excludes it stands out."""
    ends = [abs(v) for _, value, low, high in rows for v in (value, low or value, high or value)]
    most = max([*ends, 0.05]) * 1.08
    label = 10 + LETTER * max(len(name) for name, *_ in rows)
    height = BAR_ROW * len(rows) + 24

    def across(value: float) -> float:
        return round(label + BAR_WIDTH * (value + most) / (2 * most), 1)

    elements = [f'<line class="zero" x1="{across(0)}" y1="0" x2="{across(0)}" y2="{height - 20}"/>']
    for index, (name, value, low, high) in enumerate(rows):
        y = BAR_ROW * index + BAR_ROW / 2
        low, high = value if low is None else low, value if high is None else high
        kind = "better" if low > 0 else "worse" if high < 0 else "even"
        elements.append(
            f'<text class="name" x="{label - 10}" y="{y + 4}" text-anchor="end">{escape(name)}</text>'
            f'<line class="interval {kind}" x1="{across(low)}" y1="{y}" x2="{across(high)}" y2="{y}"/>'
            f'<circle class="{kind}" cx="{across(value)}" cy="{y}" r="5"/>'
            f'<text class="value" x="{label + BAR_WIDTH + 12}" y="{y + 4}">'
            f"{value:+.3f} ({low:+.2f} to {high:+.2f})</text>"
        )
    elements += [
        f'<text class="tick" x="{across(end)}" y="{height - 4}" text-anchor="middle">{end:+.2f}</text>'
        for end in (-most / 1.08, 0, most / 1.08)
    ]
    return (
        f'<svg class="bars" viewBox="0 0 {label + BAR_WIDTH + BAR_VALUE} {height}" role="img" '
        f'aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(elements)}</svg>"
    )
