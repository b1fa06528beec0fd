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
from dialint.eval.figures.hard_examples import Excerpt
from dialint.eval.report import charts

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
    parts.append(charts.bars("Difference of macro average precision", rows) if rows else "")
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
            + (charts.bars(f"Difference of average precision to {name}", by_code) if by_code else "")
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
            f'<figure><div class="two">{charts.precision_recall(code, mine, theirs)}'
            f"{charts.reliability(code, mine)}</div><figcaption><b>{escape(code)}</b>, "
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
