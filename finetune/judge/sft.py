"""Supervised fine-tuning of a judge: readings of whole dialogues, with the loss on the answer alone.

    dialint train sft judge --dataset build/dataset --base Qwen/Qwen3-1.7B --out build/judge

Reads the ``train`` and ``dev`` splits of a data set's folder, and a base model. Writes a model folder: the
adapter with ``base.json``, or all weights; the tokenizer, ``judge.json``, ``metrics.jsonl`` and last the
manifest. A stopped run resumes from its last complete checkpoint. trl's trainer does the work. The posterior
of a label is taught as the probability of the error. The weights with the lowest loss on dev are kept; beside
it stand the figures of the judge's own answers. With ``--private-epsilon`` the loop of
`dialint.finetune.judge.private_sft` is used.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import make_output_folder
from dialint.detector.environment import require_library, require_single_process
from dialint.detector.errors import ConfigError
from dialint.eval.labelled import LabelledQuestion
from dialint.finetune.judge.sft_options import SftJudgeConfig
from dialint.finetune.judge.stage import prepare, require_positions, validate_config

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.finetune.train.hf_trainer import TrainResult


def sft_judge(config: SftJudgeConfig) -> None:
    """Fine-tune a judge on labelled dialogues."""
    run(config)


def run(config: SftJudgeConfig) -> dict[str, Any]:
    """Train; the manifest that was written.

    Raises:
        OutputRefused: `out` has a finished judge, or a checkpoint of another job.
        ConfigError: a base that does not load, no questions, options that exclude each other.
    """
    from dialint.finetune.judge.private_sft import train_privately

    validate_config(config, "train", "dev")
    if config.private_epsilon is not None:
        if config.adapters.adapter_dropout:
            raise ConfigError("E_OPTION", "--private-epsilon excludes --adapter-dropout")
        require_single_process("train sft judge --private-epsilon")
        require_library("opacus", "--private-epsilon")
    context = prepare(config)
    questions, dev_questions = context.read_questions("train"), context.read_questions("dev")
    train = _train if config.private_epsilon is None else train_privately
    n_dev = min(config.dev_questions, len(dev_questions))
    dev_questions = random.Random(config.running.seed).sample(dev_questions, n_dev)
    result = train(config, context.load_model(), context.prompt, questions, dev_questions, context.job)
    return context.save("judge", result.model, result.figures)


def _train(
    config: SftJudgeConfig,
    model: Any,
    prompt: JudgePrompt,
    questions: Sequence[LabelledQuestion],
    dev_questions: Sequence[LabelledQuestion],
    job: str,
) -> TrainResult:
    from transformers import EarlyStoppingCallback
    from trl import SFTConfig

    from dialint.finetune.judge.sft_trainer import JudgeSFTTrainer, tokenize_questions
    from dialint.finetune.train.distributed import uses_bf16
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
    require_positions(model, [row["input_ids"] for row in (*rows, *dev_rows)])
    trainer = JudgeSFTTrainer.create(
        model,
        arguments,
        prompt,
        rows,
        dev_rows,
        dev_questions[: config.dev_answers],
        bf16=uses_bf16(config.running),
    )
    trainer.add_callback(EarlyStoppingCallback(early_stopping_patience=config.learning.patience))
    return run_trainer(trainer, config.out, job, config.running)
