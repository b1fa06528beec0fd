"""``python runs/studies/sft_speed.py``: compares the speed of the judge's SFT with plain trl, with and
without batches of similar length.

The same model, token ids and optimizer on CPU, one pass over the same questions: trl's own padding and
language head, and ours (rows without padding, the language head on answers alone), each with random batches
and with batches of questions of similar length (``group_by_length``), which leave little to pad. The losses
of every step on the same batches are compared; then processor seconds of a pass, which other programs change
little, in rounds by turns.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cyclopts
from cyclopts import Parameter

from dialint.eval.questions import LabelledQuestion, QuestionConfig, read_questions

MAX_LOSS_DIFFERENCE = 1e-4
"""Largest difference of a step's loss."""
VARIANTS = {
    "trl": (False, False),
    "ours": (True, False),
    "trl, grouped": (False, True),
    "ours, grouped": (True, True),
}
"""Whether it is ours, and whether a batch has questions of similar length."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SpeedConfig:
    """Options of the study."""

    dataset: Path
    """Folder of labelled examples."""
    model: str = "small_decoder"
    """Base model."""
    questions: int = 16
    """Questions in a batch."""
    steps: int = 24
    """Batches of a pass; of fewer than 8 none are grouped by length."""
    rounds: int = 3
    """Rounds of each."""
    prompt_tokens: int = 512
    """Tokens of a question, at most."""
    threads: int = 2
    """CPU threads."""
    seed: int = 1
    """Seed of questions and order."""


def measure(config: SpeedConfig) -> None:
    """Time the four variants and print the report.

    Raises:
        AssertionError: a step's losses differ.
    """
    import torch

    from dialint.detector.engines import base_models
    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.finetune.judge.sft_trainer import tokenize_questions

    torch.set_num_threads(config.threads)
    folder = base_models.tokenizer_folder(base_models.resolve_source(config.model))
    prompt = JudgePrompt.of(folder, max_tokens=config.prompt_tokens)
    questions = read_questions(
        config.dataset, "train", QuestionConfig(limit=400, rewrites=False), config.seed
    )
    questions = questions[: config.questions * config.steps]
    tokens = [len(row["input_ids"]) for row in tokenize_questions(questions, prompt)]
    losses: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(config.rounds):
        for name, (ours, grouped) in VARIANTS.items():
            losses[name], pass_s = _round(config, prompt, questions, ours=ours, grouped=grouped)
            seconds[name].append(pass_s)
    gap = max(
        abs(a - b)
        for grouped in ("", ", grouped")
        for a, b in zip(losses[f"trl{grouped}"], losses[f"ours{grouped}"], strict=True)
    )
    if not gap <= MAX_LOSS_DIFFERENCE:
        raise AssertionError(f"losses differ by {gap:.1e}")
    ratios = {
        name: [variant / own for variant, own in zip(seconds[name], seconds["ours"], strict=True)]
        for name in VARIANTS
    }
    report = {
        "questions": len(questions),
        "mean_tokens": sum(tokens) / len(tokens),
        "longest_tokens": max(tokens),
        "largest_loss_difference": gap,
        "processor_seconds_a_pass": seconds,
        "times_the_seconds_of_ours": ratios,
    }
    print(json.dumps(report, indent=1))


def _round(
    config: SpeedConfig, prompt: Any, questions: Sequence[LabelledQuestion], *, ours: bool, grouped: bool
) -> tuple[list[float], float]:
    """Losses of the steps, and the processor seconds of the whole pass."""
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import SFTConfig, SFTTrainer

    from dialint.detector.engines import base_models
    from dialint.finetune.judge.sft_trainer import JudgeSFTTrainer, tokenize_questions
    from dialint.finetune.train.adapters import AdapterOptions, load_model
    from dialint.finetune.train.arguments import build_trainer_config
    from dialint.finetune.train.options import RunOptions

    running = RunOptions(seed=config.seed, device="cpu", precision="fp32", threads=config.threads)
    model = load_model(base_models.resolve_source(config.model), AdapterOptions(adapter="none"))
    with tempfile.TemporaryDirectory() as folder:
        arguments = build_trainer_config(
            SFTConfig,
            running,
            Path(folder),
            model,
            per_device_train_batch_size=config.questions,
            max_steps=config.steps,
            learning_rate=1e-4,
            train_sampling_strategy="group_by_length" if grouped else "random",
            max_length=None,
            dataset_kwargs={"skip_prepare_dataset": True},
        )
        rows = [{**row, "weight": 1.0} for row in tokenize_questions(questions, prompt)]
        if ours:
            trainer: Any = JudgeSFTTrainer.create(
                model, arguments, prompt, rows, questions[:1], packed=True, bf16=False
            )
        else:
            trainer = SFTTrainer(
                model=model,
                args=arguments,
                train_dataset=Dataset.from_list(rows).remove_columns("weight"),
                processing_class=prompt.tokenizer,
            )
        trainer.remove_callback(PrinterCallback)
        started = time.process_time()
        trainer.train()
        seconds = time.process_time() - started
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry], seconds


if __name__ == "__main__":
    cyclopts.run(measure)
