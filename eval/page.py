"""A report as one HTML page: no script but our own, no network, light and dark; every text of a dialogue is
escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from dialint.detector.calibration import format_probability
from dialint.detector.statistics import round_interval
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.breakdowns import Excerpt

HEADINGS = {
    "accused wrongly": "Accused most surely, and wrongly",
    "not seen": "Errors that were least seen",
}


AROUND = 280
"""Characters shown before and after the evidence, and of an earlier turn's end."""


def cases(mistakes: Sequence[Mapping[str, Any]], excerpts: Sequence[Excerpt] | None) -> str:
    """Both lists; without `excerpts` only where each mistake stands."""
    parts = []
    for kind, heading in HEADINGS.items():
        numbers = [number for number, mistake in enumerate(mistakes) if mistake["kind"] == kind]
        if numbers:
            rendered = "".join(_case(mistakes[n], None if excerpts is None else excerpts[n]) for n in numbers)
            parts.append(f"<h3>{escape(heading)}</h3>{rendered}")
    return "".join(parts)


def _case(mistake: Mapping[str, Any], excerpts: Excerpt | None) -> str:
    probability = escape(format_probability(mistake["probability"]))
    head = (
        f'<p class="head"><b>{escape(mistake["code"])}</b> with probability {probability} '
        f'<span class="dim">turn {mistake["turn"]} of {escape(mistake["dialogue"])}</span></p>'
    )
    return f'<article class="case">{head}{"" if excerpts is None else turns(excerpts)}</article>'


def turns(excerpts: Excerpt) -> str:
    """The turns with the evidence marked, long ones cut."""
    *before, (role, text) = excerpts.turns
    lines = "".join(
        f'<p class="dim"><span class="who">{escape(who)}</span>{escape(_end(words))}</p>'
        for who, words in before
    )
    start, end = excerpts.start, max(excerpts.start, excerpts.end)
    quote = text[start:end] if end - start <= 2 * AROUND else _start(text[start : start + AROUND] + " ")
    marked = f"<mark>{escape(quote)}</mark>" if quote else ""
    return (
        f'{lines}<p><span class="who">{escape(role)}</span>{escape(_end(text[:start]))}{marked}'
        f"{escape(_start(text[end:]))}</p>"
    )


def _end(text: str) -> str:
    return text if len(text) <= AROUND else "… " + text[-AROUND:]


def _start(text: str) -> str:
    return text if len(text) <= AROUND else text[:AROUND] + " …"


STYLE = Path(__file__).with_name("page.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
FIGURES = (
    ("Average precision", "average_precision"),
    ("F1", "f1"),
    ("Precision", "precision"),
    ("Recall", "recall"),
    ("Precision at recall .5", "precision_at_recall_50"),
    ("Recall at 1 false alarm per 100", "recall_at_1_false_alarm"),
    ("False alarms per 100 at recall .5", "false_alarms_at_recall_50"),
    ("Calibration error", "calibration_error"),
    ("Span F1", "span_f1"),
)
SUMMARY = (
    ("Macro average precision of the covered codes", "macro_average_precision_covered"),
    ("of all codes with errors here", "macro_average_precision"),
    ("Macro F1 of the covered codes", "macro_f1_covered"),
    ("Precision of findings", "precision_of_findings"),
    ("Recall of errors", "recall_of_errors"),
    ("Flagged turns per 100", "flagged_per_100_turns"),
    ("Wrong findings per 100 turns", "wrong_findings_per_100_turns"),
    ("False alarms per 100 at recall .5, covered codes", "macro_false_alarms_at_recall_50_covered"),
)


def page(report: Mapping[str, Any], excerpts: Mapping[str, Sequence[Excerpt]] | None) -> str:
    """The page of a report of `dialint.eval.run`; `excerpts` holds the worst mistakes of each set in words,
    or None to leave dialogue text out."""
    links = "".join(f'<a href="#{_anchor(name)}">{escape(name)}</a>' for name in report["sets"])
    sets = "".join(
        f'<section id="{_anchor(name)}"><h2>{escape(name)}</h2>'
        f"{''.join(_sections(content, None if excerpts is None else excerpts[name]))}</section>"
        for name, content in report["sets"].items()
    )
    header = (
        f"<h1>{escape(report['release'])}</h1>"
        '<p class="dim">How well it finds labelled errors. Small figures are 95 % intervals over '
        f"{report['rounds']} draws of whole source dialogues. "
        f"Fingerprint {escape(report['fingerprint'][:16])}.</p>"
        f'<nav aria-label="Sets">{links}</nav>'
    )
    footer = (
        "Made by dialint eval run. Injected errors are not natural ones: these figures say what the "
        "detector does on errors of these kinds, not how often agents err."
    )
    return document(report["release"], header, sets, footer)


def document(title: str, header: str, main: str, footer: str, script: str = "") -> str:
    """A whole page; `title` and `footer` are text, `header` and `main` are HTML that is escaped already. The
    page runs `script`, and no other."""
    style = STYLE.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"{POLICY}; script-src 'sha256-{digest}'" if script else POLICY
    runs = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>dialint: {escape(title)}</title><style>\n{style}</style></head><body>"
        f"<header>{header}</header><main>{main}</main><footer>{escape(footer)}</footer>{runs}</body></html>"
    )


