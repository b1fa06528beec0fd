"""``dialint eval drift``: tests whether verdicts changed between periods.

Reads finished outputs of `dialint score` and people's decisions on findings; compares each period with the
first (`dialint.eval.drift`). Exit codes: 0 no drift, 1 drift, 2 the input or the options are wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from pydantic import Field

from dialint.app.output import print_line, print_table
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.option_ranges import command_options

if TYPE_CHECKING:
    from dialint.eval.drift import Cusum, Decisions, Item
    from dialint.labeling.annotation import Annotation

KINDS = ("crowd", "reviewer", "appeal", "expert")
"""Kinds of annotations by rising precedence; of two of one kind the newer counts."""


@command_options
class DriftConfig:
    """Options of ``dialint eval drift``."""

    periods: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """week, file, or dates (2026-11-01) at which a new period begins, by the day a dialogue began. Without
    it several files are one period each, in their order, and one file is compared by week."""
    audit: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = ()
    """People's decisions on findings: judged sheets of `dialint eval spot-check`, and files of
    `dialint export annotations`."""
    level: Annotated[float, Field(ge=0.001, le=0.2)] = 0.05
    """Share of runs without any change that may end in an alarm all the same; the CUSUM has its own."""
    least: Annotated[float, Field(ge=0)] = 0.02
    """Least PSI of an alarm, as many dialogues make the smallest difference sure. Some call .1 a shift."""
    run_length: Annotated[float, Field(ge=20, le=100_000)] = 1000
    """Audited dialogues until the CUSUM's mean false alarm."""
    out: Path | None = None
    """Write all figures to this file, as JSON; must not exist."""
    html: Path | None = None
    """Write them as one page, which loads nothing; must not exist."""


def drift(*verdicts: Path, config: DriftConfig | None = None) -> int:
    """Compare verdicts with those of before: probabilities, length, language, channel, codes, overturns.

    Exits with 1 if something drifted: the difference is more than chance and not small, or people overturn
    more than before.

    Parameters
    ----------
    verdicts
        Finished outputs of `dialint score`: before and after, or one or more of several weeks.
    """
    config = config or DriftConfig()
    from dialint.detector.artifacts import atomic_file, require_new_files, write_json
    from dialint.eval.drift import compare_periods, run_cusum
    from dialint.eval.run import check_writable

    if not verdicts:
        raise ConfigError("E_OPTION", "name the verdicts: before.jsonl after.jsonl, or a file of some weeks")
    if len(set(verdicts)) < len(verdicts):
        raise ConfigError("E_OPTION", "a file of verdicts is named twice")
    require_new_files(config.out, config.html)
    check_writable(out=config.out, html=config.html)
    periods, notes = _read_periods(verdicts, config)
    names, samples = list(periods), list(periods.values())
    compared = compare_periods(samples, level=config.level, least=config.least)
    cusum = run_cusum(samples, config.run_length)
    if config.audit:
        notes += _describe_audit(cusum, names[0], samples[0])
    drifted = any(each.state == "drift" for row in compared for each in row) or bool(cusum and cusum.signal)
    report: dict[str, Any] = {
        "kind": "drift", "drift": drifted, "level": config.level, "least_psi": config.least,
        "reference": {"name": names[0], "dialogues": len(samples[0])},
        "periods": [
            {"name": name, "dialogues": len(sample), "measures": [asdict(each) for each in row]}
            for name, sample, row in zip(names[1:], samples[1:], compared, strict=True)
        ],
        "overturned": cusum and asdict(cusum),
        "notes": [*notes, "something drifted" if drifted else "no drift"],
    }  # fmt: skip
    for title, rows in _tables(report):
        print_line(title)
        if rows := [row for row in rows if len(compared) == 1 or row[1] != "no"]:
            print_table(HEADINGS, rows)
    for line in report["notes"]:
        print_line(line)
    if config.out is not None:
        write_json(config.out, report)
    if config.html is not None:
        with atomic_file(config.html) as out:
            out.write(_page(report).encode())
    return int(drifted)


