"""Supervised fine-tuning of a judge: readings of whole dialogues, with the loss on the answer alone.

    dialint train sft judge --dataset build/dataset --base Qwen/Qwen3-1.7B --out build/judge

Reads the ``train`` and ``dev`` splits of a data set's folder, and a base model. Writes a model folder: the
adapter with ``base.json``, or all weights; the tokenizer, ``judge.json``, ``metrics.jsonl`` and last the
manifest. A stopped run resumes from its last complete checkpoint. Uses trl's trainer. The target probability
of an error is the posterior of its label. The weights with the lowest loss on dev are saved; the figures of
the judge's own answers are logged too. With ``--private-epsilon`` `dialint.finetune.judge.private_sft`
trains.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from dialint.detector.artifacts import make_output_folder
from dialint.detector.environment import require_library, require_single_process
from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import command_options
from dialint.eval.labelled import LabelledQuestion, SelectionConfig
from dialint.finetune.judge.stage import prepare
from dialint.finetune.train.adapters import AdapterOptions, require_positions
from dialint.finetune.train.options import RunOptions, ScheduleOptions

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt


@command_options
class SftJudgeConfig:
    """Options of `dialint train sft judge`."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    base: str
    """Base model: a folder, one of an earlier stage, small_decoder (it ships), smollm2 (`dialint base
    fetch`), or a name on a hub, org/name or org/name@revision."""
    out: Path
    """Folder for the judge."""
    questions: Annotated[int, Field(ge=1)] = 8
    """Questions (dialogues, or parts of long ones) in one forward pass (batch size)."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    """Peak learning rate."""
    prompt_tokens: Annotated[int, Field(ge=64)] = 2048
    """Maximum tokens of a prompt; a longer dialogue is asked about in parts."""
    detail: Literal["full", "short"] = "short"
    """Code entries in the prompt: definition and examples (full), or the test alone (short)."""
    dev_questions: Annotated[int, Field(ge=1)] = 400
    """Questions of the dev split whose loss is computed at each evaluation."""
    dev_answers: Annotated[int, Field(ge=0)] = 64
    """Questions of the dev split that the judge answers at each evaluation."""
    private_epsilon: Annotated[float | None, Field(gt=0)] = None
    """Train with differential privacy: the epsilon of what a single dialogue may change."""
    private_delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5
    """The delta beside --private-epsilon; must be far below one over the number of dialogues."""
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    learning: ScheduleOptions = field(default_factory=ScheduleOptions)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)


def run(config: SftJudgeConfig) -> dict[str, Any]:
    """Trains a judge and returns its manifest.

    Raises:
        OutputRefused: `out` has a finished judge, or a checkpoint of another job.
        ConfigError: a base that does not load, no questions, options that exclude each other.
    """
    from dialint.finetune.judge.private_sft import train_privately

    if config.private_epsilon is not None:
        if config.adapters.adapter_dropout:
            raise ConfigError("E_OPTION", "--private-epsilon excludes --adapter-dropout")
        require_single_process("train sft judge --private-epsilon")
        require_library("opacus", "--private-epsilon")
    context = prepare(config, "train", "dev", rows=config.questions)
    questions, dev_questions = context.read_questions("train"), context.read_questions("dev")
    train = _train if config.private_epsilon is None else train_privately
    n_dev = min(config.dev_questions, len(dev_questions))
    dev_questions = random.Random(config.running.seed).sample(dev_questions, n_dev)
    model, figures = train(
        config, context.load_model(), context.prompt, questions, dev_questions, context.job
    )
    return context.save("judge", model, figures)


def _train(
    config: SftJudgeConfig,
    model: Any,
    prompt: JudgePrompt,
    questions: Sequence[LabelledQuestion],
    dev_questions: Sequence[LabelledQuestion],
    job: str,
) -> tuple[Any, dict[str, Any]]:
    from datasets import Dataset
    from transformers import EarlyStoppingCallback
    from trl import SFTConfig

    from dialint.detector.engines.judge_local import LocalJudge
    from dialint.finetune.judge.trl_trainers import JudgeSFTTrainer, tokenize_questions
    from dialint.finetune.train.hf_trainer import build_trainer_config, run_trainer, schedule_arguments

    make_output_folder(config.out)
    arguments = build_trainer_config(
        SFTConfig,
        config.running,
        config.out,
        model,
        per_device_train_batch_size=config.questions,
        learning_rate=config.learning_rate,
        per_device_eval_batch_size=config.questions,
        **schedule_arguments(config.learning, "loss"),
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    rows, dev_rows = tokenize_questions(questions, prompt), tokenize_questions(dev_questions, prompt)
    require_positions(model, max(len(row["input_ids"]) for row in (*rows, *dev_rows)))
    trainer = JudgeSFTTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(dev_rows),
        processing_class=prompt.tokenizer,
    )
    trainer.answer_tokens = sum(label != -100 for row in rows for label in row["labels"]) / len(rows)
    trainer.judge = LocalJudge(trainer.model, prompt, bf16=config.running.uses_bf16())
    trainer.dev_questions = dev_questions[: config.dev_answers]
    trainer.add_callback(EarlyStoppingCallback(early_stopping_patience=config.learning.patience))
    return run_trainer(trainer, config.out, job, config.running)
