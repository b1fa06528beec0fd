"""The report as one HTML page: what matters first, pictures, every finding in a list that can be filtered,
tables, limits.

Nothing comes from elsewhere, every text is escaped, and the one script is ours (`filter.js`); without
scripts, and on paper, the whole list is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from dialint.app.reporting import charts
from dialint.app.reporting.figures import (
    Cell,
    Figures,
    Group,
    ListedFinding,
    Table,
    headline,
    limits,
    per_100,
    tables,
)
from dialint.app.scoring.reports import title, visible
from dialint.app.scoring.summary import SEVERITIES
from dialint.detector.calibration import format_probability
from dialint.detector.records import Finding, Verdict
from dialint.detector.statistics import round_interval
from dialint.eval.breakdowns import Excerpt
from dialint.eval.page import document, table, turns
from dialint.labeling.raters.estimates import Figure

SCRIPT = Path(__file__).with_name("filter.js")
MAX_BARS = 15
"""Codes and groups in a picture."""
MAX_WEEKS = 26
Examples = Sequence[tuple[Verdict, Finding, Excerpt | None]]
MAX_ROWS = 300
"""Rows of a table on the page; the workbook has all."""


def page(
    figures: Figures, name: str, manifest: Mapping[str, Any], examples: Examples, *, with_text: bool = True
) -> str:
    """The page. `name` is the file's, `examples` come with the words to show, if any are to be shown; without
    `with_text` no word of a dialogue is."""
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
    main = (
        f'<section><dl class="numbers">{boxes}</dl></section>'
        + _pictures(figures)
        + _findings(figures, examples, with_text)
        + "".join(_section(_without_zeros(each)) for each in tables(figures))
        + _suggestions(figures, examples)
        + f'<section><h2>What is not covered</h2><ul class="limits">{listed or "<li>Nothing else.</li>"}</ul>'
        "</section>"
    )
    script = SCRIPT.read_text(encoding="utf-8") if figures.listed else ""
    return document(f"findings in {visible(name)}", header, main, "Made by dialint report.", script)


def _pictures(figures: Figures) -> str:
    """What people would rather see than read; a picture that would be empty is left out."""
    pictures = [_codes_picture(figures), _groups_picture(figures), _weeks_picture(figures)]
    shown = "".join(
        f"<figure><figcaption><b>{escape(caption)}</b> {escape(note)}</figcaption>{svg}</figure>"
        for caption, note, svg in filter(None, pictures)
    )
    return f'<section><h2>At a glance</h2><div class="pictures">{shown}</div></section>' if shown else ""


def _codes_picture(figures: Figures) -> tuple[str, str, str] | None:
    rows = [(code, counts.severities) for code, counts in figures.codes.items() if counts.severities.total()]
    if not rows:
        return None
    rows.sort(key=lambda row: (*(-row[1][severity] for severity in SEVERITIES), row[0]))
    names: list[tuple[str, Mapping[str, int]]] = [
        (title(code, figures.taxonomy), {s: n[s] for s in SEVERITIES}) for code, n in rows[:MAX_BARS]
    ]
    caption = "Findings by code and severity."
    note = "The gravest first." if len(rows) <= MAX_BARS else f"The {MAX_BARS} gravest of {len(rows)}."
    return caption, note, charts.severity_bars(caption, names)


def _share(group: Group, *, of_serious: bool) -> Figure:
    return per_100(group.serious if of_serious else group.flagged, group.judged)


def _what(of_serious: bool) -> str:
    return "Dialogues with an S1 or S2" if of_serious else "Dialogues with a finding"


def _groups_picture(figures: Figures) -> tuple[str, str, str] | None:
    """Agents, or else teams or channels, with intervals: in order of name, as nobody is ranked."""
    of_serious = figures.whole.serious > 0
    for dimension in ("agent", "team", "channel"):
        groups = {name: group for name, group in figures.groups[dimension].items() if name is not None}
        known = {name: _share(group, of_serious=of_serious) for name, group in groups.items()}
        clear = sorted(
            (name for name, share in known.items() if share.value is not None),
            key=lambda name: (-groups[name].judged, name),
        )[:MAX_BARS]
        if len(clear) < 2:
            continue
        whole = _share(figures.whole, of_serious=of_serious).value
        caption = f"{_what(of_serious)} by {dimension}."
        note = "With 95 % intervals, by name; those that overlap show no difference. The dashed line is all."
        if n := len(known) - len(clear):
            note += f" {n:,} with fewer dialogues are in the table."
        rows = [(name, known[name]) for name in sorted(clear)]
        return caption, note, charts.interval_rows(caption, rows, whole)
    return None


def _weeks_picture(figures: Figures) -> tuple[str, str, str] | None:
    of_serious = figures.whole.serious > 0
    weeks = {name: group for name, group in figures.groups["week"].items() if name is not None}
    rows = [(name, _share(weeks[name], of_serious=of_serious)) for name in sorted(weeks)[-MAX_WEEKS:]]
    if sum(figure.value is not None for _, figure in rows) < 2:
        return None
    caption = f"{_what(of_serious)} by week, of 100."
    return (
        caption,
        "With 95 % intervals; weeks with few dialogues are left out.",
        charts.week_points(caption, rows),
    )


def _findings(figures: Figures, examples: Examples, with_text: bool) -> str:
    """Every finding, the gravest first, and what narrows the list."""
    listed = figures.findings
    if not listed:
        return ""
    excerpts = {
        (verdict.dialogue_id, finding.turn, finding.start, finding.code): excerpt
        for verdict, finding, excerpt in examples
        if excerpt is not None and len(excerpt.turns) > 1
    }
    items = "".join(_finding(each, figures, excerpts, with_text) for each in listed)
    n = sum(by.total() for by in figures.tally.findings.values())
    note = f"The {len(listed):,} gravest of {n:,}; --xlsx has all of them. " if n > len(listed) else ""
    severities = [s for s in SEVERITIES if any(each.finding.severity == s for each in listed)]
    codes = sorted({each.finding.code for each in listed})
    agents = sorted({each.agent for each in listed if each.agent is not None})
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


def _finding(
    one: ListedFinding,
    figures: Figures,
    excerpts: Mapping[tuple[str, int, int, str], Excerpt],
    with_text: bool,
) -> str:
    finding = one.finding
    where = [f"turn {finding.turn} of {one.dialogue}"]
    where += [f"{key} {value}" for key, value in (("agent", one.agent), ("team", one.team)) if value]
    data = {"severity": finding.severity, "code": finding.code, "agent": one.agent or ""}
    attributes = " ".join(f'data-{key}="{escape(visible(value))}"' for key, value in data.items())
    head = (
        f'<p class="head"><span class="level {finding.severity.lower()}">{finding.severity}</span> '
        f"<b>{escape(visible(title(finding.code, figures.taxonomy)))}</b> "
        f"probability {escape(format_probability(finding.probability))} "
        f'<span class="dim">{escape(visible(", ".join(where)))}</span></p>'
    )
    if not with_text:
        return f'<article class="case finding" {attributes}>{head}</article>'
    excerpt = excerpts.get((one.dialogue, finding.turn, finding.start, finding.code))
    words = f"<p><mark>{escape(visible(finding.quote))}</mark></p>" if excerpt is None else turns(excerpt)
    reason = f'<p class="dim">{escape(visible(finding.reason))}</p>' if finding.reason else ""
    return f'<article class="case finding" {attributes}>{head}{words}{reason}</article>'


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
        return f"{cell.value:.1f} <small>{low:.1f} to {high:.1f}</small>"
    if cell is None:
        return '<span class="off">–</span>'
    if isinstance(cell, float):
        return f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else escape(visible(cell))


def _suggestions(figures: Figures, examples: Examples) -> str:
    """Suggestions drawn as examples; the findings are in their own list."""
    articles = []
    for verdict, finding, excerpt in examples:
        if not any(finding is each for each in verdict.suggestions):
            continue
        where = [f"turn {finding.turn} of {verdict.dialogue_id}"]
        where += [f"{key} {value}" for key in ("agent", "team") if (value := getattr(verdict, key))]
        name = title(finding.code, figures.taxonomy)
        words = (
            "" if excerpt is None else f'{turns(excerpt)}<p class="dim">{escape(visible(finding.reason))}</p>'
        )
        articles.append(
            f'<article class="case"><p class="head"><b>{escape(visible(name))}</b> {finding.severity}, '
            f"probability {escape(format_probability(finding.probability))} "
            f'<span class="dim">{escape(visible(", ".join(where)))}</span></p>{words}</article>'
        )
    if not articles:
        return ""
    return (
        '<section><h2>Examples of suggestions</h2><p class="dim">Drawn at random, not picked; personal data '
        f"are placeholders.</p>{''.join(articles)}</section>"
    )
