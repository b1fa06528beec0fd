"""The report as one HTML page: main figures, a list of findings with filters, tables with a bar for each
share, limits.

The page loads nothing, every text is escaped (``page.html.jinja``), and the only script is `filter.js`;
without scripts, and in print, the whole list is displayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from dialint.app.reporting.figures import Cell, Figures, Table, headline, limits, tables
from dialint.app.scoring.reports import title, visible
from dialint.app.scoring.summary import SEVERITIES
from dialint.detector.calibration import format_probability
from dialint.detector.statistics import round_interval
from dialint.eval.breakdowns import Excerpt
from dialint.eval.page import document, table, turns
from dialint.labeling.raters.estimates import Figure

SCRIPT = Path(__file__).with_name("filter.js")
Excerpts = Mapping[tuple[str, int, int, str], Excerpt]
"""The turns around a listed finding or suggestion, by its `place`."""
MAX_ROWS = 300
"""Most rows of a table on the page; the workbook has all."""
ABSENT = Markup('<span class="off">–</span>')


def page(
    figures: Figures, name: str, manifest: Mapping[str, Any], excerpts: Excerpts, *, with_text: bool = True
) -> str:
    """Renders the page. `name` is that of the verdicts' file; findings without an excerpt are quoted; without
    `with_text` the page has no text of a dialogue."""
    listed = figures.findings
    severities = {each.finding.severity for each in listed}
    agents = sorted({each.verdict.agent for each in listed if each.verdict.agent is not None})
    codes = sorted({each.finding.code for each in listed})
    date, release = str(manifest.get("ended_at", ""))[:10], manifest.get("work", {}).get("release", {})
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip
    environment.filters |= {
        "cell": _format_cell, "table": _format_table, "probability": format_probability,
        "title_of": lambda code: title(code, figures.taxonomy),
        "turns": lambda excerpt: Markup(turns(excerpt)),
    }  # fmt: skip
    parts: Any = environment.get_template("page.html.jinja").make_module({
        "name": name, "scored": f"Scored {date} by {release.get('id', '')}.",
        "limits": limits(figures, manifest), "headline": headline(figures), "excerpts": excerpts,
        "with_text": with_text, "findings": listed, "suggestions": figures.suggestions,
        "n_findings": sum(by.total() for by in figures.tally.findings.values()),
        "severities": {each: each for each in SEVERITIES if each in severities},
        "codes": {each: title(each, figures.taxonomy) for each in codes},
        "agents": {each: each for each in agents},
        "tables": [_without_zeros(each) for each in tables(figures)], "MAX_ROWS": MAX_ROWS,
    })  # fmt: skip
    script = SCRIPT.read_text(encoding="utf-8") if listed else ""
    heading = f"findings in {visible(name)}"
    return document(heading, str(parts.header()), str(parts.main()), "Made by dialint report.", script)


def _without_zeros(content: Table) -> Table:
    """Drops columns of zeros and, by code and severity, rows without a finding, which the note then lists."""
    rows, note = content.rows, content.note
    if content.title in ("By code", "By severity"):
        counted = content.headings.index("Findings")
        rows = [row for row in rows if row[counted]]
        absent = [str(row[0]).split(" ", maxsplit=1)[0] for row in content.rows if not row[counted]]
        note += f" Looked for and not found: {' '.join(absent)}." if absent else ""
    columns = [
        column
        for column in range(len(content.headings))
        if column == 0 or any(row[column] not in (0, None) for row in rows)
    ]
    return Table(
        content.title,
        note,
        tuple(content.headings[column] for column in columns),
        [tuple(row[column] for column in columns) for row in rows],
    )


def _format_table(content: Table) -> Markup:
    head, cell = Markup('<th scope="row">{}</th>'), Markup("<td>{}</td>")
    rows = [
        [head.format(_format_cell(row[0])), *(cell.format(_format_cell(each)) for each in row[1:])]
        for row in content.rows[:MAX_ROWS]
    ]
    return Markup(table(content.title, content.headings, rows))


def _format_cell(cell: Cell) -> Markup:
    if isinstance(cell, Figure):
        if cell.value is None or cell.low is None or cell.high is None:
            return ABSENT
        low, high = round_interval(cell.low, cell.high, 1)
        meter = Markup('<meter max="100" value="{:.1f}" aria-hidden="true"></meter>').format(cell.value)
        return Markup("{:.1f} <small>{:.1f} to {:.1f}</small>{}").format(cell.value, low, high, meter)
    if cell is None:
        return ABSENT
    if isinstance(cell, float):
        return Markup(f"{cell:.2f}")
    return Markup(f"{cell:,}") if isinstance(cell, int) else escape(visible(cell))
