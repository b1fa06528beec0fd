"""The report as tables, and these in a terminal of 80 columns: there without what the page has room for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialint.labeling.watch.evidence import certainty

NOT_ENOUGH = "not enough"
PAGE_ONLY = ("share", "sensitivity", "specificity", "flags")


def show(report: Mapping[str, Any]) -> None:
    """Print labelers, codes and flags."""
    from rich.console import Console
    from rich.table import Table

    screen = Console(highlight=False, markup=False)
    for title, rows in (("labeler", labelers(report)), ("code", codes(report))):
        shown = [place for place, heading in enumerate(rows[0]) if heading not in PAGE_ONLY]
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        for place in shown:
            table.add_column(rows[0][place], overflow="fold")
        for row in rows[1:]:
            table.add_row(*(narrow(row[place]) if place else row[0] for place in shown))
        screen.print(table)
        screen.print(f"{len(rows) - 1} {title}s, {report['answers']} answers\n")
    for flag in report["flags"]:
        screen.print(f"{flag['kind']}: {', '.join(flag['workers'])} ({certainty(flag)}): {flag['why']}")


def narrow(cell: str) -> str:
    """What a cell has in brackets on a second line."""
    value, bracket, rest = cell.partition(" (")
    return f"{value}\n{rest.removesuffix(')')}" if bracket else cell


def labelers(report: Mapping[str, Any]) -> list[list[str]]:
    """A heading and a row for each labeler."""
    priced = report["config"]["price_per_hour"]
    cost = "price per bit" if priced else "minutes per bit"
    rows = [["labeler", "answers", "share", *MEASURES, "seconds", cost, "flags"]]
    for each in report["labelers"]:
        price = each["price_per_bit"] if priced else each["minutes_per_bit"]
        flags = ", ".join(dict.fromkeys(flag["kind"] for flag in each["flags"])) or "-"
        overall = each["overall"]
        head = [each["name"], str(overall["answers"]), f"{each['share_of_work']:.1%}"]
        rows.append([*head, *measures(overall), times(each["speed"]), plain(price), flags])
    return rows


def codes(report: Mapping[str, Any]) -> list[list[str]]:
    """A heading and a row for each code, all labelers together."""
    rows = [["code", "answers", "yes", *MEASURES[:-1]]]
    for code, each in sorted(report["codes"].items()):
        portion = f"{each['yes'] / max(1, each['answers']):.1%}"
        rows.append([code, str(each["answers"]), portion, *measures(each)[:-1]])
    return rows


MEASURES = ("accuracy on gold", "sensitivity", "specificity", "agreement with others", "bias")
FIELDS = ("accuracy", "sensitivity", "specificity", "agreement", "bias")


def measures(quality: Mapping[str, Any]) -> list[str]:
    """The figures named in `MEASURES`."""
    return [figure(quality[name], signed=name == "bias") for name in FIELDS]


def figure(value: Mapping[str, Any], signed: bool = False) -> str:
    """A figure with its interval and how many answers tell."""
    if not value["n"]:
        return "-"
    if value["value"] is None:
        return f"{NOT_ENOUGH} ({value['n']})"
    form = "+.2f" if signed else ".2f"
    return f"{value['value']:{form}} ({value['low']:{form}} to {value['high']:{form}})"


def times(speed: Mapping[str, Any]) -> str:
    """Median and quartiles of seconds."""
    if speed["median"] is None:
        return f"{NOT_ENOUGH} ({speed['n']})" if speed["n"] else "-"
    return f"{speed['median']:.0f} ({speed['first_quartile']:.0f} to {speed['third_quartile']:.0f})"


def plain(value: float | None) -> str:
    """A number with three digits, or that there is none."""
    return NOT_ENOUGH if value is None else f"{value:.3g}"
