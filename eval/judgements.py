"""People's decisions about findings: a judged spot check, or labels, as counts by code with intervals.

A sheet is that of `dialint eval spot-check` (`eval/spot_check.py`), filled in by a person. Only its columns
number, code, judgement and missed are read; the sample comes from the manifest beside it. Labels are of whole
dialogues, so that they judge each finding. Intervals are clustered by dialogue. `eval/contract.py` is the
command.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from pydantic import ValidationError
from rich.table import Table

from dialint.detector.artifacts import MANIFEST, read_manifest
from dialint.detector.errors import InputRefused
from dialint.detector.overrides import Judged, NaturalPrecision, ReadTurns
from dialint.detector.records import Finding, Label, Verdict
from dialint.detector.statistics import count_effective, effective_interval
from dialint.eval.results import source_name
from dialint.eval.spot_check import JUDGEMENTS, NOTHING, Reported, SheetRow, SpotCheck


def read_spot_check(sheet: Path) -> SpotCheck:
    """Reads the manifest beside a sheet.

    Raises:
        OutputRefused: it is missing or damaged.
        InputRefused: it is not that of a spot check.
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
    """Reads the rows, with commas, semicolons or tabs between cells, as spreadsheets save them. Only numbers,
    codes and judgements are used, so text in another encoding does no harm.

    Raises:
        InputRefused: it cannot be read, or lacks columns of a sheet.
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


@dataclass(frozen=True)
class Judgement:
    """The decision about one finding or suggestion, as a word of `JUDGEMENTS`."""

    row: SheetRow
    answer: str

    @property
    def is_right(self) -> bool:
        """Returns whether it is right; an arguable one is not."""
        return self.answer == "right"


def count_judgements(sample: SpotCheck, rows: Iterable[Mapping[str, str]]) -> NaturalPrecision:
    """Counts the judgements of a sheet by code.

    Raises:
        InputRefused: a row is missing, stands twice, or holds something else; the message names the row.
    """
    judgements, turns = read_answers(sample, rows)
    return _natural_precision(sample.release, sample.taxonomy, sample.log, judgements, sample.reported, turns)


def _natural_precision(
    release: str,
    taxonomy: str,
    log: str,
    judgements: Iterable[Judgement],
    reported: Mapping[Reported, Mapping[str, int]],
    turns: ReadTurns,
) -> NaturalPrecision:
    rows: dict[tuple[str, str], list[Judgement]] = defaultdict(list)
    for each in judgements:
        rows[each.row.kind, each.row.code].append(each)
    findings, suggestions = (
        {
            code: Judged(
                reported=n,
                stated=round(sum(each.row.probability or 0.0 for each in rows[kind, code]), 6),
                effective=count_effective(source_name(each.row.dialogue) for each in rows[kind, code]),
                **{answer: sum(each.answer == answer for each in rows[kind, code]) for answer in JUDGEMENTS},
            )
            for code, n in sorted(reported[kind].items())
        }
        for kind in get_args(Reported)
    )
    return NaturalPrecision(
        release=release, taxonomy=taxonomy, log=log, judged_on=datetime.now(UTC).date(),
        findings=findings, suggestions=suggestions, turns=turns,
    )  # fmt: skip


def read_answers(sample: SpotCheck, rows: Iterable[Mapping[str, str]]) -> tuple[list[Judgement], ReadTurns]:
    """Returns the judgements of a sheet, and the counts of its turns without a finding.

    Raises:
        InputRefused: a row is missing, stands twice, or holds something else; the message names the row.
    """
    by_number = {row.number: row for row in sample.rows}
    judgements: list[Judgement] = []
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
            judgements.append(Judgement(row, judgement))
    if by_number:
        raise InputRefused("E_FIELD", f"row {min(by_number)} of what was drawn is not in the sheet")
    missed_by_code = dict(sorted(missed.items()))
    turns = ReadTurns(unflagged=sample.unflagged, read=read, with_errors=with_errors, missed=missed_by_code)
    return judgements, turns


def judge_by_labels(
    scored: Sequence[Verdict], labels: Iterable[Label], log: str, whole_dialogue: Collection[str] = ()
) -> tuple[list[Judgement], NaturalPrecision]:
    """Judges all findings and suggestions of `scored` by labels of whole dialogues. A finding of a code of
    `whole_dialogue` is right at any turn; a probability of one half is arguable.

    Raises:
        InputRefused: E_LABEL, a label is of a dialogue that has no verdict; E_EMPTY, there is no label.
    """
    errors: dict[str, dict[tuple[int, str], float]] = {verdict.dialogue_id: {} for verdict in scored}
    for label in labels:
        if label.dialogue_id not in errors:
            raise InputRefused("E_LABEL", f"--labels: dialogue {label.dialogue_id} is not in the verdicts")
        errors[label.dialogue_id][label.turn, label.code] = label.probability
    if not any(errors.values()):
        raise InputRefused("E_EMPTY", "--labels: there is no label")
    judgements: list[Judgement] = []
    reported: dict[Reported, Counter[str]] = {"finding": Counter(), "suggestion": Counter()}
    missed: Counter[str] = Counter()
    with_errors = unflagged = 0
    for verdict in scored:
        own = errors[verdict.dialogue_id]
        best: dict[str, float] = defaultdict(float)
        for (_, code), p in own.items():
            best[code] = max(best[code], p)
        kinds: dict[Reported, tuple[Finding, ...]] = {
            "finding": verdict.findings,
            "suggestion": verdict.suggestions,
        }
        for kind, each in [(kind, each) for kind, of_kind in kinds.items() for each in of_kind]:
            p = best[each.code] if each.code in whole_dialogue else own.get((each.turn, each.code), 0.0)
            row = SheetRow(
                number=len(judgements) + 1, kind=kind, code=each.code, dialogue=verdict.dialogue_id,
                turn=each.turn, probability=each.probability, weight=1.0,
            )  # fmt: skip
            judgements.append(Judgement(row, "right" if p > 0.5 else "arguable" if p == 0.5 else "wrong"))
            reported[kind][each.code] += 1
        flagged = {finding.turn for finding in verdict.findings}
        of_turn = [each for each, p in own.items() if p > 0.5 and each[0] not in flagged]
        missed.update(code for _, code in of_turn)
        n_missed = len({turn for turn, _ in of_turn})
        with_errors += n_missed
        unflagged += max((verdict.agent_turns or 0) - len(flagged), n_missed)
    turns = ReadTurns(
        unflagged=unflagged, read=unflagged, with_errors=with_errors, missed=dict(sorted(missed.items()))
    )
    first = scored[0]
    return judgements, _natural_precision(first.release, first.taxonomy, log, judgements, reported, turns)


def overall_precision(judged: Iterable[Judged]) -> tuple[float, float, float] | None:
    """Returns precision over all judged codes with its interval, each code weighted by how many were
    reported; None if nothing was judged.

    Source: Kish 1965, effective number of rows by their weights, as a code read once has no variance.
    """
    strata = [each for each in judged if each.n]
    if not strata:
        return None
    total = sum(each.reported for each in strata)
    value = sum(each.reported * each.right / each.n for each in strata) / total
    n = total**2 / sum(each.reported**2 / each.effective_n for each in strata)
    return value, *effective_interval(value, n)


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


def summarize(result: NaturalPrecision, *, with_advice: bool) -> Iterator[Table | str]:
    """Yields the counts for a terminal: a table of findings, one of suggestions, then sentences."""
    for title, judged in (("Findings", result.findings), ("Suggestions", result.suggestions)):
        if judged:
            yield _table(title, judged)
    for code, each in result.findings.items() if with_advice else ():
        yield f"{code}: {result.advice(code)} (right {each.right} of {each.n} judged)"
    for name, judged in (("findings", result.findings), ("suggestions", result.suggestions)):
        figures = overall_precision(judged.values())
        if figures is not None:
            n = sum(each.reported for each in judged.values())
            value, low, high = figures
            yield f"precision of all {n:,} {name}: {value:.2f} (95 % {low:.2f} to {high:.2f})"
    turns = result.turns
    if turns.read:
        missed = " ".join(f"{code} {n}" for code, n in turns.missed.items())
        yield (
            f"{turns.read:,} of {turns.unflagged:,} turns without a finding were read, in "
            f"{turns.with_errors:,} of them errors are missed{missed and f': {missed}'}"
        )
