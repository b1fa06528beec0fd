"""The report as one HTML page: what matters first, every finding in a list that can be filtered, tables with
a bar for each share, limits.

Nothing comes from elsewhere, every text is escaped, and the one script is ours (`filter.js`); without
scripts, and on paper, the whole list is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from dialint.app.reporting.figures import (
    Cell,
    Figures,
    ListedFinding,
    Table,
    headline,
    limits,
    tables,
)
from dialint.app.scoring.reports import title, visible
from dialint.app.scoring.summary import SEVERITIES
from dialint.detector.calibration import format_probability
from dialint.detector.statistics import round_interval
from dialint.eval.breakdowns import Excerpt
from dialint.eval.page import document, table, turns
from dialint.labeling.raters.estimates import Figure

SCRIPT = Path(__file__).with_name("filter.js")
Excerpts = Mapping[tuple[str, int, int, str], Excerpt]
"""The words around a listed finding or suggestion, by its `place`."""
MAX_ROWS = 300
"""Rows of a table on the page; the workbook has all."""


def page(
    figures: Figures, name: str, manifest: Mapping[str, Any], excerpts: Excerpts, *, with_text: bool = True
) -> str:
    """The page. `name` is the file's; findings without `excerpts` are quoted, and without `with_text` no word
    of a dialogue is shown."""
    date = str(manifest.get("ended_at", ""))[:10]
    release = manifest.get("work", {}).get("release", {}).get("id", "")
    first, *others = limits(figures, manifest)
    boxes = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{_format_cell(value)}</dd></div>"
        for label, value in headline(figures)
        if value not in (0, None)
    )
    header = (
        f'<h1>Findings in {escape(visible(name))}</h1><p class="dim">'
        f"{escape(visible(f'Scored {date} by {release}.'))} Small figures are 95 % intervals. "
        f"{escape(visible(first))}</p>"
    )
    listed = "".join(f"<li>{escape(visible(line))}</li>" for line in others)
    examples = "".join(_finding(each, figures, excerpts, with_text) for each in figures.suggestions)
    if examples:
        examples = (
            '<section><h2>Examples of suggestions</h2><p class="dim">The gravest of each code; personal data '
            "are placeholders where the log was named.</p>"
            f"{examples.replace('case finding', 'case')}</section>"
        )
    main = (
        f'<section><dl class="numbers">{boxes}</dl></section>'
        + _findings(figures, excerpts, with_text)
        + "".join(_section(_without_zeros(each)) for each in tables(figures))
        + examples
        + f'<section><h2>What is not covered</h2><ul class="limits">{listed or "<li>Nothing else.</li>"}</ul>'
        "</section>"
    )
    script = SCRIPT.read_text(encoding="utf-8") if figures.listed else ""
    return document(f"findings in {visible(name)}", header, main, "Made by dialint report.", script)


def _findings(figures: Figures, excerpts: Excerpts, with_text: bool) -> str:
    """Every finding, the gravest first, and what narrows the list."""
    listed = figures.findings
    if not listed:
        return ""
    items = "".join(_finding(each, figures, excerpts, with_text) for each in listed)
    n = sum(by.total() for by in figures.tally.findings.values())
    note = f"The {len(listed):,} gravest of {n:,}; --xlsx has all of them. " if n > len(listed) else ""
    severities = [s for s in SEVERITIES if any(each.finding.severity == s for each in listed)]
    codes = sorted({each.finding.code for each in listed})
    agents = sorted({each.verdict.agent for each in listed if each.verdict.agent is not None})
    filters = (
        _select("severity", "Severity", {each: each for each in severities})
        + _select("code", "Code", {code: title(code, figures.taxonomy) for code in codes})
        + (_select("agent", "Agent", {each: each for each in agents}) if agents else "")
        + '<label>Words<input name="words" type="search" autocomplete="off"></label>'
        '<output class="count" aria-live="polite"></output>'
    )
    return (
        f'<section><h2>Findings</h2><p class="dim">{note}Personal data are placeholders where the log was '
        f'named.</p><div class="filters" role="search" hidden>{filters}</div>{items}</section>'
    )


def _select(name: str, label: str, options: Mapping[str, str]) -> str:
    chosen = "".join(
        f'<option value="{escape(visible(value))}">{escape(visible(text))}</option>'
        for value, text in options.items()
    )
    return f'<label>{label}<select name="{name}"><option value="">Any</option>{chosen}</select></label>'


def _finding(one: ListedFinding, figures: Figures, excerpts: Excerpts, with_text: bool) -> str:
    finding, verdict = one.finding, one.verdict
    where = [f"turn {finding.turn} of {verdict.dialogue_id}"]
    where += [f"{key} {value}" for key in ("agent", "team") if (value := getattr(verdict, key))]
    data = {"severity": finding.severity, "code": finding.code, "agent": verdict.agent or ""}
    attributes = " ".join(f'data-{key}="{escape(visible(value))}"' for key, value in data.items())
    head = (
        f'<p class="head"><span class="level {finding.severity.lower()}">{finding.severity}</span> '
        f"<b>{escape(visible(title(finding.code, figures.taxonomy)))}</b> "
        f"probability {escape(format_probability(finding.probability))} "
        f'<span class="dim">{escape(visible(", ".join(where)))}</span></p>'
    )
    if with_text:
        excerpt = excerpts.get(one.place)
        quote = f"<p><mark>{escape(visible(finding.quote))}</mark></p>"
        head += quote if excerpt is None else turns(excerpt)
        head += f'<p class="dim">{escape(visible(finding.reason))}</p>' if finding.reason else ""
    return f'<article class="case finding" {attributes}>{head}</article>'


def _without_zeros(content: Table) -> Table:
    """The table without its columns in which nothing but 0 stands and, by code and severity, without the rows
    of what was not found; a note names these."""
    rows, note = content.rows, content.note
    if content.title in ("By code", "By severity"):
        counted = content.headings.index("Findings")
        rows = [row for row in rows if row[counted]]
        absent = [str(row[0]).split(" ", maxsplit=1)[0] for row in content.rows if not row[counted]]
        note += f" Looked for and not found: {' '.join(absent)}." if absent else ""
    kept = [
        column
        for column in range(len(content.headings))
        if column == 0 or any(row[column] not in (0, None) for row in rows)
    ]
    return Table(
        content.title,
        note,
        tuple(content.headings[column] for column in kept),
        [tuple(row[column] for column in kept) for row in rows],
    )


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
        meter = f'<meter max="100" value="{cell.value:.1f}" aria-hidden="true"></meter>'
        return f"{cell.value:.1f} <small>{low:.1f} to {high:.1f}</small>{meter}"
    if cell is None:
        return '<span class="off">–</span>'
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else escape(visible(cell))
