"""Evaluates judges on dialogues of a data set that people labelled, alone or against others.

    dialint eval judge build/dataset --judge build/aligned --against build/judge --out report.json
    dialint eval judge build/dataset --judge http:http://127.0.0.1:8000/v1 --split dev --overrides team.yaml

Each judge reads the dialogues of one split as `dialint score --judge` has it do, and what it lists is
compared with their labels. Prints tables, and with ``--out`` writes the report as JSON, without dialogue
text. With ``--overrides`` writes what the judge's probabilities are worth, for `dialint score`. Trains
nothing: the split must not have been used in training.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import data_fingerprint, package_versions, write_json
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError
from dialint.detector.interface import JudgeUsage, default_threads
from dialint.detector.judge.config import JudgeConfig, parse_judge
from dialint.detector.judge.stage import StageOptions
from dialint.detector.option_ranges import command_options
from dialint.detector.overrides import JudgeContract, read_overrides, update_overrides
from dialint.detector.records import Example
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.eval.judge_measure import (
    Comparison,
    fit_contract,
    measure,
    require_everything,
    require_readable,
)
from dialint.eval.judge_metrics import judge_difference, summarize_judge
from dialint.eval.labelled import SelectionConfig, asked_codes, select_examples
from dialint.eval.run import check_writable, make_console

TABLE_FIGURES = (
    "precision",
    "recall",
    "f_half",
    "f1",
    "right_turns",
    "false_accusations_per_100_turns",
    "average_precision",
    "brier",
    "calibration_error",
    "quote_overlap",
    "readable",
)
"""Figures of the table on the screen; the JSON has all."""
USAGE = ("questions", "prompt_tokens", "cached_tokens", "output_tokens", "seconds", "unquoted", "shortened")
"""What reading took, as `JudgeUsage` counts it."""
MAX_WITH_INTERVALS = 2
"""Number of judges up to which the table has room for intervals."""


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
    asked: Annotated[JudgeConfig, Parameter(name="*")] | None = None,
    config: Annotated[EvaluateConfig, Parameter(name="*")] | None = None,
) -> None:
    """Evaluate a judge on labelled dialogues.

    Parameters
    ----------
    dataset
        Folder of `dialint export dataset` or `dialint data inject`.
    """
    config = config or EvaluateConfig()
    report = evaluate(dataset, asked or JudgeConfig(), config)
    _print_report(report)
    if config.overrides is not None:
        print(f"{config.overrides}: {report['contract']}")
    if config.out is not None:
        write_json(config.out, report)


def evaluate(dataset: Path, asked: JudgeConfig, config: EvaluateConfig) -> dict[str, Any]:
    """The report.

    Raises:
        ConfigError: a judge that does not open, no dialogues, unusable answers where a contract is asked for.
        OutputRefused: the data set was changed.
        WorldError: a server is gone.
    """
    require_single_process("eval judge")
    if asked.judge is None:
        raise ConfigError("E_OPTION", "--judge: name the judge, for instance --judge local:FOLDER")
    require_everything(asked)
    judges = {name: replace(asked, judge=name) for name in dict.fromkeys((asked.judge, *config.against))}
    check_writable(out=config.out, overrides=config.overrides)
    if config.overrides is not None and config.overrides.exists():
        read_overrides(config.overrides)
    taxonomy = load_taxonomy(config.selection.taxonomy)
    examples = select_examples(dataset, config.split, config.selection, config.seed)
    if not examples:
        raise ConfigError("E_EXAMPLE", f"--split {config.split}: {dataset} holds no dialogue there")
    codes = frozenset(asked_codes(dataset, config.split, config.selection))
    results = {name: _read(own, config, taxonomy, examples, codes) for name, own in judges.items()}
    result, _, name_of_first = next(iter(results.values()))
    contract = None
    if config.overrides is not None:
        require_readable(name_of_first, result)
        own_codes = codes if asked.trained is None else codes & set(asked.trained.codes)
        contract = fit_contract(name_of_first, result, taxonomy, own_codes, asked.min_precision)
        update_overrides(config.overrides, None, judge=contract)
    return {
        "kind": "judges",
        "dataset": data_fingerprint(dataset),
        "split": config.split,
        "codes": sorted(codes),
        "rounds": config.rounds,
        "versions": package_versions("dialint", "torch", "transformers", "peft"),
        "judges": {
            name: {
                "name": own_name,
                **summarize_judge(own, taxonomy, config.rounds),
                "usage": {each: getattr(usage, each) for each in USAGE},
            }
            for name, (own, usage, own_name) in results.items()
        },
        "differences": {
            name: judge_difference(result, results[name][0], config.rounds) for name in config.against
        },
        **({} if contract is None else {"contract": describe_contract(contract)}),
    }


def _read(
    asked: JudgeConfig,
    config: EvaluateConfig,
    taxonomy: Taxonomy,
    examples: list[Example],
    codes: frozenset[str],
) -> tuple[Comparison, JudgeUsage, str]:
    """What a judge lists in the dialogues against their labels, what it took, and its name."""
    from dialint.detector.engines.judge_engines import open_judge

    if parse_judge(asked.judge or "")[0] == "local":
        import torch

        torch.set_num_threads(config.threads)
    bf16 = {"auto": None, "fp32": False, "bf16": True}[config.precision]
    options = StageOptions.of(asked, codes)
    with closing(open_judge(asked, device=config.device, bf16=bf16)) as engine:
        return *measure(engine, taxonomy, options, examples, codes), engine.name


def describe_contract(contract: JudgeContract) -> str:
    """One line: which codes may accuse from now on, and which are only suggested."""
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
    for name in ("accusations", "listed", "second_looks"):
        table.add_row(name, *(str(own[name]) for own in judges.values()))
    for name in ("questions", "prompt_tokens", "output_tokens"):
        table.add_row(name, *(f"{own['usage'][name]:,}" for own in judges.values()))
    console.print(table)
    parts = Table(title=f"{first['name']}, by family of codes and by severity")
    for column in ("codes", "errors", "accusations", "precision", "recall", "f_half"):
        parts.add_column(column)
    for name, own in (*first["by_family"].items(), *first["by_severity"].items()):
        figures = (_format(own, figure, True) for figure in ("precision", "recall", "f_half"))
        parts.add_row(name, str(own["errors"]), str(own["accusations"]), *figures)
    if first["by_family"]:
        console.print(parts)
    for own in judges.values():
        if own["failures"]:
            failed = ", ".join(f"{n} {failure}" for failure, n in sorted(own["failures"].items()))
            print(f"{own['name']}: dialogues without a usable answer: {failed}")


def _format(figures: dict[str, Any], name: str, has_intervals: bool) -> str:
    value, (low, high) = figures[name], figures.get(f"{name}_95", (None, None))
    if value is None:
        return ""
    return f"{value:.3f}" + (f" ({low:.3f} to {high:.3f})" if has_intervals and low is not None else "")
