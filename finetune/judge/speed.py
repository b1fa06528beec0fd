"""``python -m finetune.judge.speed``: our teaching of the judge against trl's trainer as it comes.

The same model, token ids, batches and optimizer on CPU: trl's own padding and language head, and ours (rows
without padding, the language head on answers alone). The losses of every step are compared first; then
seconds a step, in rounds by turns so that a busy machine slows both.
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

from eval.questions import Asked, Asking, read_asked

EQUAL = 1e-4
"""Largest difference of a step's loss."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SpeedConfig:
    """What is timed."""

    dataset: Path
    """Folder of labelled examples."""
    model: str = "small_decoder"
    """Base model."""
    questions: int = 16
    """Questions in a batch."""
    steps: int = 6
    """Steps in a round; the first is not counted."""
    rounds: int = 3
    """Rounds of each."""
    prompt_tokens: int = 512
    """Tokens of a question, at most."""
    threads: int = 2
    """CPU threads."""
    seed: int = 1
    """Seed of questions and order."""


def measure(config: SpeedConfig) -> None:
    """Time both and print what came out.

    Raises:
        AssertionError: a step's losses differ.
    """
    import torch

    from detector.engines.judge_prompt import JudgePrompt
    from finetune.base_models import bases
    from finetune.judge.sft_trainer import rows_of

    torch.set_num_threads(config.threads)
    folder = bases.tokenizer_folder(bases.source_of(config.model))
    prompt = JudgePrompt.of(folder, max_tokens=config.prompt_tokens)
    asked = read_asked(config.dataset, "train", Asking(limit=400, rewrites=False), config.seed)
    asked = asked[: config.questions * config.steps * 4]
    tokens = [len(row["input_ids"]) for row in rows_of(asked, prompt)]
    losses: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {"trl": [], "ours": []}
    for _ in range(config.rounds):
        for name in ("trl", "ours"):
            found = _round(config, prompt, asked, ours=name == "ours")
            losses[name], step_s = found
            seconds[name].append(step_s)
    gap = max(abs(a - b) for a, b in zip(losses["trl"], losses["ours"], strict=True))
    if not gap <= EQUAL:
        raise AssertionError(f"losses differ by {gap:.1e}")
    ratios = [theirs / mine for theirs, mine in zip(seconds["trl"], seconds["ours"], strict=True)]
    told = {
        "questions": len(asked),
        "mean_tokens": sum(tokens) / len(tokens),
        "longest_tokens": max(tokens),
        "largest_loss_difference": gap,
        "seconds_a_step": seconds,
        "times_as_fast": ratios,
    }
    print(json.dumps(told, indent=1))


def _round(
    config: SpeedConfig, prompt: Any, asked: Sequence[Asked], *, ours: bool
) -> tuple[list[float], float]:
    """Losses of the steps, and the mean seconds of all but the first."""
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import SFTConfig, SFTTrainer

    from finetune.base_models import bases
    from finetune.judge.sft_trainer import JudgeTrainer, rows_of
    from finetune.training.arguments import trainer_arguments
    from finetune.training.options import Adapters, Running

    running = Running(seed=config.seed, device="cpu", precision="fp32", threads=config.threads)
    model = bases.load(bases.source_of(config.model), Adapters(adapter="none"))
    with tempfile.TemporaryDirectory() as folder:
        arguments = trainer_arguments(
            running,
            Path(folder),
            per_device_train_batch_size=config.questions,
            max_steps=config.steps,
            learning_rate=1e-4,
            max_length=None,
            dataset_kwargs={"skip_prepare_dataset": True},
        )
        rows = [{**row, "weight": 1.0} for row in rows_of(asked, prompt)]
        if ours:
            trainer: Any = JudgeTrainer.of(
                model, SFTConfig(**arguments), prompt, rows, asked[:1], packed=True, bf16=False
            )
        else:
            trainer = SFTTrainer(
                model=model,
                args=SFTConfig(**arguments),
                train_dataset=Dataset.from_list(rows).remove_columns("weight"),
                processing_class=prompt.tokenizer,
            )
        trainer.remove_callback(PrinterCallback)
        clock = _Clock()
        trainer.add_callback(clock.callback())
        trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return losses, (clock.ended[-1] - clock.ended[0]) / (len(clock.ended) - 1)


class _Clock:
    """When each step ended."""

    def __init__(self) -> None:
        self.ended: list[float] = []

    def callback(self) -> Any:
        from transformers import TrainerCallback

        ended = self.ended

        class Ends(TrainerCallback):
            def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                ended.append(time.perf_counter())

        return Ends()


if __name__ == "__main__":
    cyclopts.run(measure)
