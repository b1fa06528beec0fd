"""The quality report for people: tables in a terminal of 80 columns, and one HTML page.

The page has no script and needs no network, supports light and dark, and has columns for which a terminal has
no room; every text in it is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dialint.labeling.raters.flags import format_certainty

NOT_ENOUGH = "not enough"
PAGE_ONLY = ("share", "sensitivity", "specificity", "flags")


def print_report(report: Mapping[str, Any]) -> None:
    """Print labelers, codes and flags."""
    from rich.console import Console
    from rich.table import Table

    screen = Console(highlight=False, markup=False)
    for title, rows in (("labeler", labeler_rows(report)), ("code", code_rows(report))):
        visible = [index for index, heading in enumerate(rows[0]) if heading not in PAGE_ONLY]
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        for index in visible:
            table.add_column(rows[0][index], overflow="fold")
        for row in rows[1:]:
            table.add_row(*(break_brackets(row[index]) if index else row[0] for index in visible))
        screen.print(table)
        screen.print(f"{len(rows) - 1} {title}s, {report['answers']} answers\n")
    for flag in report["flags"]:
        screen.print(
            f"{flag['kind']}: {', '.join(flag['workers'])} ({format_certainty(flag)}): {flag['why']}"
        )


def break_brackets(cell: str) -> str:
    """Move what a cell has in brackets to a second line."""
    value, bracket, rest = cell.partition(" (")
    return f"{value}\n{rest.removesuffix(')')}" if bracket else cell


def labeler_rows(report: Mapping[str, Any]) -> list[list[str]]:
    """A heading and a row for each labeler."""
    priced = report["config"]["price_per_hour"]
    cost = "price per bit" if priced else "minutes per bit"
    rows = [["labeler", "answers", "share", *MEASURES, "seconds", cost, "flags"]]
    for each in report["labelers"]:
        price = each["price_per_bit"] if priced else each["minutes_per_bit"]
        flags = ", ".join(dict.fromkeys(flag["kind"] for flag in each["flags"])) or "-"
        overall = each["overall"]
        head = [each["name"], str(overall["answers"]), f"{each['share_of_work']:.1%}"]
        rows.append(
            [*head, *format_measures(overall), format_times(each["speed"]), format_number(price), flags]
        )
    return rows


def code_rows(report: Mapping[str, Any]) -> list[list[str]]:
    """A heading and a row for each code, all labelers together."""
    rows = [["code", "answers", "yes", *MEASURES[:-1]]]
    for code, each in sorted(report["codes"].items()):
        portion = f"{each['yes'] / max(1, each['answers']):.1%}"
        rows.append([code, str(each["answers"]), portion, *format_measures(each)[:-1]])
    return rows


MEASURES = ("accuracy on gold", "sensitivity", "specificity", "agreement with others", "bias")
FIELDS = ("accuracy", "sensitivity", "specificity", "agreement", "bias")


def format_measures(quality: Mapping[str, Any]) -> list[str]:
    """The figures named in `MEASURES`."""
    return [format_figure(quality[name], signed=name == "bias") for name in FIELDS]


def format_figure(value: Mapping[str, Any], signed: bool = False) -> str:
    """A figure with its interval, or the number of answers if these are not enough."""
    if not value["n"]:
        return "-"
    if value["value"] is None:
        return f"{NOT_ENOUGH} ({value['n']})"
    form = "+.2f" if signed else ".2f"
    return f"{value['value']:{form}} ({value['low']:{form}} to {value['high']:{form}})"


def format_times(speed: Mapping[str, Any]) -> str:
    """Median and quartiles of seconds."""
    if speed["median"] is None:
        return f"{NOT_ENOUGH} ({speed['n']})" if speed["n"] else "-"
    return f"{speed['median']:.0f} ({speed['first_quartile']:.0f} to {speed['third_quartile']:.0f})"


def format_number(value: float | None) -> str:
    """A number with three digits, or `NOT_ENOUGH`."""
    return NOT_ENOUGH if value is None else f"{value:.3g}"


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


def render_page(report: Mapping[str, Any]) -> str:
    """Render a report of `raters.quality_report` as an HTML page."""
    flags = "".join(f"<li>{_render_flag(flag)}</li>" for flag in report["flags"])
    by_code = "".join(_render_details(labeler) for labeler in report["labelers"])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>dialint: labelers</title><style>{CSS}</style></head><body><h1>Labelers</h1>"
        f"<p>{report['annotations']} annotations, {report['answers']} answers, {report['gold']} known for "
        "sure. Ranges are 95 % intervals. Agreement is with the posterior of the others; bias is the share "
        "of yes less the others' on the same questions; a bit is what removes half of the doubt about "
        "one question.</p>"
        f"<h2>By labeler</h2>{_render_table('Labelers', labeler_rows(report))}"
        f"<h2>By code</h2>{_render_table('Codes', code_rows(report))}"
        "<h2>Worth a look</h2><p>Reasons to look or to ask, no verdicts.</p>"
        f"<ul>{flags or '<li>nothing</li>'}</ul>"
        f"<h2>Labeler and code</h2>{by_code}</body></html>"
    )


def _render_flag(flag: Mapping[str, Any]) -> str:
    names = ", ".join(flag["workers"])
    return escape(f"{flag['kind']}: {names} ({format_certainty(flag)}): {flag['why']}")


def _render_details(labeler: Mapping[str, Any]) -> str:
    rows = [["code", "answers", "yes", *MEASURES, "bits per answer"]]
    for code, each in labeler["codes"].items():
        rows.append(
            [
                code,
                str(each["answers"]),
                str(each["yes"]),
                *format_measures(each),
                format_number(each["bits"]),
            ]
        )
    name = str(labeler["name"])
    return f"<details><summary>{escape(name)}</summary>{_render_table(name, rows)}</details>"


def _render_table(caption: str, rows: Sequence[Sequence[str]]) -> str:
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
