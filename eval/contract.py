"""Thresholds with a guaranteed precision or recall on a log, from people's decisions.

    dialint eval contract spot.jsonl --sheet check/sheet.csv --precision 0.9 --overrides overrides.yaml
    dialint eval contract verdicts.jsonl --labels labels.jsonl --recall 0.8

Reads verdicts and either the judged sheet of a spot check or labels of all errors in their dialogues, and
changes no text. Without `--precision` and `--recall` it measures: precision by code, and how far stated
probabilities are from what was right. Recall is estimated by `dialint eval rates`.

A threshold is tested by an exact binomial bound on one unit of each dialogue, chosen at random by its ids:
turns of one dialogue depend on each other, dialogues do not. The thresholds of a code and source are tested
in a fixed order, each at its part of the error rate and what the one before it did not need (fallback),
codes and sources by Holm's step-down. What is tried depends on stated probabilities, never on answers.
Source: Angelopoulos et al. 2021, "Learn then Test"; Wiens 2003 (fallback); Holm 1979; Clopper, Pearson 1934.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from cyclopts import Parameter
from pydantic import Field
from rich.table import Table

from dialint.detector.artifacts import fingerprint, read_manifest
from dialint.detector.decide import source_of_finding
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.example_files import read_records
from dialint.detector.option_ranges import command_options
from dialint.detector.overrides import LogContract, SourceContract, read_overrides, update_overrides
from dialint.detector.records import Label, Source, Verdict
from dialint.detector.statistics import Estimate, bootstrap_estimate, clopper_pearson_upper
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import VerdictManifest, manifest_path, read_verdicts
from dialint.eval.judgements import (
    Judgement,
    count_judgements,
    judge_by_labels,
    read_answers,
    read_sheet,
    read_spot_check,
    summarize,
)
from dialint.eval.results import check_codes, source_name
from dialint.eval.run import check_writable, make_console

PRECISION_GRID = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.0)
"""Thresholds of findings that are tried, the strictest first."""
RECALL_GRID = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Thresholds from which an error is shown, the laxest first; at 1 only what was reported is shown."""
MIN_BIN = 50
"""Least number of judged findings of a bin of the reliability table."""
MAX_DIFFERENCE = 0.05
"""Difference of stated and measured precision above which a bin is flagged."""

Name = TypeVar("Name", bound=tuple[str, str])
Sources = Mapping[tuple[str, int, str], Source]
"""Dialogue, turn and code to the source that reported it."""


