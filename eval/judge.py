"""Evaluates judges on dialogues of a data set that people labelled, alone or against others.

    dialint eval judge build/dataset --judge build/aligned --against build/judge --out report.json
    dialint eval judge build/dataset --judge http:http://127.0.0.1:8000/v1 --split dev --overrides team.yaml

Each judge reads the dialogues of one split as `dialint score --judge` has it do, and what it lists is
compared with their labels. Prints tables, and with ``--out`` writes the report as JSON, without dialogue
text. With ``--overrides`` writes what the judge's probabilities are worth, for `dialint score`. With
``--contract`` measures all that `dialint release promote` asks for: what the judges find by their contracts,
code by code and in groups of dialogues, and how often attacks change it. Trains nothing: the split must not
have been used in training.

An error is right if a label over one half has its turn and code; a posterior label counts by that, and softly
where probabilities are measured. Rounds of the bootstrap draw source dialogues, all rows of one together, so
that the figures of two judges on the same dialogues are paired.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import data_fingerprint, fingerprint, package_versions, write_json
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError, UserError
from dialint.detector.interface import Detector, JudgeUsage, default_threads
from dialint.detector.judge.config import JudgeConfig, parse_judge
from dialint.detector.judge.prompt import split_families
from dialint.detector.judge.stage import StageOptions
from dialint.detector.log_profile import profile_log
from dialint.detector.option_ranges import command_options
from dialint.detector.overrides import JudgeContract, Overrides, read_overrides, update_overrides
from dialint.detector.records import Example
from dialint.detector.registry import verify_folder
from dialint.detector.statistics import Floats, bootstrap_counts, grouped_sum, ratio
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.eval.attack.run import describe_rates, gate_attacks
from dialint.eval.breakdowns import GROUPS
from dialint.eval.figures import calibration_errors, ranking_figures, value_and_interval, with_interval
from dialint.eval.judge_measure import (
    Comparison,
    JudgeDetector,
    compare,
    count_unlike_base,
    fit_contract,
    require_everything,
    require_readable,
)
from dialint.eval.labelled import ACCUSES_FROM, BETA, SelectionConfig, requested_codes, select_examples
from dialint.eval.results import Results
from dialint.eval.run import check_writable, evaluate_against, make_console

if TYPE_CHECKING:
    from rich.table import Table

OF_ERRORS = ("recall", "f_half", "f1", "average_precision")
OF_ACCUSATIONS = ("precision", "right_turns", "quote_overlap")
OF_LISTED = ("brier", "calibration_error")
FALSE = "false_accusations_per_100_turns"


def judge_figures(
    result: Comparison, codes: Collection[str] | None = None, rounds: int = 1000, seed: int = 0
) -> dict[str, Floats]:
    """Computes figures of all codes, or of `codes`: values of shape (1 + rounds,), the sample's, then each
    round's; NaN where there is nothing to measure.

    An accusation is an error listed at `ACCUSES_FROM` or more. `precision`, `recall`, `f_half`, `f1` of
    accusations; `right_turns`, the share of them whose turn has any labelled error;
    `false_accusations_per_100_turns` of the support side; `quote_overlap`, mean F1 of characters over right
    ones with labelled evidence. Of all listed errors: `average_precision` by their probability, unlisted
    labels as misses; `brier` and `calibration_error` against the labels' probability.
    """
    numbers = {source: number for number, source in enumerate(sorted(result.turns))}
    counts = bootstrap_counts(len(numbers), rounds, seed)
    turns = grouped_sum(
        counts,
        np.array([result.turns[source] for source in numbers], float),
        np.arange(len(numbers), dtype=np.int64),
    )
    rows = [row for row in result.rows if codes is None or row.code in codes]
    with_error = {(row.dialogue, row.turn) for row in result.rows if row.is_error}
    groups = np.array([numbers[row.source] for row in rows], np.int64)
    truth = np.array([row.truth for row in rows], float)
    stated = np.array([row.probability for row in rows], float)  # NaN for None
    overlap = np.array([row.overlap for row in rows], float)
    on_turn = np.array([(row.dialogue, row.turn) in with_error for row in rows], bool)
    errors, listed, accused = truth > 0.5, ~np.isnan(stated), stated >= ACCUSES_FROM
    right = accused & errors

    def total(values: Any) -> Floats:
        return grouped_sum(counts, values, groups)

    n_errors, n_accused, hits = total(errors), total(accused), total(right)
    quoted = right & ~np.isnan(overlap)
    ranked = ranking_figures(errors[listed], stated[listed], groups[listed], counts)["average_precision"]
    return {
        "precision": ratio(hits, n_accused),
        "recall": ratio(hits, n_errors),
        "f_half": _f_beta(hits, n_accused, n_errors, BETA),
        "f1": _f_beta(hits, n_accused, n_errors, 1.0),
        "right_turns": ratio(total(accused & on_turn), n_accused),
        FALSE: ratio(100 * (n_accused - hits), turns),
        "average_precision": ratio(np.nan_to_num(ranked) * total(listed & errors), n_errors),
        "brier": ratio(total(np.where(listed, (np.nan_to_num(stated) - truth) ** 2, 0.0)), total(listed)),
        "calibration_error": calibration_errors(truth[listed], stated[listed], groups[listed], counts),
        "quote_overlap": ratio(total(np.where(quoted, np.nan_to_num(overlap), 0.0)), total(quoted)),
    }


def summarize_judge(
    result: Comparison, taxonomy: Taxonomy, rounds: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """Returns the figures for a report, each with its 95 % interval under the name ``..._95``, with sample
    sizes: of all codes, by family of codes, by the codes' usual severity, and by code."""
    codes = {row.code for row in result.rows}
    families = split_families(taxonomy, {code: taxonomy.codes[code] for code in codes})
    by_severity: dict[str, set[str]] = {}
    for code in sorted(codes):
        by_severity.setdefault(taxonomy.codes[code].severity, set()).add(code)
    return {
        **_summarize(result, None, rounds, seed),
        "readable": 1 - result.n_unread / max(1, result.n_dialogues),
        "failures": result.failures,
        "second_looks": result.n_second_looks,
        "by_family": {
            "".join(dict.fromkeys(code[0] for code in family)): _summarize(result, family, rounds, seed)
            for family in families
        },
        "by_severity": {
            severity: _summarize(result, own, rounds, seed) for severity, own in sorted(by_severity.items())
        },
        "codes": {code: _summarize(result, {code}, rounds, seed) for code in sorted(codes)},
    }


