"""The report as a workbook: the page's tables, a sheet with every finding and one with every suggestion.

No cell is a formula or a link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO

from dialint.app.reporting.figures import Cell, Figures, headline, limits, tables
from dialint.app.scoring.reports import visible
from dialint.detector import environment
from dialint.detector.records import Verdict
from dialint.detector.verdict_files import escape_cell
from dialint.labeling.raters.estimates import Figure

MAX_ROWS = 1_048_575
MAX_TEXT = 32_000
"""Most rows of a sheet below the headings, and most characters of a cell."""
FINDING_COLUMNS = (
    "Dialogue", "Agent", "Team", "Channel", "Started at", "Turn", "Code", "Severity", "Probability", "Quote",
    "Reason",
)  # fmt: skip


def check_library() -> None:
    """
    Raises:
        ConfigError: E_EXTRA, XlsxWriter is not installed.
    """
    if not environment.is_installed("xlsxwriter"):
        raise environment.missing_extra_error("report", "--xlsx", ["xlsxwriter"])


def write_workbook(
    out: BinaryIO,
    figures: Figures,
    manifest: Mapping[str, Any],
    verdicts: Callable[[], Iterable[Verdict]],
    *,
    with_text: bool,
) -> int:
    """Writes the workbook to `out`, findings and suggestions on a sheet each, row by row. Returns how many of
    them exceed `MAX_ROWS`. `verdicts` is called once for each sheet."""
    import xlsxwriter

    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "nan_inf_to_errors": False,
    }
    book = xlsxwriter.Workbook(out, options)
    if "ended_at" in manifest:
        book.set_properties({"created": datetime.fromisoformat(manifest["ended_at"]).replace(tzinfo=None)})
    bold = book.add_format({"bold": True})

    def sheet(name: str, headings: Iterable[str], rows: Iterable[Iterable[Cell]]) -> None:
        page = book.add_worksheet(name)
        page.freeze_panes(1, 1)
        for column, heading in enumerate(headings):
            page.write_string(0, column, heading, bold)
        for number, row in enumerate(rows, 1):
            for column, cell in enumerate(row):
                if isinstance(cell, str):
                    page.write_string(number, column, escape_cell(visible(cell)[:MAX_TEXT]))
                elif isinstance(cell, int | float):
                    page.write_number(number, column, cell)

    summary: list[tuple[Cell, ...]] = [(label, *_spread(value)) for label, value in headline(figures)]
    sheet("Summary", ("Figure", "Value", "95 % from", "to"), summary)
    sheet(
        "Not covered", ("What these figures do not cover",), [(line,) for line in limits(figures, manifest)]
    )
    for content in tables(figures):
        ranged = [
            any(isinstance(row[column], Figure) for row in content.rows)
            for column in range(len(content.headings))
        ]
        headings = [
            name
            for heading, wide in zip(content.headings, ranged, strict=True)
            for name in ((heading, "95 % from", "to") if wide else (heading,))
        ]
        sheet(
            content.title,
            headings,
            [[value for cell in row for value in _spread(cell)] for row in content.rows],
        )
    kinds = ("finding", "suggestion") if figures.tally.suggestions else ("finding",)
    n_omitted = 0
    for kind in kinds:
        rest = iter(_findings(verdicts(), kind, with_text))
        rows = (row for row, _ in zip(rest, range(MAX_ROWS), strict=False))
        sheet("Findings" if kind == "finding" else "All suggestions", FINDING_COLUMNS, rows)
        n_omitted += sum(1 for _ in rest)
    book.close()
    return n_omitted


def _spread(cell: Cell) -> tuple[Cell, ...]:
    return (cell.value, cell.low, cell.high) if isinstance(cell, Figure) else (cell,)


def _findings(verdicts: Iterable[Verdict], kind: str, with_text: bool) -> Iterator[tuple[Cell, ...]]:
    for verdict in verdicts:
        when = None if verdict.started_at is None else verdict.started_at.isoformat(timespec="minutes")
        about = (verdict.dialogue_id, verdict.agent, verdict.team, verdict.channel, when)
        for finding in verdict.findings if kind == "finding" else verdict.suggestions:
            words = (finding.quote, finding.reason) if with_text else ()
            yield *about, finding.turn, finding.code, finding.severity, finding.probability, *words