@command_options
class ContractConfig:
    """Options of `dialint eval contract`."""

    sheet: Path | None = None
    """The judged sheet of `dialint eval spot-check`, in the folder where it was made."""
    labels: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = ()
    """All errors of all dialogues of the verdicts, which people read as a whole, as JSONL, one label a line:
    what has no label counts as no error."""
    precision: Annotated[float | None, Field(gt=0, lt=1)] = None
    """Precision that every code and source must keep to accuse."""
    recall: Annotated[float | None, Field(gt=0, lt=1)] = None
    """Share of the errors of a code that findings and suggestions must show; needs --labels, those of what
    is missed among them."""
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Confidence that all thresholds keep it at once."""
    minutes: Annotated[float, Field(ge=0)] = 0.5
    """Minutes that a person needs for one finding."""
    overrides: Path | None = None
    """File that the result is written into, for `dialint score --overrides`."""
    taxonomy: Path | None = None
    """The taxonomy file that the log was scored with, if it was not the packaged one."""


def contract(*verdicts: Path, config: Annotated[ContractConfig, Parameter(name="*")] | None = None) -> None:
    """Guarantee precision or recall on a log by what people decided about its findings, or measure both."""
    config = config or ContractConfig()
    if not verdicts or (config.sheet is None) == (not config.labels):
        raise ConfigError("E_OPTION", "name verdicts, and either --sheet or --labels")
    if config.recall is not None and config.sheet is not None:
        raise ConfigError("E_OPTION", "--recall needs --labels: drawn turns show few of the missed errors")
    check_writable(overrides=config.overrides)
    statuses = ("scored",) if config.sheet is None else ("scored", "not_judged")
    needs_stated = config.sheet is None or config.precision is not None
    scored, log = _read(verdicts, statuses, needs_stated=needs_stated)
    taxonomy = load_taxonomy(config.taxonomy)
    whole = {code for code, each in taxonomy.codes.items() if each.scope == "dialogue"}
    labels = [label for path in config.labels for label in read_records(path, Label, "E_LABEL")]
    check_codes("--labels", (label.code for label in labels), taxonomy)
    console = make_console()
    if config.sheet is not None:
        sample, rows = read_spot_check(config.sheet), read_sheet(config.sheet)
        judgements, result = read_answers(sample, rows)[0], count_judgements(sample, rows)
        n_rows = len(sample.rows)
    else:
        judgements, result = judge_by_labels(scored, labels, log, whole)
        n_rows, n_labelled = 0, len({label.dialogue_id for label in labels if label.probability > 0.5})
        console.print(
            f"{n_labelled:,} of {len(scored):,} dialogues have a labelled error; what has no label counts "
            "as no error, so labels must be of dialogues that were read as a whole"
        )
    for part in summarize(result, with_advice=config.precision is None):
        console.print(part)
    n_read = len(judgements) + result.turns.read
    if n_read < n_rows:
        console.print(f"{n_rows - n_read} of {n_rows} rows are not judged yet")
    if result.release != scored[0].release:
        raise InputRefused("E_FIELD", f"{config.sheet}: of {result.release}, not {scored[0].release}")
    sources = {
        (verdict.dialogue_id, each.turn, each.code): source_of_finding(each)
        for verdict in scored
        for each in (*verdict.findings, *verdict.suggestions)
    }
    if any((each.row.dialogue, each.row.turn, each.row.code) not in sources for each in judgements):
        raise InputRefused("E_FIELD", f"{config.sheet}: was not drawn from these verdicts")
    console.print(_show_reliability(reliability(judgements, sources)))
    sections: dict[str, Any] = {}
    if config.precision is not None:
        rows_of = control_precision(scored, judgements, sources, config.precision, config.confidence)
        rest = [(row.n - row.left) * config.minutes for row in rows_of.values()]
        title = f"Precision {config.precision:g} with confidence {config.confidence:g}"
        console.print(_show(title, "findings", "accuse", rows_of, rest))
        n, left = sum(row.n for row in rows_of.values()), sum(row.left for row in rows_of.values())
        console.print(
            f"{left:,} of {n:,} findings may accuse ({100 * left / max(1, n):.0f} %), the others are "
            f"suggestions; to review these takes {sum(rest):,.0f} minutes"
        )
        codes: dict[str, Any] = defaultdict(dict)
        for (code, source), row in rows_of.items():
            if (trial := row.trial) is not None:
                codes[code][source] = SourceContract(threshold=trial.threshold, right=trial.hits, n=trial.n)
        sections["contract"] = LogContract(
            precision=config.precision, confidence=config.confidence, log=result.log,
            judged_on=result.judged_on, codes=dict(codes),
        )  # fmt: skip
    if config.recall is not None:
        if all((each.dialogue_id, each.turn, each.code) in sources for each in labels):
            raise InputRefused(
                "E_LABEL", "--recall needs labels of dialogues that were read as a whole; these are all of "
                "what the verdicts report, as if nobody had looked for more",
            )  # fmt: skip
        rows_of = control_recall(scored, labels, whole, config.recall, config.confidence)
        title = f"Recall {config.recall:g} with confidence {config.confidence:g}"
        cost = [row.left * config.minutes for row in rows_of.values()]
        console.print(_show(title, "errors", "shown", rows_of, cost))
        before = read_overrides(config.overrides if config.overrides and config.overrides.exists() else None)
        lowered = {code: row.trial.threshold for (code, _), row in rows_of.items() if row.trial}
        lowered = {code: start for code, start in lowered.items() if start < 1}
        sections["thresholds"] = {**before.thresholds, **lowered}
    if config.overrides is not None:
        if not n_read:
            raise InputRefused("E_EMPTY", "nothing is judged, so there is nothing to write")
        update_overrides(config.overrides, result.release, **(sections or {"spot_check": result}))
        where = config.overrides
        console.print(f"{where}: dialint score LOG --overrides {where}", soft_wrap=True)


def _read(
    paths: Sequence[Path], statuses: Collection[str], *, needs_stated: bool
) -> tuple[list[Verdict], str]:
    """Reads the verdicts of these statuses of several files, and the fingerprint of their logs. A sheet has
    findings of exact checks in dialogues that were not judged, too."""
    scored: list[Verdict] = []
    hashes: list[str] = []
    for path in paths:
        scored += [verdict for verdict in read_verdicts(path) if verdict.status in statuses]
        work = read_manifest(manifest_path(path), expected=VerdictManifest).get("work", {})
        hashes += [each["sha256"] for each in work.get("inputs", ())]
        if needs_stated and work.get("release", {}).get("overrides", {}).get("spot_check"):
            raise ConfigError("E_OPTION", f"{path}: scored with a spot check; score it without")
    if not scored or len({verdict.release for verdict in scored}) > 1:
        raise InputRefused("E_FIELD", "the verdicts are of several releases, or none is scored")
    if len({verdict.dialogue_id for verdict in scored}) < len(scored):
        raise InputRefused("E_FIELD", "two verdicts are of dialogues of the same id")
    return scored, fingerprint(sorted(hashes))


@dataclass(frozen=True)
class Unit:
    """A judged finding, a hit if it is right, or an error: the probability is compared with thresholds."""

    dialogue: str
    turn: int
    probability: float
    is_hit: bool = True


@dataclass(frozen=True)
class Trial:
    """A threshold on trial: `hits` of `n` dialogues by one unit each, and the share of hits of all units."""

    threshold: float
    hits: int
    n: int
    share: float

    def passes(self, target: float, level: float) -> bool:
        """Returns whether the share over dialogues is `target` at least, with an error rate of `level`."""
        if min(self.share, self.hits / max(1, self.n)) < target:
            return False
        return 1.0 - clopper_pearson_upper(self.n - self.hits, self.n, 1.0 - level) >= target


@dataclass(frozen=True)
class FamilyResult:
    """The result of a family: the trial that passed, if one did, and the laxest one, of all `n` findings or
    errors; how many findings accuse, or turns are shown, by it; and how many dialogues are needed, all of
    them hits, if there are too few."""

    trial: Trial | None
    laxest: Trial
    n: int
    left: int
    needed: int


def _shuffle(units: Iterable[Unit]) -> list[Unit]:
    """Sorts units in a random order that depends on the ids alone."""
    return sorted(units, key=lambda unit: hashlib.sha256(f"{unit.dialogue}\0{unit.turn}".encode()).digest())


def _try(threshold: float, hits: Sequence[tuple[str, bool]]) -> Trial:
    """Makes a trial of units, each its dialogue and whether it is a hit; the first of a dialogue counts."""
    first: dict[str, bool] = {}
    for dialogue, is_hit in hits:
        first.setdefault(dialogue, is_hit)
    return Trial(threshold, sum(first.values()), len(first), sum(h for _, h in hits) / max(1, len(hits)))


def try_precision(units: Iterable[Unit], stated: Sequence[float]) -> list[Trial]:
    """Tries thresholds of findings, the strictest first, without those that pass the same `stated` ones."""
    ordered, trials, n_before = _shuffle(units), [], 0
    for start in PRECISION_GRID:
        n = sum(p >= start for p in stated)
        if n > n_before:
            trials.append(_try(start, [(u.dialogue, u.is_hit) for u in ordered if u.probability >= start]))
        n_before = n
    return trials


def try_recall(units: Iterable[Unit], grid: Sequence[float]) -> list[Trial]:
    """Tries thresholds from which an error is shown, the laxest first."""
    ordered = _shuffle(units)
    return [_try(start, [(unit.dialogue, unit.probability >= start) for unit in ordered]) for start in grid]


def certify(
    families: Mapping[Name, Sequence[Trial]], target: float, confidence: float
) -> tuple[dict[Name, Trial], dict[Name, int]]:
    """Returns the last trial of each family that passes, in the order of its trials: with `confidence` none
    passes whose share is under `target`. Also returns how many dialogues the families need that have too few:
    as many of the largest families are tried as could pass if all were hits, independently of the answers."""
    alpha = 1.0 - confidence
    n_of = {name: max((trial.n for trial in trials), default=0) for name, trials in families.items()}
    largest = sorted(families, key=lambda name: (-n_of[name], name))
    n_tried = max((k for k, name in enumerate(largest, 1) if target ** n_of[name] <= alpha / k), default=0)

    def least(k: int) -> int:
        return math.ceil(math.log(alpha / k) / math.log(target) - 1e-9)

    tried = {name: [t for t in families[name] if t.n >= least(n_tried)] for name in largest[:n_tried]}
    too_few = dict.fromkeys(largest[n_tried:], least(n_tried + 1))
    n_complete = 0
    while True:
        share = alpha / max(1, n_tried - n_complete)
        passed = {name: _fallback(trials, target, share) for name, trials in tried.items()}
        complete = sum(len(trials) == len(tried[name]) for name, trials in passed.items())
        if complete == n_complete:
            return {name: trials[-1] for name, trials in passed.items() if trials}, too_few
        n_complete = complete


def _fallback(trials: Sequence[Trial], target: float, alpha: float) -> list[Trial]:
    """Returns the trials that pass at their equal part of `alpha`, plus that of those right before that
    did."""
    passed, level = [], 0.0
    for trial in trials:
        level += alpha / len(trials)
        if trial.passes(target, level):
            passed.append(trial)
        else:
            level = 0.0
    return passed


def _control(
    families: Mapping[Name, Sequence[Trial]],
    probabilities: Mapping[Name, Sequence[float]],
    n: Mapping[Name, int],
    target: float,
    confidence: float,
    otherwise: float,
) -> dict[Name, FamilyResult]:
    """Certifies each family; where no trial passed, probabilities of `otherwise` or more are left."""
    passed, too_few = certify(families, target, confidence)
    results = {}
    for name, trials in sorted(families.items()):
        trial, laxest = passed.get(name), min(trials, key=lambda each: each.threshold)
        start = otherwise if trial is None else trial.threshold
        left = sum(p >= start for p in probabilities[name])
        results[name] = FamilyResult(trial, laxest, n[name], left, too_few.get(name, 0))
    return results


def control_precision(
    scored: Iterable[Verdict],
    judgements: Iterable[Judgement],
    sources: Sources,
    precision: float,
    confidence: float,
) -> dict[tuple[str, str], FamilyResult]:
    """Certifies a threshold for each code and source of the findings of `scored` by the judged ones."""
    stated: dict[tuple[str, str], list[float]] = defaultdict(list)
    for verdict in scored:
        for each in verdict.findings:
            stated[each.code, source_of_finding(each)].append(each.probability)
    units: dict[tuple[str, str], list[Unit]] = defaultdict(list)
    for judgement in judgements:
        row = judgement.row
        if row.kind == "finding":
            unit = Unit(source_name(row.dialogue), row.turn, row.probability or 0.0, judgement.is_right)
            units[row.code, sources[row.dialogue, row.turn, row.code]].append(unit)
    families = {name: try_precision(units[name], every) for name, every in stated.items()}
    sizes = {name: len(every) for name, every in stated.items()}
    return _control(families, stated, sizes, precision, confidence, math.inf)


def control_recall(
    scored: Sequence[Verdict],
    labels: Iterable[Label],
    whole: Collection[str],
    recall: float,
    confidence: float,
) -> dict[tuple[str, str], FamilyResult]:
    """Certifies the highest threshold of each labelled code from which findings and suggestions show `recall`
    of its errors; one of a code in `whole` is shown at any turn. Without all probabilities, or where most are
    0 as no scan covers the code, only what is reported is tried."""
    probabilities: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)  # by turn, 1 if reported
    for verdict in scored:
        for turn, row in (verdict.probabilities or {}).items():
            for code, probability in row.items():
                probabilities[verdict.dialogue_id, code][turn] = probability
        for each in (*verdict.findings, *verdict.suggestions):
            probabilities[verdict.dialogue_id, each.code][each.turn] = 1.0
    errors: dict[tuple[str, str], list[Unit]] = defaultdict(list)
    for label in labels:
        if label.probability > 0.5:
            turns = probabilities[label.dialogue_id, label.code]
            p = max(turns.values(), default=0.0) if label.code in whole else turns.get(label.turn, 0.0)
            errors[label.code, ""].append(Unit(source_name(label.dialogue_id), label.turn, p))
    every: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (_, code), turns in probabilities.items():
        every[code, ""] += turns.values()
    has_all = all(verdict.probabilities is not None for verdict in scored)
    families = {}
    for name, units in errors.items():
        is_scanned = has_all and np.median(every[name] or [0.0]) > 0
        families[name] = try_recall(units, RECALL_GRID if is_scanned else RECALL_GRID[-1:])
    sizes = {name: len(units) for name, units in errors.items()}
    return _control(families, every, sizes, recall, confidence, 1.0)


@dataclass(frozen=True)
class Bin:
    """Judged findings and suggestions of one source with probabilities from `low` to `high`: the number, the
    mean `stated` one, and the share that was `right`, with an interval by dialogue."""

    source: Source
    low: float
    high: float
    n: int
    stated: float
    right: Estimate

    @property
    def difference(self) -> float:
        return self.right.value - self.stated


def reliability(judgements: Iterable[Judgement], sources: Mapping[tuple[str, int, str], Source]) -> list[Bin]:
    """Returns bins of each source with `MIN_BIN` judged or more, as narrow as ties allow; a row of a sheet
    counts by its weight. A source with fewer has one bin."""
    by_source: dict[Source, list[Judgement]] = defaultdict(list)
    for each in judgements:
        by_source[sources[each.row.dialogue, each.row.turn, each.row.code]].append(each)
    results = []
    for source, rows in sorted(by_source.items()):
        rows.sort(key=lambda each: each.row.probability or 0.0)
        stated = np.array([each.row.probability or 0.0 for each in rows])
        starts = [0]
        for index in np.flatnonzero(np.diff(stated)) + 1:
            if index - starts[-1] >= MIN_BIN and len(rows) - index >= MIN_BIN:
                starts.append(int(index))
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            part, p = rows[start:end], stated[start:end]
            sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
            for each in part:
                own = sums[source_name(each.row.dialogue)]
                own[0] += each.row.weight * each.is_right
                own[1] += each.row.weight
            right = bootstrap_estimate(
                np.array(list(sums.values())), lambda s: s[:, 0] / s[:, 1], limits=(0.0, 1.0)
            )
            mean = float(np.average(p, weights=[each.row.weight for each in part]))
            results.append(Bin(source, float(p[0]), float(p[-1]), len(part), mean, right))
    return results


def _show_reliability(bins: Sequence[Bin]) -> Table:
    table = Table(title="Stated probability and what was right", title_justify="left")
    columns = "source", "from", "to", "judged", "dialogues", "stated", "right", "95 %", "difference", ""
    for column in columns:
        table.add_column(column, justify="left" if column in ("source", "") else "right")
    for each in bins:
        note = f"over {MAX_DIFFERENCE:g}" if abs(each.difference) > MAX_DIFFERENCE else ""
        table.add_row(
            each.source, f"{each.low:.2f}", f"{each.high:.2f}", f"{each.n:,}", f"{each.right.n:,}",
            f"{each.stated:.2f}", f"{each.right.value:.2f}", f"{each.right.low:.2f} to {each.right.high:.2f}",
            f"{each.difference:+.2f}", note if each.n >= MIN_BIN else f"under {MIN_BIN} judged",
        )  # fmt: skip
    if enough := [abs(each.difference) for each in bins if each.n >= MIN_BIN]:
        table.caption = f"largest difference of bins with {MIN_BIN} or more: {max(enough):.2f}"
    return table


def _show(
    title: str, unit: str, left: str, rows: Mapping[tuple[str, str], FamilyResult], minutes: Sequence[float]
) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("code", "source", unit, "dialogues", "share", "from", left, "minutes", ""):
        table.add_column(column, justify="left" if column in ("code", "source", "") else "right")
    for ((code, source), row), cost in zip(rows.items(), minutes, strict=True):
        laxest, trial = row.laxest, row.trial
        note = f"needs {row.needed} dialogues" if row.needed else "not kept"
        table.add_row(
            code, source, f"{row.n:,}", f"{laxest.n:,}", f"{laxest.share:.2f}" if laxest.n else "",
            "" if trial is None else "as it is" if trial.threshold >= 1 else f"{trial.threshold:.2f}",
            f"{row.left:,}", f"{cost:,.1f}",
            note if trial is None else f"in {trial.hits} of {trial.n} dialogues",
        )  # fmt: skip
    return table
