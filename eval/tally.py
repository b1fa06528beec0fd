"""What a judged spot check says: precision by code, recall, and which codes may accuse on this log.

    dialint eval tally check/sheet.csv --overrides overrides.yaml
    dialint score log.jsonl --overrides overrides.yaml --out checked.jsonl

The sheet is that of `dialint eval spot-check` (`eval/spot_check.py`), filled in by a person. Only its columns
number, code, judgement and missed are read; what was drawn comes from the manifest beside it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError
from rich.table import Table

from dialint.detector.artifacts import (
    MANIFEST,
    read_manifest,
)
from dialint.detector.errors import InputRefused
from dialint.detector.overrides import Judged, NaturalPrecision, ReadTurns, update_overrides
from dialint.detector.statistics import clopper_pearson_interval
from dialint.eval.spot_check import JUDGEMENTS, NOTHING, SpotCheck


def tally(sheet: Path, /, *, overrides: Path | None = None) -> None:
    """Precision by code, recall and advice from a judged sheet of `dialint eval spot-check`.

    Parameters
    ----------
    sheet
        The sheet, in the folder where it was made.
    overrides
        File that the result is written into, for `dialint score --overrides`.
    """
    from rich.console import Console

    sample = read_spot_check(sheet)
    result = count_judgements(sample, read_sheet(sheet))
    console = Console(markup=False, emoji=False)
    for title, judged in (("Findings", result.findings), ("Suggestions", result.suggestions)):
        if judged:
            console.print(_table(title, judged))
    for line in _sentences(result):
        console.print(line)
    by_code = (*result.findings.values(), *result.suggestions.values())
    n_rows, n_read = len(sample.rows), result.turns.read + sum(each.n for each in by_code)
    if n_read < n_rows:
        console.print(f"{n_rows - n_read} of {n_rows} rows are not judged yet")
    if overrides is not None:
        if not n_read:
            raise InputRefused("E_EMPTY", f"{sheet}: nothing is judged, so there is nothing to write")
        update_overrides(overrides, result.release, spot_check=result)
        console.print(f"{overrides}: dialint score LOG --overrides {overrides}", soft_wrap=True)


def read_spot_check(sheet: Path) -> SpotCheck:
    """The manifest beside a sheet.

    Raises:
        OutputRefused: missing or damaged.
        InputRefused: of something else.
    """
    path = sheet.with_name(MANIFEST)
    content = read_manifest(path, "dialint eval spot-check VERDICTS --log LOG --out FOLDER")
    try:
        if content.pop("kind", None) == "spot check":
            return SpotCheck.model_validate_json(json.dumps(content))
    except ValidationError:
        pass
    raise InputRefused("E_FORMAT", f"{path}: not made by `dialint eval spot-check`")


def read_sheet(sheet: Path) -> list[dict[str, str]]:
    """The rows, with commas, semicolons or tabs between cells, as spreadsheets save them. Only numbers, codes
    and judgements are used, so text in another encoding does no harm.

    Raises:
        InputRefused: it cannot be read, or is no sheet of ours.
    """
    try:
        text = sheet.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError:
        raise InputRefused("E_READ", f"{sheet}: cannot be read") from None
    for delimiter in (",", ";", "\t"):
        try:
            table = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
            if {"number", "code", "judgement", "missed"} <= set(table.fieldnames or ()):
                return [
                    {name: (cell or "").strip() for name, cell in row.items() if isinstance(name, str)}
                    for row in table
                    if any(row.values())
                ]
        except csv.Error:
            break
    raise InputRefused("E_FORMAT", f"{sheet}: no CSV with the columns number, code, judgement and missed")


def count_judgements(sample: SpotCheck, rows: Iterable[Mapping[str, str]]) -> NaturalPrecision:
    """The judgements of a sheet, by code.

    Raises:
        InputRefused: a row is missing, stands twice, or holds something else; the message names the row.
    """
    by_number = {row.number: row for row in sample.rows}
    judged: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    stated: dict[tuple[str, str], float] = defaultdict(float)
    missed: Counter[str] = Counter()
    read = with_errors = 0
    for cells in rows:
        number = cells["number"].lstrip("'")
        row = by_number.pop(int(number), None) if re.fullmatch(r"[0-9]{1,9}", number) else None
        if row is None or row.code != cells["code"].lstrip("'"):
            raise InputRefused("E_FIELD", f"row {number!r} of the sheet was not drawn, or stands there twice")
        judgement, codes = cells["judgement"].lower(), re.findall(r"[^\s,;]+", cells["missed"])
        if row.kind == "turn":
            unknown = [code for code in codes if code.upper() not in sample.codes]
            if (judgement and not codes) or (unknown and [code.lower() for code in codes] != [NOTHING]):
                raise InputRefused(
                    "E_FIELD", f"row {number}: `missed` needs codes, such as C1 U2, or {NOTHING}"
                )
            read, with_errors = read + bool(codes), with_errors + bool(codes and not unknown)
            missed.update({code.upper() for code in codes} if not unknown else ())
            continue
        if codes or judgement not in ("", *JUDGEMENTS):
            where = ", and `missed` is for rows of the kind turn" if codes else ""
            raise InputRefused(
                "E_FIELD", f"row {number}: `judgement` needs one of {', '.join(JUDGEMENTS)}{where}"
            )
        if judgement:
            judged[row.kind, row.code][judgement] += 1
            stated[row.kind, row.code] += row.probability or 0.0
    if by_number:
        raise InputRefused("E_FIELD", f"row {min(by_number)} of what was drawn is not in the sheet")

    def by_code(kind: Literal["finding", "suggestion"]) -> dict[str, Judged]:
        return {
            code: Judged(
                reported=n,
                stated=round(stated[kind, code], 6),
                **{j: judged[kind, code][j] for j in JUDGEMENTS},
            )
            for code, n in sample.reported[kind].items()
        }

    return NaturalPrecision(
        release=sample.release,
        taxonomy=sample.taxonomy,
        log=sample.log,
        judged_on=datetime.now(UTC).date(),
        findings=by_code("finding"),
        suggestions=by_code("suggestion"),
        turns=ReadTurns(
            unflagged=sample.unflagged,
            read=read,
            with_errors=with_errors,
            missed=dict(sorted(missed.items())),
        ),
    )


def overall_precision(
    judged: Iterable[Judged], confidence: float = 0.95
) -> tuple[float, float, float] | None:
    """Precision over all codes with its interval, each code weighted by how many were reported; None if
    nothing was judged. Codes of which none was judged are left out.

    Source: Korn and Graubard 1998, Clopper and Pearson's interval at an effective number of rows; that of
    Kish 1965 (squared sum of weights over sum of squared weights), as a code read once has no variance. Both
    numbers are rounded so that the interval is wider.
    """
    strata = [each for each in judged if each.n]
    if not strata:
        return None
    total = sum(each.reported for each in strata)
    value = sum(each.reported * each.right / each.n for each in strata) / total
    n = int(total**2 / sum(each.reported**2 / each.n for each in strata) + 1e-9)
    low, _ = clopper_pearson_interval(math.floor(value * n + 1e-9), n, confidence)
    _, high = clopper_pearson_interval(math.ceil(value * n - 1e-9), n, confidence)
    return value, low, high


def recall_estimate(result: NaturalPrecision) -> tuple[float, float, float] | None:
    """Share of the errors that were found, with an interval; None where nothing is known. Right findings are
    estimated from the judged ones, missed errors from the drawn turns; errors missed on turns that have a
    finding are not counted. The interval takes the worst of two 97.5 % intervals, so it holds with 95 % or
    more (Bonferroni); the number of errors in a turn that has one is taken as it was found."""
    precision = overall_precision(result.findings.values(), 0.975)
    turns = result.turns
    if precision is None or not turns.read:
        return None
    reported = sum(judged.reported for judged in result.findings.values())
    each = sum(turns.missed.values()) / turns.with_errors if turns.with_errors else 1.0
    low, high = clopper_pearson_interval(turns.with_errors, turns.read, 0.975)

    def recall(right: float, share: float) -> float:
        detected, missed = reported * right, turns.unflagged * share * each
        return detected / (detected + missed) if detected + missed else math.nan

    value = recall(precision[0], turns.with_errors / turns.read)
    return None if math.isnan(value) else (value, recall(precision[1], high), recall(precision[2], low))


def _table(title: str, judged: Mapping[str, Judged]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("code")
    for column in ("all", *JUDGEMENTS, "precision", "95 %", "stated"):
        table.add_column(column, justify="right")
    for code, each in judged.items():
        share = "" if each.precision is None else f"{each.precision:.2f}"
        interval = f"{each.interval[0]:.2f} to {each.interval[1]:.2f}" if each.n else ""
        stated = f"{each.stated / each.n:.2f}" if each.n else ""
        counts = (each.reported, each.right, each.wrong, each.arguable)
        table.add_row(code, *(f"{count:,}" for count in counts), share, interval, stated)
    return table


def _sentences(result: NaturalPrecision) -> Iterable[str]:
    """What the counts say, one line each."""
    for code, each in result.findings.items():
        yield f"{code}: {result.advice(code)} (right {each.right} of {each.n} judged)"
    for name, judged in (("findings", result.findings), ("suggestions", result.suggestions)):
        figures = overall_precision(judged.values())
        if figures is not None:
            n = sum(each.reported for each in judged.values())
            yield f"precision of all {n:,} {name}: {_interval(figures)}"
    recall, turns = recall_estimate(result), result.turns
    if turns.read:
        missed = " ".join(f"{code} {n}" for code, n in turns.missed.items())
        yield (
            f"missed errors in {turns.with_errors} of {turns.read} drawn turns"
            + (f": {missed}" if missed else "")
            + f"; {turns.unflagged:,} turns have no finding"
        )
    if recall is not None:
        yield f"recall, estimated: {_interval(recall)}"


def _interval(figures: tuple[float, float, float]) -> str:
    return f"{figures[0]:.2f} (95 % {figures[1]:.2f} to {figures[2]:.2f})"
