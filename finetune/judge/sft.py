"""Teaches the judge by example: chat answers under the schema, loss on the answer alone.

    dialint train sft judge --dataset build/dataset --model small_decoder --out build/judge

Reads the ``train`` and ``dev`` splits of a data set's folder and a base model.
Writes a model folder: the adapter with ``base.json``, or all weights; the tokenizer, ``judge.json``,
``metrics.jsonl`` and last the manifest. A stopped run goes on from its last complete checkpoint. trl's
trainer does the work; questions stand end to end in one row and do not see each other, so no padding is
computed, and an answer counts as much as its label is sure. With ``--private-epsilon`` a loop of our own
learns instead (`dialint.finetune.judge.private_sft`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from dialint.detector.artifacts import make_output_folder
from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_library
from dialint.detector.judge import Detail
from dialint.eval.questions import LabelledQuestion, QuestionConfig
from dialint.finetune.judge.context import prepare, validate_config
from dialint.finetune.train.options import AdapterOptions, RunOptions, ScheduleOptions

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.finetune.train.trainer import TrainResult


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SftJudgeConfig:
    """What `dialint train sft judge` needs to know."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    model: str
    """Base model: a folder, one of an earlier stage, small_decoder (it ships), or a name on a hub,
    org/name or org/name@revision."""
    out: Path
    """Folder for the judge."""
    questions: int = 16
    """Questions in one forward pass."""
    learning_rate: float = 2e-4
    """Peak rate."""
    prompt_tokens: int = 1024
    """Tokens that a question may take."""
    detail: Detail = "short"
    """How much of a code's entry in the taxonomy the question tells."""
    neftune: float = 0.0
    """Noise on embeddings while learning (Jain et al. 2023, NEFTune); 5 is usual, 0 is none."""
    packed: bool = True
    """Questions end to end; false: padded, as trl does by itself."""
    dev_questions: int = 400
    """Questions of the dev split that are looked at."""
    private_epsilon: float | None = None
    """Learn with differential privacy: what any one dialogue may change, as epsilon."""
    private_delta: float = 1e-5
    """The delta of that promise; must be far below one over the dialogues."""
    asking: QuestionConfig = field(default_factory=QuestionConfig)
    learning: ScheduleOptions = field(default_factory=ScheduleOptions)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)

    @property
    def answers_at_once(self) -> int:
        """Questions with an answer in one forward pass."""
        return self.questions


def sft_judge(config: SftJudgeConfig) -> None:
    """Fine-tune a judge on labelled dialogues."""
    run(config)


def run(config: SftJudgeConfig) -> dict[str, Any]:
    """Train; the manifest that was written.

    Raises:
        OutputRefused: `out` holds a finished judge, or a checkpoint of another job.
        ConfigError: an option out of its range, a base that does not load, no questions.
    """
    from dialint.finetune.judge.private_sft import train_privately

    _refuse(config)
    begun = prepare(config)
    learn, check = begun.asked("train"), begun.asked("dev")
    teach = _train if config.private_epsilon is None else train_privately
    trained = teach(config, begun.model(), begun.prompt, learn, check[: config.dev_questions], begun.job)
    return begun.save("judge", trained.model, trained.figures, trained.weights)


def _refuse(config: SftJudgeConfig) -> None:
    validate_config(config, "train", "dev")
    config.learning.refuse()
    if config.questions < 1 or config.learning_rate <= 0:
        raise ConfigError("E_OPTION", "--questions and --learning-rate must be above 0")
    if config.prompt_tokens < 64 or config.neftune < 0:
        raise ConfigError("E_OPTION", "--prompt-tokens or --neftune is out of range")
    if config.private_epsilon is not None:
        _refuse_private(config, config.private_epsilon)


def _refuse_private(config: SftJudgeConfig, epsilon: float) -> None:
    if epsilon <= 0 or not 0 < config.private_delta < 1:
        raise ConfigError("E_OPTION", "--private-epsilon or --private-delta is out of range")
    if config.neftune or config.adapters.adapter_dropout:
        raise ConfigError("E_OPTION", "--private-epsilon goes without --neftune and --adapter-dropout")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError("E_OPTION", "--private-epsilon learns in one process")
    require_library("opacus", "--private-epsilon")


def _train(
    config: SftJudgeConfig,
    model: Any,
    prompt: JudgePrompt,
    learn: Sequence[LabelledQuestion],
    check: Sequence[LabelledQuestion],
    job: str,
) -> TrainResult:
    from transformers import EarlyStoppingCallback
    from trl import SFTConfig

    from dialint.finetune.judge.sft_trainer import JudgeSFTTrainer, tokenize_questions
    from dialint.finetune.train.arguments import build_trainer_config, schedule_arguments, uses_bf16
    from dialint.finetune.train.trainer import run_trainer

    make_output_folder(config.out)
    arguments = build_trainer_config(
        SFTConfig,
        config.running,
        config.out,
        model,
        per_device_train_batch_size=config.questions,
        learning_rate=config.learning_rate,
        **schedule_arguments(config.learning, "log_loss"),
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    rows = tokenize_questions(learn, prompt)
    trainer = JudgeSFTTrainer.of(
        model,
        arguments,
        prompt,
        rows,
        check,
        packed=config.packed,
        bf16=uses_bf16(config.running),
        neftune=config.neftune,
    )
    trainer.add_callback(EarlyStoppingCallback(early_stopping_patience=config.learning.patience))
    trained = run_trainer(trainer, config.out, job, config.running)
    return replace(trained, figures={**trained.figures, "cut": sum(row["cut"] for row in rows)})
