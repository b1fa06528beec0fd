"""The figures as rich tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dialint.detector.statistics import round_interval

if TYPE_CHECKING:
    from rich.table import Table


COLUMNS = (
    ("P@R50", "precision_at_recall_50"),
    ("FA@R50", "false_alarms_at_recall_50"),
    ("R@1FA", "recall_at_1_false_alarm"),
    ("precision", "precision"),
    ("recall", "recall"),
    ("F1", "f1"),
    ("ECE", "calibration_error"),
    ("span F1", "span_f1"),
)


def figures(name: str, content: dict[str, Any]) -> Table:
    """A row for each code."""
    from rich.table import Table

    low, high = content["macro_average_precision_covered_95"]
    interval = "" if low is None else f" ({low:.3f}-{high:.3f})"
    n_covered = sum(row["covered"] and row["n_errors"] > 0 for row in content["codes"].values())
    n_all = sum(row["n_errors"] > 0 for row in content["codes"].values())
    table = Table(
        box=None,
        padding=(0, 2, 0, 0),
        title=f"{name}: {content['dialogues']} dialogues, {content['judged_turns']} turns, "
        + (f"{n} not judged for their language, " if (n := content["turns_not_judged"]) else "")
        + f"macro AP of the {n_covered} covered codes "
        f"{format_number(content['macro_average_precision_covered']) or '-'}{interval}, macro F1 "
        f"{format_number(content['macro_f1_covered']) or '-'}; of all {n_all} codes with errors here AP "
        f"{format_number(content['macro_average_precision']) or '-'}; "
        f"flagged {content['flagged_per_100_turns']:.2f} and "
        f"wrong {content['wrong_findings_per_100_turns']:.2f} per 100 turns",
    )
    for column in ("code", "errors", "AP", "95 %", *(heading for heading, _ in COLUMNS), "pair AUC"):
        table.add_column(column, justify="left" if column == "code" else "right", no_wrap=True)
    for code, row in content["codes"].items():
        low, high = row["average_precision_95"]
        bounds = None if low is None else round_interval(low, high, 2)
        table.add_row(
            code if row["covered"] else f"{code} *",
            str(row["n_errors"]),
            format_number(row["average_precision"]),
            "" if bounds is None else "{:.2f}-{:.2f}".format(*bounds),
            *(format_number(row[key]) for _, key in COLUMNS),
            f"{format_number(row['pair_auc'])} ({row['n_pairs']})" if row["n_pairs"] else "",
        )
    table.caption = "* not covered   FA, R@1FA: false alarms per 100 clean rows   R50: where half are found"
    return table


def exclusives(name: str, content: dict[str, Any]) -> Table:
    """A row for each category whose codes exclude one another, and for each other detector's."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), title=f"{name}: codes that exclude one another")
    for column in ("category", "turns", "accuracy", "95 %", "divergence", "95 %", "F1"):
        table.add_column(column, justify="left" if column in ("category", "F1") else "right")
    rows = list(content["exclusive"].items())
    for other, other_content in content["against"].items():
        rows += [(f"{category} of {other}", row) for category, row in other_content["exclusive"].items()]
    for category, row in rows:
        cells = []
        for key in ("accuracy", "divergence"):
            low, high = row[f"{key}_95"]
            cells += [format_number(row[key]), "" if low is None else f"{low:.3f}-{high:.3f}"]
        each = "  ".join(f"{code} {format_number(row[f'f1_{code}'])}" for code in list_codes(row))
        table.add_row(category, str(row["turns"]), *cells, each)
    table.caption = "divergence: Jensen-Shannon, bits   F1: of each code as the most probable one"
    return table


def list_codes(row: dict[str, Any]) -> list[str]:
    """The codes of a row of `exclusives`, in order."""
    return [key[3:] for key in row if key.startswith("f1_") and not key.endswith("_95")]


def against(name: str, content: dict[str, Any]) -> Table:
    """A row for each detector it was compared with."""
    from rich.table import Table

    table = Table(
        box=None, padding=(0, 2, 0, 0), title=f"{name}: less the others, with the paired 95 % interval"
    )
    for column in (
        "against",
        "its macro AP",
        "difference",
        "95 %",
        "of covered codes",
        "95 %",
        "its F1",
        "wrong per 100",
    ):
        table.add_column(column, justify="left" if column == "against" else "right")
    for other, row in content["against"].items():
        cells = []
        for scope in ("macro", "macro_covered"):
            apart = row["difference"][scope]["average_precision"]
            cells += [
                format_signed(apart["difference"]),
                f"{format_signed(apart['low'])} to {format_signed(apart['high'])}",
            ]
        theirs = row["figures"]
        table.add_row(
            other,
            format_number(theirs["macro_average_precision"]),
            *cells,
            format_number(theirs["macro_f1"]),
            f"{theirs['wrong_findings_per_100_turns']:.2f}",
        )
    return table


def format_number(value: float | None) -> str:
    """Three decimals, or nothing."""
    return "" if value is None else f"{value:.3f}"


def format_signed(value: float | None) -> str:
    """Three decimals with their sign, or nothing."""
    return "" if value is None else f"{value:+.3f}"
