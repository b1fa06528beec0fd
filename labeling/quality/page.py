"""The report as one HTML page: no script, no network, light and dark; every text is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dialint.labeling.quality.screen import MEASURES, codes, labelers, measures, plain
from dialint.labeling.watch.evidence import certainty

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
CSS = """
:root{color-scheme:light dark}
body{margin:0 auto;max-width:1400px;padding:24px 20px;font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:32px 0 8px}
p,li{max-width:80ch}.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:6px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid #8886}
th:first-child{text-align:left}thead th{vertical-align:bottom;white-space:normal}
details{margin:6px 0}summary{cursor:pointer}
"""


def page(report: Mapping[str, Any]) -> str:
    """The page of a report of `quality.report`."""
    flags = "".join(f"<li>{_flag(flag)}</li>" for flag in report["flags"])
    by_code = "".join(_details(labeler) for labeler in report["labelers"])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>dialint: labelers</title><style>{CSS}</style></head><body><h1>Labelers</h1>"
        f"<p>{report['annotations']} annotations, {report['answers']} answers, {report['gold']} known for "
        "sure. Ranges are 95 % intervals. Agreement is with the posterior of the others; bias is the share "
        "of yes less the others' on the same questions; a bit is what removes half of the doubt about "
        "one question.</p>"
        f"<h2>By labeler</h2>{_table('Labelers', labelers(report))}"
        f"<h2>By code</h2>{_table('Codes', codes(report))}"
        "<h2>Worth a look</h2><p>Reasons to look or to ask, no verdicts.</p>"
        f"<ul>{flags or '<li>nothing</li>'}</ul>"
        f"<h2>Labeler and code</h2>{by_code}</body></html>"
    )


def _flag(flag: Mapping[str, Any]) -> str:
    names = ", ".join(flag["workers"])
    return escape(f"{flag['kind']}: {names} ({certainty(flag)}): {flag['why']}")


def _details(labeler: Mapping[str, Any]) -> str:
    rows = [["code", "answers", "yes", *MEASURES, "bits per answer"]]
    for code, each in labeler["codes"].items():
        rows.append([code, str(each["answers"]), str(each["yes"]), *measures(each), plain(each["bits"])])
    name = str(labeler["name"])
    return f"<details><summary>{escape(name)}</summary>{_table(name, rows)}</details>"


def _table(caption: str, rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows[1:]
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
