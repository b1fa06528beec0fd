"""Error rates from all verdicts and a random audit, and missed errors.

    dialint eval rates verdicts.jsonl --audit read.jsonl --labels labels.jsonl
    dialint eval rates verdicts.jsonl --sheet check/sheet.csv

`eval/audits.py` estimates the rates. Agents, teams and weeks are each compared with the others of their kind
at a false discovery rate of 5 %. With a sheet, rates are of turns, by its rows.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import write_json
from dialint.detector.environment import install_command, is_installed, require_library
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.option_ranges import command_options
from dialint.detector.statistics import Bools, Comparison, Rate, compare_rates
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import read_verdicts
from dialint.eval.audits import Audit, Units, audit_of_examples, audit_of_sheet
from dialint.eval.blind_spots import AddedError, BlindSpot, group_added
from dialint.eval.results import check_codes
from dialint.eval.run import check_writable, make_console

if TYPE_CHECKING:
    from rich.table import Table

Dimension = Literal["team", "agent", "channel", "week"]
WIDEST = 0.5
"""Widest interval of a rate that is printed."""
LEVEL, POWER = 0.05, 0.8
STRATA = ("with a finding", "with a suggestion only", "with neither")
N_EXAMPLES = 2
EXAMPLE_CHARACTERS = 160


@command_options
class RatesConfig:
    """Options of `dialint eval rates`."""

    audit: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = ()
    """Dialogues of the scored log that people read as a whole, drawn at random: a log with --labels, or files
    of examples as `dialint export dataset` writes them."""
    labels: Path | None = None
    """The errors that people found in --audit, as JSONL, one a line."""
    sheet: Path | None = None
    """Instead of --audit: a judged sheet of `dialint eval spot-check`."""
    by: Annotated[tuple[Dimension, ...], Parameter(consume_multiple=True)] = ("team", "agent", "week")
    """What is compared, as far as the log tells it."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Count these codes only."""
    width: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """Width of the interval of recall that the readings are planned for."""
    taxonomy: Path | None = None
    """The taxonomy file that the log was scored with, if it was not the packaged one."""
    out: Path | None = None
    """The figures as JSON, without dialogue text."""


def rates(
    verdicts: Path,
    /,
    *,
    config: Annotated[RatesConfig, Parameter(name="*")] | None = None,
    reading: Annotated[ReadConfig, Parameter(name="*")] | None = None,
) -> None:
    """Estimate error rates by agent, team, week and code from all verdicts and a random audit, and what is
    missed."""
    config = config or RatesConfig()
    if bool(config.audit) == (config.sheet is not None) or (config.labels and config.sheet):
        raise ConfigError("E_OPTION", "name what people read: --audit LOG --labels LABELS, or --sheet SHEET")
    taxonomy = load_taxonomy(config.taxonomy)
    check_codes("--codes", config.codes, taxonomy)
    require_library("scipy", "eval rates")
    check_writable(out=config.out)
    scored = list(read_verdicts(verdicts))
    if config.sheet is not None:
        audit = audit_of_sheet(scored, config.sheet)
    else:
        audit = audit_of_examples(scored, config.audit, config.labels, reading)
    check_codes("--labels", chain.from_iterable(audit.true.values()), taxonomy)
    added = [error for error in audit.added if error.code in config.codes or not config.codes]
    spots = group_added(added) if is_installed("sklearn") else None
    report = {
        "kind": "rates",
        **estimate(audit, config),
        "blind_spots": [spot.to_dict() for spot in spots or ()],
    }
    console = make_console()
    n_left_out = len(scored) - len(audit.verdicts)
    for part in chain(render(report, n_left_out), render_blind_spots(added, spots)):
        console.print(part, soft_wrap=isinstance(part, str))
    if config.out is not None:
        write_json(config.out, report)