def _read_periods(verdicts: Sequence[Path], config: DriftConfig) -> tuple[dict[str, list[Item]], list[str]]:
    """Returns the dialogues by period, both in order of time, and notes for the report."""
    from dialint.detector.verdict_files import read_verdicts
    from dialint.eval.drift import MIN_DIALOGUES, read_item

    by = config.periods or (("file",) if len(verdicts) > 1 else ("week",))
    try:
        days = [] if by in (("file",), ("week",)) else sorted(map(date.fromisoformat, by))
    except ValueError:
        problem = f"--periods {' '.join(by)}: expected week, file, or dates such as 2026-11-01"
        raise ConfigError("E_OPTION", problem) from None
    decisions = read_decisions(config.audit)
    items: dict[str, list[Item]] = defaultdict(list)
    versions: dict[str, set[str]] = {name: set() for name in ("release", "taxonomy", "overrides")}
    for file in verdicts:
        for verdict in read_verdicts(file):
            at = verdict.started_at
            period = "" if at is None else f"{at:%G-W%V}"
            if days and at is not None:
                earlier = [each for each in days if each <= at.date()]
                period = f"from {earlier[-1]}" if earlier else f"before {days[0]}"
            period = str(file) if by == ("file",) else period
            items[period].append(read_item(verdict, decisions))
            for name, each in versions.items():
                each.add(str(getattr(verdict, name)))
    n_undated = len(items.pop("", ()))
    names = [name for name in items if len(items[name]) >= MIN_DIALOGUES]
    small = sorted(f"{name} ({len(each)})" for name, each in items.items() if name not in names)
    notes = [
        f"made with different {name}: {', '.join(sorted(each))}"
        for name, each in versions.items()
        if len(each) > 1
    ]
    if small:
        notes.append(f"too few dialogues, not compared: {', '.join(small[:5])}{', ...' * (len(small) > 5)}")
    if n_undated:
        notes.append(f"without a time, in no period: {n_undated:,} dialogues")
    if len(names) < 2:
        problem = f"nothing to compare: two periods of {MIN_DIALOGUES} dialogues or more are needed"
        raise InputRefused("E_EMPTY", "; ".join([problem, *notes]))
    if by != ("file",):
        names.sort()  # "before ..." and "from ...", or weeks
    periods = {name: items[name] for name in names}
    for dialogues in periods.values():  # times have one zone in all of a log, or none
        dialogues.sort(key=lambda item: str(item.started_at and item.started_at.replace(tzinfo=None)))
    repeated = sum(map(len, periods.values())) - len({each.name for of in periods.values() for each in of})
    if repeated:
        notes.append(f"read again under the same id, taken for different ones: {repeated:,} dialogues")
    return periods, notes


def read_decisions(files: Iterable[Path]) -> Decisions:
    """Returns a function of dialogue, turn and code: whether people overturned that finding, None if unread.

    Raises:
        InputRefused: a file is of no kind that `DriftConfig.audit` lists.
    """
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.eval.judgements import read_answers, read_sheet, read_spot_check
    from dialint.labeling.annotation import read_annotations

    sheet: dict[tuple[str, int, str], bool] = {}
    answers: dict[str, list[Annotation]] = defaultdict(list)
    for file in files:
        if file.suffix == ".csv":
            for each in read_answers(read_spot_check(file), read_sheet(file))[0]:
                sheet[each.row.dialogue, each.row.turn, each.row.code] = not each.is_right
        else:
            for answer in read_annotations(file):
                if answer.kind != "model":
                    answers[answer.dialogue_id].append(answer)
    for each_dialogue in answers.values():
        each_dialogue.sort(key=lambda each: (KINDS.index(each.kind), str(each.at)), reverse=True)
    of_dialogue = {code for code, entry in load_taxonomy().codes.items() if entry.scope == "dialogue"}

    def is_overturned(dialogue: str, turn: int, code: str) -> bool | None:
        for answer in answers.get(dialogue, ()):
            if code in answer.codes and (answer.turn in (None, turn) or code in of_dialogue):
                turns = {each.turn for each in answer.findings if each.code == code}
                return not turns if code in of_dialogue else turn not in turns
        return sheet.get((dialogue, turn, code))

    return is_overturned