def _summarize(result: Comparison, codes: Collection[str] | None, rounds: int, seed: int) -> dict[str, Any]:
    rows = [row for row in result.rows if codes is None or row.code in codes]
    errors = [row for row in rows if row.is_error]
    listed = [row for row in rows if row.probability is not None]
    accused = [row for row in listed if (row.probability or 0.0) >= ACCUSES_FROM]
    n_turns, every = sum(result.turns.values()), len(result.turns)
    report: dict[str, Any] = {
        "errors": len(errors),
        "listed": len(listed),
        "accusations": len(accused),
        "dialogues": result.n_dialogues,
        "source_dialogues": every,
        "dialogues_with_findings": len({row.source for row in accused}),
        "dialogues_with_errors": len({row.source for row in errors}),
        "turns": n_turns,
    }
    n_sources = {FALSE: every}
    for names, own in ((OF_ERRORS, errors), (OF_ACCUSATIONS, accused), (OF_LISTED, listed)):
        n_sources |= dict.fromkeys(names, len({row.source for row in own}))
    for name, values in judge_figures(result, codes, rounds, seed).items():
        limit = 100 * every / max(1, n_turns) if name == FALSE else 1.0
        report |= with_interval(name, values, n_sources[name], (0.0, limit))
    return report


def judge_difference(
    mine: Comparison,
    theirs: Comparison,
    codes: Collection[str] | None = None,
    rounds: int = 1000,
    seed: int = 0,
) -> dict[str, dict[str, float | None]]:
    """Returns the figures of `mine` less `theirs`, of all codes or of `codes`, paired: in every round on the
    same sample of the same dialogues.

    Raises:
        ValueError: the dialogues differ.
    """
    if mine.turns != theirs.turns:
        raise ValueError("the two judges did not read the same dialogues")
    first, other = (judge_figures(result, codes, rounds, seed) for result in (mine, theirs))
    parts = ("difference", "low", "high")
    return {
        name: dict(zip(parts, value_and_interval(first[name] - other[name]), strict=True)) for name in first
    }