def estimate(audit: Audit, config: RatesConfig) -> dict[str, Any]:
    """Computes all rates of an audit for a report: shares in [0, 1] or None, each with its 95 % interval.
    `reads_for_width` is the number of readings at random for an interval of recall of that width, None if the
    whole log does not suffice."""
    codes = tuple(code for code in audit.codes if code in config.codes or not config.codes)
    units = audit.units(frozenset(codes))
    n_units = len(audit.verdicts) if audit.rows is None else int(units.sizes.sum())
    counts = np.column_stack((units.reads.sum(axis=0), units.sizes.sum(axis=0))).astype(int).tolist()
    read = dict(zip(STRATA, counts, strict=True)) if audit.rows is None else {}
    return {
        "unit": "dialogue" if audit.rows is None else "agent turn",
        "dialogues": len(audit.verdicts),
        "read": audit.n_read,
        "read_by_verdict": read,
        "drawn_alike": not read or (units.is_sampled_equally(0, 1) and units.is_sampled_equally(0, 2)),
        "all_codes": _figures(units),
        "codes": {code: _figures(audit.units(frozenset({code}))) for code in codes},
        "groups": {by: compare_groups(audit, units, by) for by in config.by},
        "width": config.width,
        "reads_for_width": units.recall().reads_for_width(config.width, audit.n_read, n_units),
    }


def _figures(units: Units) -> dict[str, Any]:
    rate, recall = units.rate(), units.recall().estimate
    figures = (("rate", rate.value, rate.interval), ("recall", recall.value, (recall.low, recall.high)))
    flagged = {"flagged": int(units.sizes[:, 0].sum())}
    return flagged | {
        key: each for name, value, ends in figures for key, each in _with_interval(name, value, ends).items()
    }


def _with_interval(name: str, value: float, ends: tuple[float, float]) -> dict[str, Any]:
    return {
        name: None if math.isnan(value) else round(value, 4),
        f"{name}_95": [round(end, 4) for end in ends],
    }


def compare_groups(audit: Audit, units: Units, by: Dimension) -> dict[str, dict[str, Any]]:
    """Compares each group of the log, in order, with all others together; `reads_to_settle` is how many more
    of its dialogues to read, None if that settles nothing."""
    names = np.array([getattr(verdict, by) or "" for verdict in audit.verdicts], object)
    keys = sorted(set(names) - {""})
    read: Bools = np.asarray(units.reads.any(axis=1))
    pairs = [(units.rate(names == key), units.rate((names != key) & (names != ""))) for key in keys]
    words: list[Comparison] = compare_rates(pairs, LEVEL) if len(keys) > 1 else ["unknown"] * len(keys)
    level = LEVEL * (1 + sum(word in ("more", "fewer") for word in words)) / max(1, len(keys))
    rows = {}
    for key, (rate, others), word in zip(keys, pairs, words, strict=True):
        own: Bools = np.asarray(names == key)
        n, n_read = int(own.sum()), int(read[own].sum())
        is_open = word not in ("more", "fewer")
        rows[key] = {
            "dialogues": n, "read": n_read, **_with_interval("rate", rate.value, rate.interval),
            "against_the_others": word,
            "reads_to_settle": reads_to_settle(rate, others, n_read, n, level) if is_open else None,
        }  # fmt: skip
    return rows


def reads_to_settle(rate: Rate, others: Rate, n_read: int, n_all: int, level: float) -> int | None:
    """Returns how many more of the `n_all` dialogues of `rate` a random sample needs for the difference to
    the `others` to be significant at `level` with a power of `POWER`, if it is as large as estimated; None if
    all of them do not suffice."""
    normal, middle = NormalDist(), (rate.value + others.value) / 2
    z = normal.inv_cdf(1 - level / 2) + normal.inv_cdf(POWER)
    spare = ((rate.value - others.value) / z) ** 2 - others.variance - rate.fixed_variance
    if not spare > 0:  # NaN: nothing was read
        return None
    # a rate near 0 or 1 is more exact than the test of its difference to the others
    within = max(middle * (1 - middle) / rate.n, rate.variance) - rate.fixed_variance
    wanted = math.ceil(n_read * within / spare)
    return max(1, wanted - n_read) if wanted <= n_all else None


