"""``dialint eval drift``: has anything changed between the verdicts of one period and those of the next?

Reads finished outputs of `dialint score`, and what people decided of their findings; compares each period
with the first (`dialint.eval.drift`). Exit codes: 0 no drift, 1 drift, 2 the input or the options are wrong.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    from dialint.eval.drift import Decisions, Item
    from dialint.labeling.annotation import Annotation

KINDS = ("crowd", "reviewer", "appeal", "expert")
"""Whose answer counts, in rising order; the newer of two equal ones."""


@command_options
class DriftConfig:
    """What is compared, and when it is an alarm."""

    periods: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """week, file, or dates (2026-11-01) at which a new period begins, by the day a dialogue began. Without
    it several files are one period each, in their order, and one file is compared by week."""
    audit: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = ()
    """What people decided of findings: judged sheets of `dialint eval spot-check`, files of
    `dialint export annotations`, or labels (.jsonl), in which probability 0 overturns a finding."""
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
    from dialint.detector.verdict_files import read_verdicts
    from dialint.eval.drift import MIN_DIALOGUES, compare_periods, read_item, watch_overturned
    from dialint.eval.run import check_writable

    if not verdicts:
        raise ConfigError("E_OPTION", "name the verdicts: before.jsonl after.jsonl, or a file of some weeks")
    if len(set(verdicts)) < len(verdicts):
        raise ConfigError("E_OPTION", "a file of verdicts is named twice")
    require_new_files(config.out, config.html)
    for option, path in (("--out", config.out), ("--html", config.html)):
        if path is not None:
            check_writable(path, option)
    periods = config.periods or (("file",) if len(verdicts) > 1 else ("week",))
    decisions, period_of = read_decisions(config.audit), _period_reader(periods)
    items: dict[str, list[Item]] = defaultdict(list)
    made_with: dict[str, set[str]] = defaultdict(set)
    for file in verdicts:
        for verdict in read_verdicts(file):
            item = read_item(verdict, decisions)
            items[period_of(file, item)].append(item)
            for name in ("release", "taxonomy", "overrides"):
                made_with[name].add(str(getattr(verdict, name)))
    n_undated = len(items.pop("", ()))
    names = [name for name in items if len(items[name]) >= MIN_DIALOGUES]
    names = names if periods == ("file",) else sorted(names)
    notes = [
        f"made with different {name}: {', '.join(sorted(each))}"
        for name, each in made_with.items()
        if len(each) > 1
    ]
    small = [f"{name} ({len(each)})" for name, each in items.items() if name not in names]
    if small:
        notes.append(
            f"too few dialogues, not compared: {', '.join(sorted(small)[:5])}{', ...' * (len(small) > 5)}"
        )
    notes += [f"without a time, in no period: {n_undated:,} dialogues"] if n_undated else []
    if len(names) < 2:
        problem = f"nothing to compare: two periods of {MIN_DIALOGUES} dialogues or more are needed"
        raise InputRefused("E_EMPTY", "; ".join([problem, *notes]))
    samples = [sorted(items[name], key=_begin) for name in names]
    n_ids = len({item.name for sample in samples for item in sample})
    if repeated := sum(map(len, samples)) - n_ids:
        notes.append(f"read again under the same id, taken for different ones: {repeated:,} dialogues")
    compared = compare_periods(samples, level=config.level, least=config.least)
    cusum = watch_overturned(samples, config.run_length)
    if config.audit and cusum is None:
        n = sum(item.overturned is not None for item in samples[0])
        notes.append(
            f"overturned findings are not watched: {names[0]} has {n} audited dialogues with a finding of "
            f"{MIN_DIALOGUES}, or there is none later"
        )
    if cusum is not None:
        state = f"over its limit at dialogue {cusum.signal}, rising since {cusum.since}"
        notes += [
            f"overturned findings, CUSUM over {cusum.watched:,} audited dialogues: "
            f"{state if cusum.signal else 'within its limit'}",
            f"in control: {cusum.observed:.1%} of {cusum.reference:,} dialogues, taken as {cusum.rate:.1%}; "
            f"a false alarm every {cusum.run_length:,.0f} audited dialogues, {cusum.doubled:.1%} are noticed "
            f"after {cusum.noticed_after:,.0f}",
        ]
    drifted = any(each.drifted for row in compared for each in row) or bool(cusum and cusum.signal)
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
    _show(report)
    if config.out is not None:
        write_json(config.out, report)
    if config.html is not None:
        with atomic_file(config.html) as out:
            out.write(_page(report).encode())
    return int(drifted)


def _period_reader(words: tuple[str, ...]) -> Callable[[Path, Item], str]:
    """Return what names the period of a dialogue of a file, so that names sort by time; empty without a
    time."""
    try:
        days = [] if words in (("file",), ("week",)) else sorted(map(date.fromisoformat, words))
    except ValueError:
        raise ConfigError(
            "E_OPTION", f"--periods {' '.join(words)}: expected week, file, or dates such as 2026-11-01"
        ) from None

    def period_of(file: Path, item: Item) -> str:
        if words == ("file",) or item.started_at is None:
            return str(file) if words == ("file",) else ""
        day = item.started_at.date()
        if not days:
            return day.strftime("%G-W%V")
        begun = [each for each in days if each <= day]
        return f"from {begun[-1]}" if begun else f"before {days[0]}"

    return period_of


def _begin(item: Item) -> str:
    """The times of one log have one zone, or none."""
    return "" if item.started_at is None else item.started_at.replace(tzinfo=None).isoformat()


def read_decisions(files: Iterable[Path]) -> Decisions:
    """Read what people decided of findings.

    Raises:
        InputRefused: a file is none of those that `DriftConfig.audit` names.
    """
    from dialint.detector.example_files import read_records
    from dialint.detector.records import Label
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.eval.judgements import read_answers, read_sheet, read_spot_check
    from dialint.labeling.annotation import read_annotations

    decided: dict[tuple[str, int, str], bool] = {}
    answers: dict[str, list[Annotation]] = defaultdict(list)
    for file in files:
        if file.suffix == ".csv":
            for each in read_answers(read_spot_check(file), read_sheet(file))[0]:
                decided[each.row.dialogue, each.row.turn, each.row.code] = not each.is_right
        elif _has_labelers(file):
            for answer in read_annotations(file):
                if answer.kind != "model":
                    answers[answer.dialogue_id].append(answer)
        else:
            for label in read_records(file, Label, "E_LABEL"):
                if label.probability != 0.5:
                    decided[label.dialogue_id, label.turn, label.code] = label.probability < 0.5
    for of_dialogue in answers.values():
        of_dialogue.sort(key=lambda each: (KINDS.index(each.kind), str(each.at)), reverse=True)
    codes = load_taxonomy().codes
    whole = {code for code, entry in codes.items() if entry.scope == "dialogue"}

    def is_overturned(dialogue: str, turn: int, code: str) -> bool | None:
        for answer in answers.get(dialogue, ()):
            if code in answer.codes and (answer.turn in (None, turn) or code in whole):
                return all(
                    each.code != code or (each.turn != turn and code not in whole) for each in answer.findings
                )
        return decided.get((dialogue, turn, code))

    return is_overturned


def _has_labelers(file: Path) -> bool:
    """Whether a file has annotations in it, and not labels; the reader says what is wrong with another."""
    try:
        with open(file, "rb") as lines:
            first = json.loads(next(filter(bytes.strip, lines), b"{}"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "labeler" in first


HEADINGS = ("measure", "drift", "p", "PSI (by chance)", "Wasserstein (by chance)", "share that moved most")


def _rows(measures: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each measure, with the bin whose share moved most."""
    rows: list[tuple[str, ...]] = []
    for each in measures:
        name, before, after = max(each["bins"], key=lambda row: abs(row[2] - row[1]))
        state = "drift" if each["drifted"] else "small" if each["is_sure"] else "no"
        psi = f"{each['psi']:.3f} ({each['psi_by_chance']:.3f})"
        distance = ""
        if each["wasserstein"] is not None:
            distance = f"{each['wasserstein']:.3g} ({each['wasserstein_by_chance']:.3g})"
        moved = f"{name}: {before:.1%} to {after:.1%}"
        rows.append((each["name"], state, f"{each['p_value']:.3f}", psi, distance, moved))
    return rows


