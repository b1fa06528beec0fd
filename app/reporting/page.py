"""The report as one HTML page: no script, nothing from elsewhere, printable; every text is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dialint.app.reporting.figures import Cell, Figures, Table, headline, limits, tables
from dialint.app.scoring.reports import title, visible
from dialint.detector.calibration import format_probability
from dialint.detector.records import Finding, Verdict
from dialint.detector.statistics import round_interval
from dialint.eval.figures.hard_examples import Excerpt
from dialint.eval.report.page import document, table, turns
from dialint.labeling.raters.estimates import Figure

MAX_ROWS = 300
"""Rows of a table on the page; the workbook has all."""


def page(
    figures: Figures,
    name: str,
    manifest: Mapping[str, Any],
    examples: Sequence[tuple[Verdict, Finding, Excerpt | None]],
) -> str:
    """The page. `name` is the file's, `examples` come with the words to show, if any are to be shown."""
    date = str(manifest.get("ended_at", ""))[:10]
    release = manifest.get("work", {}).get("release", {}).get("id", "")
    boxes = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{_format_cell(value)}</dd></div>"
        for label, value in headline(figures)
    )
    header = (
        f'<h1>Findings in {escape(visible(name))}</h1><p class="dim">'
        f"{escape(visible(f'Scored {date} by {release}.'))} Small figures are 95 % intervals.</p>"
    )
    excerpt = "".join(f"<li>{escape(visible(line))}</li>" for line in limits(figures, manifest))
    main = (
        f'<section><dl class="numbers">{boxes}</dl></section>'
        f'<section><h2>What is not covered</h2><ul class="limits">{excerpt}</ul></section>'
        + "".join(_section(each) for each in tables(figures))
        + _examples(figures, examples)
    )
    return document(f"findings in {visible(name)}", header, main, "Made by dialint report.")


def _section(content: Table) -> str:
    rows = [
        [
            f'<th scope="row">{_format_cell(row[0])}</th>',
            *(f"<td>{_format_cell(cell)}</td>" for cell in row[1:]),
        ]
        for row in content.rows[:MAX_ROWS]
    ]
    n_omitted = len(content.rows) - MAX_ROWS
    more = f'<p class="dim">and {n_omitted:,} more; --xlsx has all of them</p>' if n_omitted > 0 else ""
    return (
        f'<section><h2>{escape(content.title)}</h2><p class="dim">{escape(content.note)}</p>'
        f"{table(content.title, content.headings, rows)}{more}</section>"
    )


def _format_cell(cell: Cell) -> str:
    if isinstance(cell, Figure):
        if cell.value is None or cell.low is None or cell.high is None:
            return '<span class="off">–</span>'
        low, high = round_interval(cell.low, cell.high, 1)
        return f"{cell.value:.1f} <small>{low:.1f} to {high:.1f}</small>"
    if cell is None:
        return '<span class="off">–</span>'
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else escape(visible(cell))


def _examples(figures: Figures, examples: Sequence[tuple[Verdict, Finding, Excerpt | None]]) -> str:
    articles: dict[str, list[str]] = {"Examples": [], "Examples of suggestions": []}
    for verdict, finding, excerpt in examples:
        where = [f"turn {finding.turn} of {verdict.dialogue_id}"]
        where += [f"{key} {value}" for key in ("agent", "team") if (value := getattr(verdict, key))]
        name = title(finding.code, figures.taxonomy)
        of_suggestions = any(finding is each for each in verdict.suggestions)
        articles["Examples of suggestions" if of_suggestions else "Examples"].append(
            f'<article class="case"><p class="head"><b>{escape(visible(name))}</b> '
            f"{finding.severity}, probability {escape(format_probability(finding.probability))} "
            f'<span class="dim">{escape(visible(", ".join(where)))}</span></p>'
            + (
                ""
                if excerpt is None
                else f'{turns(excerpt)}<p class="dim">{escape(visible(finding.reason))}</p>'
            )
            + "</article>"
        )
    return "".join(
        f'<section><h2>{heading}</h2><p class="dim">Drawn at random, not picked; personal data are '
        f"placeholders.</p>{''.join(parts)}</section>"
        for heading, parts in articles.items()
        if parts
    )