def _anchor(name: str) -> str:
    return "set-" + "".join(char if char.isalnum() else "-" for char in name)


def _sections(content: Mapping[str, Any], excerpts: Sequence[Excerpt] | None) -> Iterator[str]:
    yield _summary(content)
    yield _codes(content)
    if "with_suggestions" in content:
        more = content["with_suggestions"]
        yield (
            "<details><summary>With suggestions counted as findings: precision "
            f"{_number(more['precision_of_findings'])}, recall {_number(more['recall_of_errors'])}, wrong "
            f"{_number(more['wrong_findings_per_100_turns'])} per 100 turns</summary>"
            f"{_summary(more)}{_codes(more)}</details>"
        )
    if content["against"]:
        yield _differences(content)
    yield _curves(content)
    yield _slices(content)
    if content["worst"]:
        yield cases(content["worst"], excerpts)


def _summary(content: Mapping[str, Any]) -> str:
    failed = f", {content['failed']} of them could not be judged" if content["failed"] else ""
    skipped = content["turns_not_judged"]
    languages = f", {skipped} not judged for their language" if skipped else ""
    boxes = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{_number(content[key])}"
        f"<small>{_range(content[key + '_95'])}</small></dd></div>"
        for label, key in SUMMARY
    )
    return (
        f"<p>{content['dialogues']} dialogues made from {content['source_dialogues']} source dialogues"
        f'{failed}; {content["judged_turns"]} agent turns{languages}.</p><dl class="numbers">{boxes}</dl>'
    )


def _codes(content: Mapping[str, Any]) -> str:
    names = load_taxonomy().codes
    rows = [
        [
            f'<th scope="row">{escape(code)} <small>{escape(names[code].name.en if code in names else "")}'
            f"{'' if row['covered'] else ', not covered'}</small></th>",
            f"<td>{row['n_errors']}</td>",
            *(_cell(row[key], row[key + "_95"]) for _, key in FIGURES),
            _cell(row["pair_auc"], row["pair_auc_95"], f"{row['n_pairs']} pairs")
            if row["n_pairs"]
            else "<td></td>",
        ]
        for code, row in content["codes"].items()
        if row["n_errors"] or row["flagged"]
    ]
    headings = ["Code", "Errors", *(label for label, _ in FIGURES), "Pair AUC"]
    return (
        "<h3>Code by code</h3><p class='dim'>Pair AUC: how often an error scores above its clean twin of the "
        "same form; chance is .5.</p>" + table("Figures of each code", headings, rows)
    )