def _show(report: Mapping[str, Any]) -> None:
    reference = report["reference"]
    for period in report["periods"]:
        print_line(
            f"{period['name']} ({period['dialogues']:,} dialogues) against {reference['name']} "
            f"({reference['dialogues']:,})"
        )
        rows = _rows(period["measures"])
        if len(report["periods"]) > 1:
            rows = [row for row in rows if row[1] != "no"]
        if rows:
            print_table(HEADINGS, rows)
    for line in report["notes"]:
        print_line(line)


def _page(report: Mapping[str, Any]) -> str:
    """The report as one page: a table for each period, and the shares of what drifted."""
    from markupsafe import Markup

    from dialint.eval.page import document, table

    def show(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
        head, cell = Markup('<th scope="row">{}</th>'), Markup("<td>{}</td>")
        cells = [[head.format(row[0]), *map(cell.format, row[1:])] for row in rows]
        return Markup("<h3>{}</h3>{}").format(title, Markup(table(title, headings, cells)))

    lines = Markup("").join(map(Markup("<li>{}</li>").format, report["notes"]))
    parts = [Markup("<section><ul>{}</ul></section>").format(lines)]
    for period in report["periods"]:
        content = show(f"{period['dialogues']:,} dialogues", HEADINGS, _rows(period["measures"]))
        for each in period["measures"]:
            if each["drifted"]:
                rows = [(name, f"{before:.1%}", f"{after:.1%}") for name, before, after in each["bins"]]
                content += show(each["name"], ("value", "before", "after"), rows)
        parts.append(Markup("<section><h2>{}</h2>{}</section>").format(period["name"], content))
    reference = report["reference"]
    header = Markup("<h1>Drift against {}</h1><p class=dim>{} dialogues. {}</p>").format(
        reference["name"],
        f"{reference['dialogues']:,}",
        f"Of runs without any change at most {report['level']:.1%} show a drift.",
    )
    return document("drift", str(header), str(Markup("").join(parts)), "Made by dialint eval drift.")