def render(report: Mapping[str, Any], n_left_out: int) -> Iterator[str | Table]:
    """Yields the rates for a terminal, part by part; `n_left_out` dialogues were not judged."""
    by_dialogue = report["unit"] == "dialogue"
    what = "dialogues" if by_dialogue else "findings and turns"
    unit = "dialogues with an error, of 100" if by_dialogue else "errors in 100 agent turns"
    left_out = f" ({n_left_out:,} more were not judged and are left out)" if n_left_out else ""
    yield f"Scored: {report['dialogues']:,} dialogues{left_out}; read by people: {report['read']:,} {what}."
    parts = [f"{name} {read:,} of {n:,}" for name, (read, n) in report["read_by_verdict"].items()]
    yield from (f"Read of those {', '.join(parts)}.",) if parts else ()
    if report["drawn_alike"]:
        yield "The figures hold if those were drawn at random, not chosen."
    else:
        yield "That is no random draw: a rate of all holds only if each of the three was drawn at random, and"
        yield "those by code and group may be wrong."
    whole = report["all_codes"]
    yield "\n" + unit + ": {} (95 % {})".format(*_cells(whole, "rate")) + "\n"
    flagged = "dialogues with a finding" if by_dialogue else "findings"
    yield _table(
        f"By code: {unit}",
        ("code", flagged, "rate", "95 %", "reported, of 100", "95 %"),
        (
            (code, f"{row['flagged']:,}", *_cells(row, "rate"), *_cells(row, "recall"))
            for code, row in report["codes"].items()
        ),
    )
    for by, rows in report["groups"].items():
        if rows:
            yield _table(
                f"By {by}: {unit}",
                (by, "dialogues", "read", "rate", "95 %", "against the others", "to settle it"),
                (
                    (key, f"{row['dialogues']:,}", f"{row['read']:,}", *_cells(row, "rate"), *_advice(row))
                    for key, row in rows.items()
                ),
            )
    if any(report["groups"].values()):
        yield "more, fewer: in the long run at most 5 % of these words are wrong. To settle it: so many more"
        yield "of the row, drawn at random, show the difference with a chance of 80 %, if it is as it looks\n"
    of = "100 dialogues with an error" if by_dialogue else "100 errors"
    if whole["recall"] is None or not whole["flagged"]:
        none = "What people read says nothing of how many errors dialint reports."
        yield none if whole["recall"] is None else f"Of {of} dialint reports none."
        return
    yield f"Of {of} dialint reports " + "{} (95 % {}).".format(*_cells(whole, "recall"))
    wanted, points = report["reads_for_width"], f"{100 * report['width']:g}"
    if wanted is None:
        yield f"For an interval of {points} points, reading the whole log would not suffice."
    elif wanted > report["read"]:
        more = f"{wanted - report['read']:,} more {what}"
        yield f"For an interval of {points} points, read about {more}, drawn at random."


def render_blind_spots(added: Sequence[AddedError], spots: Sequence[BlindSpot] | None) -> Iterator[str]:
    """Yields the errors that people added for a terminal, with masked examples."""
    if not added:
        yield "\nPeople added no error that dialint does not report."
        return
    n_dialogues = len({error.dialogue for error in added})
    yield f"\nPeople added {len(added):,} errors in {n_dialogues:,} dialogues that dialint does not report."
    if spots is None:
        yield f"They can be grouped by their words: {install_command('train')}"
    elif not spots:
        yield "No words recur in them in three dialogues or more."
    for spot in spots or ():
        of = f"{len(spot.errors)} in {len(spot.dialogues)} dialogues"
        yield f"- {of} ({', '.join(spot.terms)}): {spot.proposal}"
        for error in spot.errors[:N_EXAMPLES]:
            text = textwrap.shorten(error.text, EXAMPLE_CHARACTERS, placeholder=" ...")
            yield f"    {error.dialogue} turn {error.turn}, {error.code}: {text}"


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for place, heading in enumerate(headings):
        is_text = not place or heading in ("against the others", "to settle it")
        table.add_column(heading, justify="left" if is_text else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _advice(row: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the cells of a group's comparison, and of the readings that would settle it."""
    if row["against_the_others"] in ("more", "fewer"):
        return row["against_the_others"], ""
    if row["reads_to_settle"] is not None:
        return "not enough evidence", f"read about {row['reads_to_settle']:,} more"
    return "not enough evidence", "reading all would not" if row["read"] else "read some first"


def _cells(row: Mapping[str, Any], name: str) -> tuple[str, str]:
    """Formats a share of 100 and its interval; no share where the interval is wider than `WIDEST`."""
    value, (low, high) = row[name], row[f"{name}_95"]
    interval = f"{100 * low:.1f} to {100 * high:.1f}" if high > low else "none reported"
    return f"{100 * value:.1f}" if value is not None and high - low <= WIDEST else "too few read", interval
