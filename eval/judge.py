"""Evaluates a judge on held-out questions that people answered, alone or against other judges.

    dialint eval judge build/dataset --judge build/aligned --against build/judge --out report.json

Reads one split of a data set's folder, labelled and unlabelled questions alike: the randomly sampled ones
stand for all that are not asked. Prints a table, and with ``--out`` writes the report as JSON, without
dialogue text. Trains and tunes nothing: the split must not have been used in training.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import MANIFEST, package_versions, read_manifest, write_json
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import find_set, list_sets
from dialint.detector.interface import default_threads
from dialint.detector.manifests import Model
from dialint.detector.option_ranges import check_ranges
from dialint.eval.questions import QuestionConfig

TABLE_FIGURES = (
    "f1",
    "precision",
    "recall",
    "false_accusations_per_100_turns",
    "average_precision",
    "token_average_precision",
    "token_recall_at_1_false",
    "brier",
    "calibration_error",
    "token_calibration_error",
    "quote_overlap",
    "readable",
    "accused",
)
"""Figures of the table on the screen; the JSON has all."""
REWARD_MODEL = "reward_model"
"""Key of the figures of the reward model that a judge was aligned with."""
MAX_WITH_INTERVALS = 2
"""Number of judges up to which the table has room for intervals."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EvaluateConfig:
    """Options of `dialint eval judge`."""

    judge: str
    """Folder of the judge."""
    against: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Other judges, each compared with it question by question."""
    split: str = "test"
    """Split whose questions are asked."""
    out: Path | None = None
    """Write the report to this file, as JSON."""
    overrides: Path | None = None
    """Write what the judge's probabilities are worth, by code, into this file, for `dialint score
    --overrides`. The split must be one that nothing was trained or chosen on, and is used up by it."""
    contract_precision: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """Share of right findings that a code's threshold must reach on the split; codes that do not are only
    suggested."""
    rounds: Annotated[int, Field(ge=0)] = 1000
    """Bootstrap rounds for the intervals."""
    question_config: QuestionConfig = field(default_factory=QuestionConfig)
    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of the questions that are sampled."""
    device: str = "auto"
    """cpu, cuda or cuda:N; auto takes a GPU if there is one."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Arithmetic of the judges; auto takes bf16 on CUDA only."""
    threads: Annotated[int, Field(ge=1)] = field(default_factory=default_threads)
    """CPU threads; by default OMP_NUM_THREADS if it is set, else one for each core this process may use."""

    def __post_init__(self) -> None:
        check_ranges(self)


def judge(dataset: Path, *, config: Annotated[EvaluateConfig, Parameter(name="*")]) -> None:
    """Evaluate a judge on held-out questions.

    Parameters
    ----------
    dataset
        Folder of `dialint export dataset` or `dialint data inject`.
    """
    report = evaluate(dataset, config)
    _print_report(report)
    if config.overrides is not None:
        print(f"{config.overrides}: {report['contract']}")
    if config.out is not None:
        write_json(config.out, report)


def evaluate(dataset: Path, config: EvaluateConfig) -> dict[str, Any]:
    """The report.

    Raises:
        ConfigError: a judge that does not load, no questions.
    """
    import torch

    from dialint.detector.artifacts import data_fingerprint
    from dialint.detector.engines.judge_local import load_judge
    from dialint.detector.engines.local import resolve_device
    from dialint.detector.environment import require_single_process
    from dialint.detector.overrides import read_overrides, update_overrides
    from dialint.eval.judge_metrics import (
        describe_contract,
        fit_judge_contract,
        judge_difference,
        run_judge,
        summarize_judge,
    )
    from dialint.eval.questions import count_agent_turns, read_questions
    from dialint.eval.run import check_writable

    require_single_process("eval judge")
    device = resolve_device(config.device)
    bf16 = config.precision == "bf16" or (config.precision == "auto" and device != "cpu")
    for path in (config.out, config.overrides):
        if path is not None:
            check_writable(path)
    if config.overrides is not None and config.overrides.exists():
        read_overrides(config.overrides)
    if dataset.is_dir() and find_set(dataset, config.split) is None:
        splits = ", ".join(list_sets(dataset)) or "none"
        raise ConfigError(
            "E_EXAMPLE", f"--split {config.split}: {dataset} has no such split; it has {splits}"
        )
    torch.set_num_threads(config.threads)
    questions = read_questions(dataset, config.split, config.question_config, config.seed)
    if not questions:
        raise ConfigError(
            "E_EXAMPLE",
            f"--split {config.split}: holds no question; {dataset} has {', '.join(list_sets(dataset))}",
        )
    turns = count_agent_turns(dataset, config.split, config.question_config, config.seed)
    results = {
        name: run_judge(load_judge(name, device=device, bf16=bf16), questions)
        for name in dict.fromkeys((config.judge, *config.against))
    }
    contract = None
    if config.overrides is not None:
        name = Path(config.judge).name
        contract = fit_judge_contract(name, results[config.judge], config.contract_precision)
        update_overrides(config.overrides, None, judge=contract)
    return {
        "kind": "judges",
        "dataset": data_fingerprint(dataset),
        "split": config.split,
        "rounds": config.rounds,
        "versions": package_versions("dialint", "torch", "transformers", "peft"),
        "judges": {
            name: summarize_judge(own, turns, config.rounds) | reward_model_figures(Path(name))
            for name, own in results.items()
        },
        "differences": {
            name: judge_difference(results[config.judge], results[name], turns, config.rounds)
            for name in config.against
        },
        **({} if contract is None else {"contract": describe_contract(contract)}),
    }


def reward_model_figures(folder: Path) -> dict[str, Any]:
    """The held-out figures of the reward model that a judge was aligned with, from its manifest; empty
    without one."""
    path = folder / MANIFEST
    figures = read_manifest(path, expected=Model).get("figures", {}) if path.exists() else {}
    return {REWARD_MODEL: figures[REWARD_MODEL]} if REWARD_MODEL in figures else {}


def _print_report(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    judges = report["judges"]
    has_intervals = len(judges) <= MAX_WITH_INTERVALS
    first = next(iter(judges.values()))
    title = f"{report['split']}, {first['questions']} questions, {first['errors']} errors"
    caption = "95 % intervals by dialogue" + ("" if has_intervals else ": in --out")
    table = Table(title=title, caption=caption)
    table.add_column("figure")
    for name in judges:
        table.add_column(Path(name).name)
    for figure in TABLE_FIGURES:
        table.add_row(figure, *(_format(own, figure, has_intervals) for own in judges.values()))
    Console(markup=False, emoji=False).print(table)
    for name, own in judges.items():
        for origin, part in own.get(REWARD_MODEL, {}).items():
            accuracy, baseline = part["accuracy"], part["answer_only"]["accuracy"]
            print(
                f"{Path(name).name}: accuracy of its reward model on held-out pairs of {origin} "
                f"{accuracy:.3f}, of the answers alone {baseline:.3f}"
            )


def _format(figures: dict[str, Any], name: str, has_intervals: bool) -> str:
    value, (low, high) = figures[name], figures[f"{name}_95"]
    if value is None:
        return ""
    return f"{value:.3f}" + (f" ({low:.3f} to {high:.3f})" if has_intervals and low is not None else "")