def _f_beta(hits: Floats, accused: Floats, errors: Floats, beta: float) -> Floats:
    """Returns F beta of every round; NaN without an error, 0 without an accusation."""
    values = ratio((1 + beta**2) * hits, accused + beta**2 * errors)
    return np.where(errors > 0, values, np.nan)


TABLE_FIGURES = (*OF_ACCUSATIONS, *OF_ERRORS, FALSE, *OF_LISTED, "readable")
"""Figures of the printed table; the JSON has all."""
USAGE = ("questions", "prompt_tokens", "cached_tokens", "output_tokens", "seconds", "unquoted", "shortened")
"""Fields of `JudgeUsage` in the report."""
MAX_WITH_INTERVALS = 2
"""Maximum number of judges with intervals in the table."""


@command_options
class EvaluateConfig:
    """Options of `dialint eval judge`."""

    against: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Other judges, as --judge names one, each compared with it on the same dialogues."""
    split: str = "test"
    """Split whose dialogues are read."""
    out: Path | None = None
    """Write the report to this file, as JSON."""
    overrides: Path | None = None
    """Write what the judge's probabilities are worth, by code, into this file, for `dialint score
    --overrides`: its findings are right as often as --min-precision says. The split must be one that nothing
    was trained or chosen on, and is used up by it."""
    contract: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = ()
    """Such files of another split, that of --judge and then those of --against: measures what findings by
    them are worth here, as `dialint release promote` asks for, with some 1,000 more readings by each judge
    for attacks."""
    rounds: Annotated[int, Field(ge=0)] = 1000
    """Bootstrap rounds for the intervals."""
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of the dialogues that --limit draws."""
    device: str = "auto"
    """cpu, cuda or cuda:N for judges in this process; auto takes a GPU if there is one."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Arithmetic of judges in this process; auto takes bf16 on CUDA only."""
    threads: Annotated[int, Field(ge=1)] = field(default_factory=default_threads)
    """CPU threads; by default OMP_NUM_THREADS if it is set, else one for each core this process may use."""


def judge(
    dataset: Path,
    *,
    judge_config: Annotated[JudgeConfig, Parameter(name="*")] | None = None,
    config: Annotated[EvaluateConfig, Parameter(name="*")] | None = None,
) -> None:
    """Evaluate a judge on labelled dialogues.

    Parameters
    ----------
    dataset
        Folder of `dialint export dataset` or `dialint data inject`.
    """
    config = config or EvaluateConfig()
    report = evaluate(dataset, judge_config or JudgeConfig(), config)
    _print_report(report)
    if config.overrides is not None:
        print(f"{config.overrides}: {report['contract']}")
    if config.out is not None:
        write_json(config.out, report)


def evaluate(dataset: Path, judge_config: JudgeConfig, config: EvaluateConfig) -> dict[str, Any]:
    """Reads the split with each judge and returns the report.

    Raises:
        ConfigError: a judge that does not open, no dialogues, too many unusable answers for a contract.
        OutputRefused: the data set was changed.
        WorldError: a server is gone.
    """
    require_single_process("eval judge")
    if judge_config.judge is None:
        raise ConfigError("E_OPTION", "--judge: name the judge, for instance --judge local:FOLDER")
    require_everything(judge_config)
    names = dict.fromkeys((judge_config.judge, *config.against))
    judges = {name: replace(judge_config, judge=name) for name in names}
    check_writable(out=config.out, overrides=config.overrides)
    if config.overrides is not None and config.overrides.exists():
        read_overrides(config.overrides)
    dataset_sha256 = data_fingerprint(dataset)
    measured_on = fingerprint([dataset_sha256, config.split])
    contracts = [_read_contract(path, config.split, measured_on) for path in config.contract]
    if len(contracts) > len(judges):
        raise ConfigError("E_OPTION", f"--contract: {len(contracts)} files for {len(judges)} judges")
    if contracts and judge_config.judge_cache is not None:
        raise ConfigError("E_OPTION", "--judge-cache: with --contract the time of answers is measured")
    taxonomy = load_taxonomy(config.selection.taxonomy)
    examples = select_examples(dataset, config.split, config.selection, config.seed)
    if not examples:
        raise ConfigError("E_EXAMPLE", f"--split {config.split}: {dataset} holds no dialogue there")
    codes = frozenset(requested_codes(dataset, config.split, config.selection))
    results = {
        name: _read(own, config, taxonomy, examples, codes, own_contract)
        for (name, own), own_contract in zip_longest(judges.items(), contracts)
    }
    first = next(iter(results.values()))
    contract = None
    if config.overrides is not None:
        require_readable(first.detector.release, first.result)
        trained, precision = judge_config.trained, judge_config.min_precision
        own_codes = codes if trained is None else codes & set(trained.codes)
        contract = fit_contract(
            first.detector.release, first.result, taxonomy, own_codes, precision, measured_on
        )
        update_overrides(config.overrides, None, judge=contract)
    return {
        "kind": "judges",
        "dataset": dataset_sha256,
        "split": config.split,
        "codes": sorted(codes),
        "rounds": config.rounds,
        "versions": package_versions("dialint", "torch", "transformers", "peft"),
        **compare_judges(results, taxonomy, config.rounds),
        **({} if contract is None else {"contract": describe_contract(contract)}),
    }


def _read_contract(path: Path, split: str, measured_on: str) -> JudgeContract:
    contract = read_overrides(path).judge
    if contract is None or contract.measured_on == measured_on:
        why = "no contract of a judge" if contract is None else f"measured on the split {split} itself"
        raise ConfigError("E_OPTION", f"--contract {path}: {why}")
    return contract


@dataclass(frozen=True)
class JudgeResults:
    """The results of a judge: its listed errors against the labels, its usage, the fingerprint of its folder
    if it may be promoted (`release`), and `count_unlike_base`. With a `contract` also its verdicts (`served`)
    and the `figures` of `dialint eval attack`."""

    detector: Detector
    result: Comparison
    usage: JudgeUsage
    release: str | None = None
    unlike_base: tuple[int, int] | None = None
    contract: JudgeContract | None = None
    served: Results = ()
    attacks: Mapping[str, Any] | None = None


def compare_judges(
    results: Mapping[str, JudgeResults], taxonomy: Taxonomy, rounds: int = 1000
) -> dict[str, Any]:
    """Returns the part of the report that `dialint.eval.gates` reads: figures of each judge, the first one
    less each other one, and under `served` those of verdicts by contract, as a set of `dialint eval run`."""
    first, *others = results.values()
    content = None
    if first.contract is not None:
        served = {name: own for name, own in results.items() if own.contract is not None and own is not first}
        detectors = {name: own.detector for name, own in served.items()}
        theirs = {name: own.served for name, own in served.items()}
        content, _ = evaluate_against(first.detector, first.served, detectors, theirs, rounds)
    return {
        "judges": {
            name: {
                "name": own.detector.release,
                "release": own.release,
                **summarize_judge(own.result, taxonomy, rounds),
                "usage": {each: getattr(own.usage, each) for each in USAGE},
                "unlike_base": own.unlike_base,
                "contract": own.contract and own.contract.precision,
                "attacks": own.attacks,
            }
            for name, own in results.items()
        },
        "differences": {
            name: judge_difference(first.result, other.result, rounds=rounds)
            for name, other in zip(list(results)[1:], others, strict=True)
        },
        "served": content,
    }


def _read(
    judge_config: JudgeConfig,
    config: EvaluateConfig,
    taxonomy: Taxonomy,
    examples: Sequence[Example],
    codes: frozenset[str],
    contract: JudgeContract | None,
) -> JudgeResults:
    from dialint.detector.engines.judge_engines import open_judge

    kind, folder = parse_judge(judge_config.judge or "")
    release = None
    if kind == "local":
        import torch

        torch.set_num_threads(config.threads)
        with suppress(UserError):  # a base, which nobody promotes
            release = verify_folder(Path(folder)).fingerprint
    bf16 = {"auto": None, "fp32": False, "bf16": True}[config.precision]
    options = StageOptions.of(judge_config, codes, overrides=Overrides(judge=contract))
    dialogues = [example.dialogue for example in examples]
    with closing(open_judge(judge_config, device=config.device, bf16=bf16)) as engine:
        if contract is not None and not engine.name.startswith(contract.judge):  # a promoted copy adds a hash
            raise ConfigError("E_OPTION", f"--contract: of {contract.judge}, and the judge is {engine.name}")
        detector = JudgeDetector(engine, taxonomy, options).with_log(profile_log(dialogues))
        cases = detector.reader.read(dialogues)
        measured = JudgeResults(
            detector, compare(cases, examples, codes), replace(detector.reader.usage), release
        )
        if contract is not None:
            labelled = [
                example.model_copy(update={"unlabelled": (*example.unlabelled, *case.unmet, *others)})
                for example, case in zip(examples, cases, strict=True)
                for others in [{label.code for label in example.labels} - codes]
            ]
            served = list(zip(labelled, map(detector.decide, cases), strict=True))
            attacks = gate_attacks(detector, examples)
            measured = replace(measured, contract=contract, served=served, attacks=attacks)
        unlike_base = count_unlike_base(engine, taxonomy, options, examples) if kind == "local" else None
    return replace(measured, unlike_base=unlike_base)


def describe_contract(contract: JudgeContract) -> str:
    """Formats a contract on one line: the codes of findings, and those of suggestions only."""
    accusing = [code for code, own in contract.codes.items() if own.threshold is not None]
    rest = [code for code, own in contract.codes.items() if own.threshold is None]
    return (
        f"{contract.right} of {contract.listed} listed errors right, {contract.found} of {contract.labels} "
        f"labels found on {contract.dialogues} dialogues; findings for {' '.join(accusing) or 'no code'}"
        + (f", suggestions only for {' '.join(rest)}" if rest else "")
    )


def _print_report(report: dict[str, Any]) -> None:
    from rich.table import Table

    judges = report["judges"]
    has_intervals = len(judges) <= MAX_WITH_INTERVALS
    first = next(iter(judges.values()))
    console = make_console()
    table = Table(
        title=f"{report['split']}, {first['dialogues']} dialogues, {first['errors']} errors",
        caption="95 % intervals by dialogue" + ("" if has_intervals else ": in --out"),
    )
    table.add_column("figure")
    for own in judges.values():
        table.add_column(own["name"])
    for figure in TABLE_FIGURES:
        table.add_row(figure, *(_format(own, figure, has_intervals) for own in judges.values()))
    for name in ("accusations", "listed", "second_looks", "questions", "prompt_tokens", "output_tokens"):
        table.add_row(name, *(f"{(own | own['usage'])[name]:,}" for own in judges.values()))
    rates = (own["usage"]["questions"] / (own["usage"]["seconds"] or 1) for own in judges.values())
    table.add_row("questions a second", *(f"{rate:.2f}" for rate in rates))
    console.print(table)
    parts = Table(title=f"{first['name']}, by family of codes and by severity")
    for column in ("codes", "errors", "accusations", "precision", "recall", "f_half"):
        parts.add_column(column)
    for name, own in (*first["by_family"].items(), *first["by_severity"].items()):
        figures = (_format(own, figure, True) for figure in ("precision", "recall", "f_half"))
        parts.add_row(name, str(own["errors"]), str(own["accusations"]), *figures)
    if first["by_family"]:
        console.print(parts)
    if report["served"] is not None:
        console.print(_group_table(report["served"], f"{first['name']}, by its contract, in groups"))
    for own in judges.values():
        if own["attacks"] is not None:
            print(f"{own['name']}, attacks: {describe_rates(own['attacks'])}")
        if own["failures"]:
            failed = ", ".join(f"{n} {failure}" for failure, n in sorted(own["failures"].items()))
            print(f"{own['name']}: dialogues without a usable answer: {failed}")


def _group_table(content: Mapping[str, Any], title: str) -> Table:
    """Makes a table with a row for each group of dialogues, with the figures of its gate."""
    from rich.table import Table

    figures = ("wrong_findings_per_100_turns", "recall_of_errors")
    table = Table(title=title)
    for column in ("", "group", "turns", "errors", "false accusations for 100 turns", "errors found"):
        table.add_column(column)
    for kind in GROUPS:
        for part, own in content["slices"][kind].items():
            rows = [{name: own[name][0], f"{name}_95": own[name][1:]} for name in figures]
            cells = (_format(row, name, True) for row, name in zip(rows, figures, strict=True))
            table.add_row(kind, part, str(own["turns"]), str(own["errors"]), *cells)
    return table


def _format(figures: dict[str, Any], name: str, has_intervals: bool) -> str:
    value, (low, high) = figures[name], figures.get(f"{name}_95", (None, None))
    if value is None:
        return ""
    return f"{value:.3f}" + (f" ({low:.3f} to {high:.3f})" if has_intervals and low is not None else "")
