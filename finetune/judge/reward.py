"""Teaches a reward model: which of two answers to one question people prefer.

    dialint train reward --dataset build/dataset --model build/judge --out build/reward

Reads the preferences and labels of a data set's folder. The model is a base with one number at the end of
the answer, learnt with adapters from the judge's base (from its weights, where all of them were trained).
Writes a model folder, whose manifest has accuracy and calibration on held-out pairs, beside what is right
without the question (`rewarding/answer_only.py`). It rewards nobody by itself: `dialint train ppo` and
`dialint train grpo` ask it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cyclopts import Parameter

from dialint.detector.artifacts import make_output_folder
from dialint.detector.errors import ConfigError
from dialint.detector.judge import Detail
from dialint.eval.questions import QuestionConfig
from dialint.finetune.judge.context import prepare, validate_config
from dialint.finetune.train.options import AdapterOptions, RunOptions, ScheduleOptions


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """What `dialint train reward` needs to know."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    model: str
    """The judge that will be rewarded, or a base model."""
    out: Path
    """Folder for the reward model."""
    pairs: int = 8
    """Pairs in one forward pass."""
    learning_rate: float = 1e-4
    """Peak rate."""
    prompt_tokens: int = 1024
    """Tokens that a question may take."""
    detail: Detail = "short"
    """How much of a code's entry in the taxonomy the question tells."""
    dev_pairs: int = 400
    """Pairs of the dev split that are looked at while it learns."""
    held_pairs: int = 2000
    """Pairs of the dev split that are measured at the end."""
    asking: QuestionConfig = field(default_factory=QuestionConfig)
    learning: ScheduleOptions = field(default_factory=ScheduleOptions)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)

    @property
    def answers_at_once(self) -> int:
        """Questions with an answer in one forward pass."""
        return 2 * self.pairs


def reward(config: RewardConfig) -> None:
    """Learn which answers people prefer."""
    run(config)


def run(config: RewardConfig) -> dict[str, Any]:
    """Train; the manifest that was written.

    Raises:
        OutputRefused: `out` holds a finished model, or a checkpoint of another job.
        ConfigError: an option out of its range, a base that does not load, no pairs.
    """
    from transformers import EarlyStoppingCallback
    from trl import RewardConfig as Arguments

    from dialint.finetune.rewards.trainer import JudgeRewardTrainer, evaluate_held_out, tokenize_pairs
    from dialint.finetune.train.arguments import build_trainer_config, schedule_arguments
    from dialint.finetune.train.trainer import run_trainer

    _refuse(config)
    begun = prepare(config, "SEQ_CLS")
    learn, check = begun.pairs("train"), begun.pairs("dev")
    model, prompt = begun.model(), begun.prompt
    model.config.pad_token_id = prompt.tokenizer.pad_token_id
    arguments = build_trainer_config(
        Arguments,
        config.running,
        config.out,
        model,
        per_device_train_batch_size=config.pairs,
        learning_rate=config.learning_rate,
        **schedule_arguments(config.learning, "log_loss"),
        max_length=None,
    )
    held = tokenize_pairs(check, prompt)
    trainer = JudgeRewardTrainer.create(
        model, arguments, prompt, tokenize_pairs(learn, prompt), held[: config.dev_pairs]
    )
    trainer.add_callback(EarlyStoppingCallback(early_stopping_patience=config.learning.patience))
    make_output_folder(config.out)
    trained = run_trainer(trainer, config.out, begun.job, config.running)
    check, held = check[: config.held_pairs], held[: config.held_pairs]
    by_origin = evaluate_held_out(trained.model, prompt, learn, check, held)
    for origin, one in by_origin.items():
        print(_told(origin, one), file=sys.stderr)
    figures = {**trained.figures, "pairs": len(learn), "held_out": by_origin}
    return begun.save("reward", trained.model, figures, trained.weights)


def _told(origin: str, figures: dict[str, Any]) -> str:
    shares = (
        f"{name} {own['accuracy']:.3f} ({own['accuracy_95'][0]:.3f} to {own['accuracy_95'][1]:.3f})"
        for name, own in (
            ("reward model right", figures),
            ("answers alone", figures["answer_only"]),
            ("asked of another dialogue", figures["other_question"]),
        )
    )
    return f"{figures['pairs']} held-out pairs of {origin}: {', '.join(shares)}"


def _refuse(config: RewardConfig) -> None:
    validate_config(config, "train", "dev")
    config.learning.refuse()
    if config.pairs < 1 or config.learning_rate <= 0:
        raise ConfigError("E_OPTION", "--pairs and --learning-rate must be above 0")