def _describe_audit(cusum: Cusum | None, reference: str, sample: Sequence[Item]) -> list[str]:
    from dialint.eval.drift import MIN_DIALOGUES

    if cusum is None:
        n = sum(item.overturned is not None for item in sample)
        return [
            f"overturned findings are not watched: {reference} has {n} audited dialogues with a finding of "
            f"{MIN_DIALOGUES}, or there is none later"
        ]
    state = f"over its limit at dialogue {cusum.signal}, rising since {cusum.since}"
    return [
        f"overturned findings, CUSUM over {cusum.watched:,} audited dialogues: "
        f"{state if cusum.signal else 'within its limit'}",
        f"in control: {100 * cusum.observed:.1f} % of {cusum.reference:,} dialogues, taken as "
        f"{100 * cusum.rate:.1f} %; a false alarm every {cusum.run_length:,.0f} audited dialogues, "
        f"{100 * cusum.doubled:.1f} % are noticed after {cusum.noticed_after:,.0f}",
    ]


HEADINGS = ("measure", "drift", "p", "PSI (by chance)", "Wasserstein (by chance)", "share that moved most")


def _tables(report: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yields the title and the rows of each period."""
    reference = report["reference"]
    for period in report["periods"]:
        rows: list[tuple[str, ...]] = []
        for each in period["measures"]:
            name, before, after = max(each["bins"], key=lambda row: abs(row[2] - row[1]))
            psi, distance = f"{each['psi']:.3f} ({each['psi_by_chance']:.3f})", ""
            if each["wasserstein"] is not None:
                distance = f"{each['wasserstein']:.3g} ({each['wasserstein_by_chance']:.3g})"
            moved = f"{name}: {100 * before:.1f} % to {100 * after:.1f} %"
            rows.append((each["name"], each["state"], f"{each['p_value']:.3f}", psi, distance, moved))
        n, n_before = period["dialogues"], reference["dialogues"]
        yield f"{period['name']} ({n:,} dialogues) against {reference['name']} ({n_before:,})", rows


def _page(report: Mapping[str, Any]) -> str:
    """Renders the report as HTML: a table by period, and the distributions of the measures that drifted."""
    from markupsafe import Markup

    from dialint.eval.page import document, table

    def show(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
        head, cell = Markup('<th scope="row">{}</th>'), Markup("<td>{}</td>")
        cells = [[head.format(row[0]), *map(cell.format, row[1:])] for row in rows]
        return Markup("<section>{}</section>").format(Markup(table(title, headings, cells)))

    lines = Markup("").join(map(Markup("<li>{}</li>").format, report["notes"]))
    main = Markup("<section><ul>{}</ul></section>").format(lines)
    for period, (title, of_period) in zip(report["periods"], _tables(report), strict=True):
        main += show(title, HEADINGS, of_period)
        for each in period["measures"]:
            if each["state"] == "drift":
                rows = [
                    (name, f"{100 * before:.1f} %", f"{100 * after:.1f} %")
                    for name, before, after in each["bins"]
                ]
                main += show(f"{period['name']}: {each['name']}", ("value", "before", "after"), rows)
    header = Markup(
        "<h1>Drift against {}</h1><p class=dim>Of runs without any change at most {} show a drift.</p>"
    )
    header = header.format(report["reference"]["name"], f"{100 * report['level']:.1f} %")
    return document("drift", str(header), str(main), "Made by dialint eval drift.")