def _differences(content: Mapping[str, Any]) -> str:
    parts = [
        "<h3>Against others</h3><p class='dim'>Average precision of this detector less that of the other, on "
        "the same draws; an interval that holds zero is no difference.</p>"
    ]
    rows = []
    for label, scope in (("all codes", "macro"), ("covered codes", "macro_covered")):
        for name, other in content["against"].items():
            row = other["difference"][scope]["average_precision"]
            if row["difference"] is not None:
                rows.append((f"{_short(name)}, {label}", row["difference"], row["low"], row["high"]))
    parts.append(bars("Difference of macro average precision", rows) if rows else "")
    for name, other in content["against"].items():
        apart = {code: row["average_precision"] for code, row in other["difference"]["codes"].items()}
        by_code = [
            (code, row["difference"], row["low"], row["high"])
            for code, row in apart.items()
            if row["difference"] is not None
        ]
        theirs = other["figures"]
        parts.append(
            f"<details><summary>{escape(_short(name))} ({escape(other['release'])}), code by code: its macro "
            f"average precision {_number(theirs['macro_average_precision'])}, "
            f"F1 {_number(theirs['macro_f1'])}, "
            f"wrong findings per 100 turns {_number(theirs['wrong_findings_per_100_turns'])}</summary>"
            + (bars(f"Difference of average precision to {name}", by_code) if by_code else "")
            + "</details>"
        )
    return "".join(parts)


def _short(name: str) -> str:
    """The last part of a folder's path."""
    return name.rstrip("/").rpartition("/")[2]


def _curves(content: Mapping[str, Any]) -> str:
    others = content["against"]
    figures = []
    for code, mine in content["curves"].items():
        row = content["codes"][code]
        theirs = [other["curves"].get(code) for other in others.values()]
        figures.append(
            f'<figure><div class="two">{precision_recall(code, mine, theirs)}'
            f"{reliability(code, mine)}</div><figcaption><b>{escape(code)}</b>, "
            f"{row['n_errors']} errors, average precision {_number(row['average_precision'])}"
            f"{'' if row['covered'] else ', not covered'}</figcaption></figure>"
        )
    if not figures:
        return ""
    entries = [("mine", "this detector, the ring is its threshold")]
    entries += [(f"other{mistake % 4}", _short(name)) for mistake, name in enumerate(others)]
    legend = "".join(
        f'<li><svg viewBox="0 0 34 8" aria-hidden="true"><path class="line {kind}" d="M0 4H34"/></svg>'
        f"{escape(name)}</li>"
        for kind, name in entries
    )
    return f'<h3>Curves</h3><ul class="legend">{legend}</ul><div class="charts">{"".join(figures)}</div>'


def _slices(content: Mapping[str, Any]) -> str:
    columns = (
        ("Macro average precision", "macro_average_precision"),
        ("Precision of findings", "precision_of_findings"),
        ("Recall of errors", "recall_of_errors"),
        ("Findings per 100 turns", "findings_per_100_turns"),
        ("Wrong per 100 turns", "wrong_findings_per_100_turns"),
    )
    parts = ["<h3>Slices</h3>"]
    for kind, rows in content["slices"].items():
        body = [
            [
                f'<th scope="row">{escape(part)}</th>',
                f"<td>{row['turns']}</td><td>{row['errors']}</td><td>{row['codes_averaged']}</td>",
                *(_cell(row[key][0], row[key][1:]) for _, key in columns),
            ]
            for part, row in rows.items()
        ]
        headings = [kind.capitalize(), "Turns", "Errors", "Codes averaged", *(label for label, _ in columns)]
        parts.append(table(f"By {kind}", headings, body) + "<p></p>")
    return "".join(parts)


def table(caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls by itself where it is too wide; `rows` are whole cells, escaped already."""
    head = "".join(f'<th scope="col">{_break_heading(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _break_heading(heading: str) -> str:
    """A long heading on two lines."""
    words = heading.split(" ")
    if len(heading) < 13 or len(words) < 2:
        return escape(heading)
    half = (len(words) + 1) // 2
    return escape(" ".join(words[:half])) + "<br>" + escape(" ".join(words[half:]))


def _cell(value: float | None, interval: Sequence[float | None], more: str = "") -> str:
    if value is None:
        return '<td class="off">–</td>'
    rendered = f"<br><small>{_range(interval)}</small>" if interval[0] is not None else ""
    return f"<td>{_number(value)}{rendered}{f'<br><small>{escape(more)}</small>' if more else ''}</td>"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if abs(value) >= 10 else f"{value:.3f}"


def _range(interval: Sequence[float | None]) -> str:
    low, high = interval
    if low is None or high is None:
        return ""
    low, high = round_interval(low, high, 2)
    return f"{low:.2f} to {high:.2f}"


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
