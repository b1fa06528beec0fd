"""Trains a reward model: which of two readings of a dialogue people prefer.

    dialint train reward --dataset build/dataset --base build/judge --out build/reward

Reads the preferences and labels of a data set's folder. The model is a base with a scalar head at the end of
the answer, trained with adapters on the judge's base (from the judge's weights, where all of them were
trained). Writes a model folder, whose manifest has accuracy and calibration on held-out pairs beside those of
a baseline (`rewards/reward_trainer.py`). `dialint train ppo` and `dialint train grpo` use it.
"""

from __future__ import annotations

import sys
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dialint.detector.artifacts import make_output_folder
from dialint.detector.option_ranges import command_options
from dialint.eval.labelled import SelectionConfig
from dialint.finetune.judge.stage import prepare
from dialint.finetune.train.adapters import AdapterOptions, require_positions
from dialint.finetune.train.options import RunOptions, ScheduleOptions


@command_options
class RewardConfig:
    """Options of `dialint train reward`."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    base: str
    """The judge that will be rewarded, or a base model."""
    out: Path
    """Folder for the reward model."""
    pairs: Annotated[int, Field(ge=1)] = 8
    """Pairs in one forward pass (batch size)."""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-4
    """Peak learning rate."""
    prompt_tokens: Annotated[int, Field(ge=64)] = 2048
    """Maximum tokens of a prompt; a longer dialogue is asked about in parts."""
    detail: Literal["full", "short"] = "short"
    """Code entries in the prompt: definition and examples (full), or the test alone (short)."""
    dev_pairs: Annotated[int, Field(ge=1)] = 400
    """Pairs of the dev split that are evaluated during training."""
    held_pairs: Annotated[int, Field(ge=1)] = 2000
    """Pairs of the dev split that are evaluated at the end."""
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    learning: ScheduleOptions = field(default_factory=ScheduleOptions)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)


def run(config: RewardConfig) -> dict[str, Any]:
    """Trains a reward model and returns its manifest.

    Raises:
        OutputRefused: `out` has a finished model, or a checkpoint of another job.
        ConfigError: a base that does not load, no pairs.
    """
    from datasets import Dataset
    from transformers import EarlyStoppingCallback
    from trl import RewardConfig as TrainerConfig

    from dialint.finetune.rewards.reward_trainer import (
        AgreementCollator,
        JudgeRewardTrainer,
        evaluate_held_out,
        tokenize_pairs,
    )
    from dialint.finetune.train.distributed import whole_weights
    from dialint.finetune.train.hf_trainer import build_trainer_config, run_trainer, schedule_arguments

    context = prepare(config, "train", "dev", rows=2 * config.pairs, task_type="SEQ_CLS")
    train_pairs, dev_pairs = context.read_pairs("train"), context.read_pairs("dev")
    model, prompt = context.load_model(), context.prompt
    model.config.pad_token_id = prompt.tokenizer.pad_token_id
    arguments = build_trainer_config(
        TrainerConfig,
        config.running,
        config.out,
        model,
        per_device_train_batch_size=config.pairs,
        learning_rate=config.learning_rate,
        **schedule_arguments(config.learning, "log_loss"),
        max_length=None,
    )
    rows, dev_rows = tokenize_pairs(train_pairs, prompt), tokenize_pairs(dev_pairs, prompt)
    sides = ("chosen_ids", "rejected_ids")
    require_positions(model, max(len(row[side]) for row in (*rows, *dev_rows) for side in sides))
    trainer = JudgeRewardTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(dev_rows[:1]),  # `evaluate` takes all of its rows
        processing_class=prompt.tokenizer,
        data_collator=AgreementCollator(pad_token_id=prompt.tokenizer.pad_token_id),
    )
    trainer.dev_rows = dev_rows[: config.dev_pairs]
    trainer.add_callback(EarlyStoppingCallback(early_stopping_patience=config.learning.patience))
    make_output_folder(config.out)
    model, run_figures = run_trainer(trainer, config.out, context.job, config.running)
    with whole_weights(trainer):
        by_origin = evaluate_held_out(
            model,
            prompt.tokenizer.pad_token_id,
            train_pairs,
            dev_pairs[: config.held_pairs],
            dev_rows[: config.held_pairs],
        )
    for origin, figures in by_origin.items():
        print(
            f"{figures['pairs']} held-out pairs of {origin}: accuracy of the reward model "
            f"{figures['accuracy']:.3f}, of the answers alone {figures['answer_only']['accuracy']:.3f}",
            file=sys.stderr,
        )
    return context.save("reward", model, {**run_figures, "pairs": len(train_pairs), "held_out": by_origin})
