"""Aligns the judge with preferences directly, without a reward model.

    dialint train prefer --dataset build/dataset --model build/judge --out build/preferring

Reads the pairs of a data set's folder (`rewarding/pairs.py`): what reviewers corrected, what labels say.
Writes a model folder as the judge's own. trl's trainers do the work: DPO (Rafailov et al. 2023), whose pairs
are as sure as people agree on average, or KTO (Ethayarajh et al. 2024), which takes each side of a pair by
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from dialint.detector.errors import ConfigError
from dialint.eval.questions import QuestionConfig
from dialint.finetune.judge.context import prepare, validate_config
from dialint.finetune.train.options import AdapterOptions, RunOptions

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.finetune.rewards.pairs import PreferencePair


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PreferConfig:
    """What `dialint train prefer` needs to know."""

    dataset: Path
    """Folder of `dialint export dataset` or `dialint data inject`."""
    model: str
    """The judge: a folder of `dialint train sft judge`."""
    out: Path
    """Folder for the aligned judge."""
    method: Literal["dpo", "kto"] = "dpo"
    """Pairs, or each side by itself."""
    steps: int = 200
    """Steps."""
    pairs: int = 8
    """Pairs in one step."""
    accumulate: int = 1
    """Forward passes that a step's pairs are learnt in: less memory."""
    learning_rate: float = 1e-5
    """Peak rate."""
    kl: float = 0.1
    """How closely the judge is held to what it was."""
    asking: QuestionConfig = field(default_factory=QuestionConfig)
    adapters: AdapterOptions = field(default_factory=AdapterOptions)
    running: RunOptions = field(default_factory=RunOptions)

    @property
    def answers_at_once(self) -> int:
        """Questions with an answer in one forward pass."""
        return 2 * self.pairs // self.accumulate


def prefer(config: PreferConfig) -> None:
    """Align a judge with preferences."""
    run(config)


def run(config: PreferConfig) -> dict[str, Any]:
    """Train; the manifest that was written.

    Raises:
        OutputRefused: `out` holds a finished judge, or a checkpoint of another job.
        ConfigError: an option out of its range, a judge that does not load, no pairs.
    """
    from dialint.finetune.train.trainer import run_trainer

    _refuse(config)
    begun = prepare(config)
    pairs = begun.pairs("train")
    trainer = _trainer(config, begun.model(), begun.prompt, pairs)
    trained = run_trainer(trainer, config.out, begun.job, config.running)
    return begun.save("judge", trained.model, trained.figures, trained.weights)


def _refuse(config: PreferConfig) -> None:
    validate_config(config, "train")
    if config.accumulate < 1 or config.pairs % config.accumulate:
        raise ConfigError("E_OPTION", "--accumulate must divide --pairs")
    if min(config.steps, config.pairs) < 1 or config.learning_rate <= 0 or config.kl <= 0:
        raise ConfigError("E_OPTION", "--steps, --pairs, --learning-rate and --kl must be above 0")


def _trainer(config: PreferConfig, model: Any, prompt: JudgePrompt, pairs: Sequence[PreferencePair]) -> Any:
    from datasets import Dataset
    from trl import DPOConfig, KTOConfig

    from dialint.finetune.judge.trl_trainers import JudgeDPOTrainer, JudgeKTOTrainer
    from dialint.finetune.train.arguments import build_trainer_config

    at_once = config.pairs // config.accumulate
    if config.method == "dpo":
        unsure = 1 - sum(pair.agreement for pair in pairs) / len(pairs)
        options, more = DPOConfig, {"label_smoothing": min(unsure, 0.49)}
        kind, rows = JudgeDPOTrainer, dpo_rows(pairs, prompt)
    else:
        options, more = KTOConfig, {}
        kind, rows = JudgeKTOTrainer, kto_rows(pairs, prompt, at_once)
    arguments = build_trainer_config(
        options,
        config.running,
        config.out,
        model,
        per_device_train_batch_size=at_once if config.method == "dpo" else 2 * at_once,
        gradient_accumulation_steps=config.accumulate,
        max_steps=config.steps,
        learning_rate=config.learning_rate,
        warmup_steps=0,
        beta=config.kl,
        max_length=None,
        **more,
    )
    return kind(
        model=model, args=arguments, train_dataset=Dataset.from_list(rows), processing_class=prompt.tokenizer
    )


def dpo_rows(pairs: Sequence[PreferencePair], prompt: JudgePrompt) -> list[dict[str, Any]]:
    """Rows of two answers, the better first by name, in the token ids that SFT and scoring use: a chat
    template writes a finished answer otherwise than one that is still to come (an empty ``<think>`` block, a
    line end after the last token)."""
    return [
        {
            "prompt_ids": prompt.ids(pair.question, pair.code),
            "chosen_ids": prompt.answer_ids(pair.chosen),
            "rejected_ids": prompt.answer_ids(pair.rejected),
        }
        for pair in pairs
    ]


def kto_rows(pairs: Sequence[PreferencePair], prompt: JudgePrompt, together: int) -> list[dict[str, Any]]:
    """Rows of one answer, good or not, in the same token ids. ``KL_completion_ids`` is the answer to another
    question among `together` pairs, by which KTO estimates how far the judge has moved.

    Source: Ethayarajh et al. 2024, KTO, section 4.1.
    """
    rows = [
        {"prompt_ids": row["prompt_ids"], "completion_ids": row[side], "label": side == "chosen_ids"}
        for row in dpo_rows(pairs, prompt)
        for side in ("chosen_ids", "rejected_ids")
    ]
    for start in range(0, len(rows), 2 * together):
        some = rows[start : start + 2 * together]
        others = some[-2:] + some[:-2] if len(some) > 2 else some[::-1]
        for row, other in zip(some, others, strict=True):
            row["KL_completion_ids"] = other["completion_ids"]
    return rows
