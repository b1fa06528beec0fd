"""Aligns a judge with preferences directly, without a reward model, by DPO.

    dialint train prefer --dataset build/dataset --base build/judge --out build/aligned

Reads the pairs of readings of a data set's folder (`rewards/pairs.py`), those of reviewers before those from
labels, as many as the steps need. Writes a model folder as SFT does. Uses trl's trainer, with the pairs' mean
disagreement as label smoothing.

Source: Rafailov et al. 2023, Direct preference optimization.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import command_options
from dialint.eval.labelled import SelectionConfig
from dialint.finetune.judge.stage import prepare
from dialint.finetune.train.adapters import AdapterOptions, require_positions
from dialint.finetune.train.options import RunOptions

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.finetune.rewards.pairs import PreferencePair


SIDES = ("chosen_ids", "rejected_ids")


@command_options
class PreferConfig:
    """Options of `dialint train prefer`."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    base: str
    """The judge: a folder of `dialint train sft judge`."""
    out: Path
    """Folder for the aligned judge."""
    steps: Annotated[int, Field(ge=1)] = 200
    """Training steps."""
    pairs: Annotated[int, Field(ge=1)] = 8
    """Pairs in one step."""
    accumulate: Annotated[int, Field(ge=1)] = 1
    """Forward passes that a step's pairs are split into: less memory, the same step."""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-5
    """Peak learning rate."""
    kl: Annotated[float, Field(gt=0)] = 0.1
    """Weight of the KL divergence from the initial judge (beta)."""
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        if self.pairs % self.accumulate:
            raise ConfigError("E_OPTION", "--accumulate must divide --pairs")


def run(config: PreferConfig) -> dict[str, Any]:
    """Trains a judge and returns its manifest.

    Raises:
        OutputRefused: `out` has a finished judge, or a checkpoint of another job.
        ConfigError: a judge that does not load, no pairs.
    """
    from accelerate import PartialState

    from dialint.finetune.train.hf_trainer import run_trainer

    context = prepare(config, "train", rows=2 * config.pairs // config.accumulate)
    pairs = context.read_pairs("train")[: config.steps * config.pairs * PartialState().num_processes]
    trainer = _build_trainer(config, context.load_model(), context.prompt, pairs)
    return context.save("judge", *run_trainer(trainer, config.out, context.job, config.running))


def _build_trainer(
    config: PreferConfig, model: Any, prompt: JudgePrompt, pairs: Sequence[PreferencePair]
) -> Any:
    from datasets import Dataset
    from trl import DPOConfig

    from dialint.finetune.judge.trl_trainers import JudgeDPOTrainer
    from dialint.finetune.train.hf_trainer import build_trainer_config

    rows = [
        {  # in the token ids of SFT and scoring: a chat template renders a finished answer differently from
            # one that is to be generated (an empty ``<think>`` block, a line end after the last token)
            "prompt_ids": prompt.of_chat(pair.item.question.messages),
            "chosen_ids": prompt.answer_ids(pair.chosen),
            "rejected_ids": prompt.answer_ids(pair.rejected),
        }
        for pair in pairs
    ]
    require_positions(model, max(len(row["prompt_ids"]) + len(row[side]) for row in rows for side in SIDES))
    disagreement = 1 - sum(pair.agreement for pair in pairs) / len(pairs)
    arguments = build_trainer_config(
        DPOConfig,
        config.running,
        config.out,
        model,
        per_device_train_batch_size=config.pairs // config.accumulate,
        gradient_accumulation_steps=config.accumulate,
        max_steps=config.steps,
        learning_rate=config.learning_rate,
        warmup_steps=0,
        beta=config.kl,
        max_length=None,
        label_smoothing=min(disagreement, 0.49),
    )
    return JudgeDPOTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        processing_class=prompt.tokenizer,
    )
