"""The judge's exam: held-out questions that people answered, alone or against other judges.

    dialint eval judge build/dataset --judge build/aligned --against build/judge --out report.json

Reads one split of a data set's folder, labelled and unlabelled questions alike: those drawn at random stand
for all that were not asked. Writes a table, and with ``--out`` the same as JSON, never with dialogue text.
Trains and tunes nothing: nothing of the split may have been learnt from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from dialint.detector.artifacts import package_versions, read_manifest, write_json
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import find_set, list_sets
from dialint.eval.questions import QuestionConfig
from dialint.finetune.base_models import loading
from dialint.finetune.judge.context import REWARD_MODEL
from dialint.finetune.train.options import RunOptions

SHOWN = (
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
"""Figures of the table; the JSON has all."""
WITH_INTERVALS = 2
"""Judges beside whose figures a table has room for intervals."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ExamConfig:
    """Who is examined, and on what."""

    judge: str
    """Folder of the judge."""
    against: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Other judges, each compared with it question by question."""
    split: str = "test"
    """Split that is asked of."""
    out: Path | None = None
    """Report as JSON."""
    rounds: int = 1000
    """Bootstrap rounds for the intervals."""
    asking: QuestionConfig = field(default_factory=QuestionConfig)
    seed: int = 1
    """Seed of the questions that are drawn."""
    device: str = "auto"
    """cpu, cuda or cuda:N; auto takes a GPU if there is one."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Arithmetic of the judges; auto takes bf16 on CUDA only."""
    threads: int = 2
    """CPU threads."""

    @property
    def running(self) -> RunOptions:
        """How the judges run."""
        return RunOptions(seed=self.seed, device=self.device, precision=self.precision, threads=self.threads)


def judge(dataset: Path, *, config: Annotated[ExamConfig, Parameter(name="*")]) -> None:
    """Measure a judge on held-out questions, alone or against others."""
    report = examine(dataset, config)
    _show(report)
    if config.out is not None:
        write_json(config.out, report)


def examine(dataset: Path, config: ExamConfig) -> dict[str, Any]:
    """The report.

    Raises:
        ConfigError: an option out of its range, a judge that does not load, no questions.
    """
    import torch

    from dialint.eval.judge_metrics import judge_difference, run_judge, summarize_judge
    from dialint.eval.questions import count_agent_turns, read_questions
    from dialint.eval.run import check_writable
    from dialint.finetune.train.distributed import require_single_process
    from dialint.finetune.train.lineage import data_fingerprint

    require_single_process("eval judge")
    config.running.refuse()
    if config.rounds < 0:
        raise ConfigError("E_OPTION", "--rounds must not be negative")
    if config.out is not None:
        check_writable(config.out)
    if dataset.is_dir() and find_set(dataset, config.split) is None:
        splits = ", ".join(list_sets(dataset)) or "none"
        raise ConfigError(
            "E_EXAMPLE", f"--split {config.split}: {dataset} has no such split; it has {splits}"
        )
    torch.set_num_threads(config.threads)
    asked = read_questions(dataset, config.split, config.asking, config.seed)
    if not asked:
        raise ConfigError(
            "E_EXAMPLE",
            f"--split {config.split}: holds no question; {dataset} has {', '.join(list_sets(dataset))}",
        )
    turns = count_agent_turns(dataset, config.split, config.asking, config.seed)
    rulings = {
        name: run_judge(load(name, config.running), asked)
        for name in dict.fromkeys((config.judge, *config.against))
    }
    mine = rulings[config.judge]
    return {
        "kind": "judges",
        "dataset": data_fingerprint(dataset),
        "split": config.split,
        "rounds": config.rounds,
        "versions": package_versions("dialint", "torch", "transformers", "peft"),
        "judges": {
            name: summarize_judge(own, turns, config.rounds) | reward_model_of(Path(name))
            for name, own in rulings.items()
        },
        "differences": {
            name: judge_difference(mine, rulings[name], turns, config.rounds) for name in config.against
        },
    }


def reward_model_of(folder: Path) -> dict[str, Any]:
    """What the reward model that aligned a judge gets right of held-out pairs, beside what the answers alone
    tell; nothing where none did."""
    path = folder / loading.MANIFEST
    figures = read_manifest(path).get("figures", {}) if path.exists() else {}
    return {REWARD_MODEL: figures[REWARD_MODEL]} if REWARD_MODEL in figures else {}


def load(folder: str, running: RunOptions) -> Any:
    """The judge of a folder, ready to answer.

    Raises:
        ConfigError: E_BASE, E_ADAPTER or E_JUDGE.
    """
    from dialint.detector.engines.judge_local import LocalJudge
    from dialint.finetune.judge.model_folder import judge_source, load_prompt
    from dialint.finetune.train.arguments import resolve_device, uses_bf16
    from dialint.finetune.train.options import AdapterOptions

    source = judge_source(folder)
    prompt = load_prompt(source)
    bf16 = uses_bf16(running)
    model = loading.load_model(
        source, AdapterOptions(adapter="none"), trainable=False, device=resolve_device(running), bf16=bf16
    )
    return LocalJudge(model.eval(), prompt, bf16=bf16)


def _show(report: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    judges = report["judges"]
    wide = len(judges) <= WITH_INTERVALS
    asked = next(iter(judges.values()))
    title = f"{report['split']}, {asked['questions']} questions, {asked['errors']} errors"
    table = Table(title=title, caption="95 % intervals by dialogue" + ("" if wide else ": in --out"))
    table.add_column("figure")
    for name in judges:
        table.add_column(Path(name).name)
    for figure in SHOWN:
        table.add_row(figure, *(_cell(own, figure, wide) for own in judges.values()))
    Console(markup=False, emoji=False).print(table)
    for name, own in judges.items():
        for origin, part in own.get(REWARD_MODEL, {}).items():
            told = f"right on {part['accuracy']:.3f} of held-out pairs of {origin}, the answers alone on"
            print(f"{Path(name).name}: its reward model is {told} {part['answer_only']['accuracy']:.3f}")


def _cell(own: dict[str, Any], figure: str, wide: bool) -> str:
    value, (low, high) = own[figure], own[f"{figure}_95"]
    if value is None:
        return ""
    return f"{value:.3f}" + (f" ({low:.3f} to {high:.3f})" if wide and low is not None else "")
