"""Pictures of the report as inline SVG: errors by code and severity, shares with intervals, weeks.

Every picture has its numbers as text, in itself or as its description, and says nothing by colour alone.
Colours are classes of the stylesheets. The width is that of a phone, so that text is never small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from dialint.app.scoring.reports import visible
from dialint.detector.statistics import round_interval
from dialint.labeling.raters.estimates import Figure

WIDTH, BAR, ROW = 420, 270, 42
"""Of a picture, of its longest bar, and the height of a row, in SVG units."""
LETTERS = 40
"""Of a name that is drawn; the whole one is in its title."""
PLOT_HEIGHT, LEFT = 170, 34


def _svg(title: str, description: str, height: float, content: str) -> str:
    return (
        f'<svg class="picture" viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(title)} '
        f'{escape(description)}">{content}</svg>'
    )


def _name(text: str, y: float) -> str:
    text = visible(text)
    short = text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
    return f'<text class="name" x="0" y="{y:g}">{escape(short)}<title>{escape(text)}</title></text>'


def severity_bars(title: str, rows: Sequence[tuple[str, Mapping[str, int]]]) -> str:
    """A bar for each row, in parts by severity, the gravest first; beside it the numbers of the parts."""
    most = max(sum(parts.values()) for _, parts in rows)
    elements, described = [], []
    for index, (name, parts) in enumerate(rows):
        y, x = ROW * index, 0.0
        words = " · ".join(f"{severity} {n:,}" for severity, n in parts.items() if n)
        elements.append(_name(name, y + 14))
        for severity, n in parts.items():
            width = BAR * n / most
            elements.append(
                f'<rect class="{severity.lower()}" x="{x:.1f}" y="{y + 20}" width="{width:.1f}" height="13"/>'
            )
            x += width
        elements.append(f'<text class="value" x="{x + 8:.1f}" y="{y + 31}">{escape(words)}</text>')
        described.append(f"{visible(name)}: {words}")
    return _svg(title, "; ".join(described), ROW * len(rows), "".join(elements))


def interval_rows(title: str, rows: Sequence[tuple[str, Figure]], whole: float | None) -> str:
    """A point with its 95 % interval for each row, in percent; a dashed line at the share of the `whole`."""
    top = _round_up(max(figure.high or 0.0 for _, figure in rows))

    def across(value: float) -> float:
        return round(6 + (WIDTH - 12) * value / top, 1)

    height = ROW * len(rows) + 20
    elements, described = [], []
    if whole is not None:
        elements.append(
            f'<line class="ideal" x1="{across(whole)}" x2="{across(whole)}" y1="0" y2="{height - 16}"/>'
        )
    for index, (name, figure) in enumerate(rows):
        y, line = ROW * index, ROW * index + 27
        value, low, high = figure.value or 0.0, figure.low or 0.0, figure.high or 0.0
        text = f"{_per_cent(figure)}, {figure.n:,} dialogues"
        elements.append(
            f'{_name(name, y + 14)}<text class="value" x="{WIDTH}" y="{y + 14}" text-anchor="end">'
            f'{text}</text><line class="interval mark" x1="{across(low)}" x2="{across(high)}" y1="{line}" '
            f'y2="{line}"/><circle class="mark" cx="{across(value)}" cy="{line}" r="5"/>'
        )
        described.append(f"{visible(name)}: {text}")
    anchors = ((0.0, "start"), (top / 2, "middle"), (top, "end"))
    elements += [
        f'<text class="tick" x="{across(at)}" y="{height - 2}" text-anchor="{anchor}">{at:g} %</text>'
        for at, anchor in anchors
    ]
    return _svg(title, "; ".join(described), height, "".join(elements))


def week_points(title: str, rows: Sequence[tuple[str, Figure]]) -> str:
    """A point with its 95 % interval for each week, from left to right."""
    shown = [(name, figure) for name, figure in rows if figure.value is not None]
    top = _round_up(max(figure.high or 0.0 for _, figure in shown))
    step = (WIDTH - LEFT - 12) / max(1, len(rows))

    def up(value: float) -> float:
        return round(8 + PLOT_HEIGHT * (1 - value / top), 1)

    elements = [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{up(at)}" y2="{up(at)}"/>'
        f'<text class="tick" x="{LEFT - 4}" y="{up(at) + 4}" text-anchor="end">{at:g}</text>'
        for at in (0.0, top / 2, top)
    ]
    every = -(-len(rows) // 6)
    for index, (name, figure) in enumerate(rows):
        x = round(LEFT + 8 + step * (index + 0.5), 1)
        if index % every == 0:
            elements.append(
                f'<text class="tick" x="{x}" y="{PLOT_HEIGHT + 24}" text-anchor="middle">'
                f"{escape(visible(name))}</text>"
            )
        if figure.value is None or figure.low is None or figure.high is None:
            continue
        elements.append(
            f'<line class="interval mark" x1="{x}" x2="{x}" y1="{up(figure.low)}" y2="{up(figure.high)}"/>'
            f'<circle class="mark" cx="{x}" cy="{up(figure.value)}" r="5">'
            f"<title>{escape(visible(name))}: {_per_cent(figure)}</title></circle>"
        )
    described = "; ".join(f"{visible(name)}: {_per_cent(figure)}" for name, figure in shown)
    return _svg(title, described, PLOT_HEIGHT + 30, "".join(elements))


def _round_up(value: float) -> float:
    """The end of an axis from 0 to a percentage."""
    return next((end for end in (2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 80.0) if value <= end), 100.0)


def _per_cent(figure: Figure) -> str:
    low, high = round_interval(figure.low or 0.0, figure.high or 0.0, 0)
    return f"{figure.value:.0f} % ({low:.0f} to {high:.0f})"
