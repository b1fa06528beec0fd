"""The reward function of PPO and GRPO: the terms of `verifiable.py`, and ``--reward``.

``--reward`` names the folder of a reward model, whose scores are standardized, or a function,
``module:function`` or ``FILE.py:function``:

    def polite(prompts, completions, **columns):
        return [float("sorry" in completion[0]["content"]) for completion in completions]

It is called as trl calls its ``reward_funcs``: with the chat messages of each prompt, those of each
completion, and by name a list each of the columns in `COLUMNS`; it returns a finite number for each
completion. The file is executed only because an option names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

import numpy as np

from dialint.detector.artifacts import MANIFEST, data_fingerprint, read_manifest, sha256_file
from dialint.detector.engines import base_models
from dialint.detector.errors import ConfigError
from dialint.eval.labelled import LabelledQuestion
from dialint.finetune.rewards.verifiable import Reward, RewardWeights, compute_reward, standardize
from dialint.finetune.train.adapters import AdapterOptions, Quantization, load_model

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt

BATCH_ROWS = 32
"""Rows of one forward pass of a reward model."""
Preferences = Callable[[Sequence[LabelledQuestion], Sequence[str]], list[float]]
"""Returns the preference for each text as the answer to its question; of a reward model in [-1, 1]."""
COLUMNS: dict[str, Callable[[LabelledQuestion], Any]] = {
    "source": lambda item: item.source,
    "turns": lambda item: dict(item.question.turns),
    "codes": lambda item: list(item.question.codes),
    "labels": lambda item: [asdict(truth) for truth in item.truths],
}
"""Columns that a function gets of the questions: the id of the dialogue, the texts of the turns to judge by
their index, the codes asked about, and the labels: dicts of `turn`, `code`, `probability`, `span` of the
evidence in the turn's text or None, and `severity`."""


@dataclass(frozen=True)
class RewardFunction:
    """Rewards answers to `questions`, which are referred to by their index."""

    questions: Sequence[LabelledQuestion]
    weights: RewardWeights
    preferences: Preferences | None = None

    def rewards(self, indices: Sequence[int], texts: Sequence[str]) -> list[Reward]:
        """Computes the reward of each text as an answer to the question of its index."""
        questions = [self.questions[index] for index in indices]
        preferences: list[float | None] = [None] * len(texts)
        if self.preferences is not None:
            preferences = list(self.preferences(questions, texts))
        return [
            compute_reward(text, item, self.weights, preference)
            for text, item, preference in zip(texts, questions, preferences, strict=True)
        ]


def build_reward_function(
    config: Any, questions: Sequence[LabelledQuestion], prompt: JudgePrompt
) -> RewardFunction:
    """Builds the reward function of answers to `questions` from the `weights` and `reward` of `config`;
    `prompt` is the policy's."""
    preferences: Preferences | None = None
    folder = reward_folder(config.reward)
    if folder is not None:
        device, bf16 = config.running.resolve_device(), config.running.uses_bf16()
        preferences = load_reward_model(folder, device, bf16=bf16, quantise=config.adapters.quantise)
    elif config.reward is not None:
        preferences = custom_reward(config.reward, load_function(config.reward)[0], prompt)
    return RewardFunction(questions, config.weights, preferences)


def custom_reward(name: str, function: Callable[..., Sequence[float]], prompt: JudgePrompt) -> Preferences:
    """Adapts a user's function to `Preferences`; `prompt` formats the messages of its call. The result raises
    ConfigError E_REWARD if the function fails, or does not return a finite number for each."""

    def preferences(questions: Sequence[LabelledQuestion], texts: Sequence[str]) -> list[float]:
        columns = {column: [read(item) for item in questions] for column, read in COLUMNS.items()}
        prompts = [prompt.fold(item.question.messages) for item in questions]
        completions = [[{"role": "assistant", "content": text}] for text in texts]
        try:
            values = [float(value) for value in function(prompts, completions, **columns)]
        except Exception as error:
            raise ConfigError("E_REWARD", f"--reward {name}: {type(error).__name__}: {error}") from error
        if len(values) != len(texts) or not all(map(math.isfinite, values)):
            raise ConfigError(
                "E_REWARD",
                f"--reward {name}: {len(values)} values for {len(texts)} completions; expected a finite "
                "number for each",
            )
        return values

    return preferences


def load_function(name: str) -> tuple[Callable[..., Sequence[float]], Path]:
    """Imports the function `name`, and returns it with its file.

    Raises:
        ConfigError: E_REWARD, there is none.
    """
    where, _, attribute = name.rpartition(":")
    try:
        if where.endswith(".py"):
            return run_path(where)[attribute], Path(where)
        module = import_module(where)
        return getattr(module, attribute), Path(str(module.__file__))
    except Exception as error:
        raise ConfigError("E_REWARD", f"--reward {name}: {type(error).__name__}: {error}") from error


def reward_folder(reward: str | None) -> Path | None:
    """Returns the folder of a reward model, None for a function or nothing."""
    return None if reward is None or ":" in reward else Path(reward)


def reward_fingerprint(reward: str) -> str:
    """Returns the fingerprint of a reward model, or of the file of a function."""
    folder = reward_folder(reward)
    return sha256_file(load_function(reward)[1]) if folder is None else data_fingerprint(folder)


def load_reward_model(
    folder: Path, device: str = "cpu", *, bf16: bool = False, quantise: Quantization = "none"
) -> Preferences:
    """Loads a reward model of `dialint train reward`, to compute in fp32 or bf16, its base quantized by
    `quantise`. Scores are standardized by mean and deviation of held-out answers.

    Raises:
        ConfigError: E_ADAPTER, it is no reward model or not complete.
    """
    from dialint.detector.engines.judge_prompt import load_prompt

    source = base_models.resolve_source(str(folder))
    manifest = read_manifest(folder / MANIFEST)
    if manifest.get("kind") != "reward":
        raise ConfigError("E_ADAPTER", f"{folder}: no reward model, but a {manifest.get('kind')}")
    held_out = manifest.get("figures", {}).get("held_out", {})
    figures = held_out.get("label") or held_out.get("reviewer")
    if not figures:
        raise ConfigError("E_ADAPTER", f"{folder}: was measured on no held-out answers")
    mean, deviation = figures["mean_score"], max(figures["score_spread"], 1e-6)
    prompt = load_prompt(source)
    frozen = AdapterOptions(adapter="none", quantise=quantise)
    model = load_model(source, frozen, trainable=False, kind="SEQ_CLS", device=device, bf16=bf16).eval()
    model.config.pad_token_id = prompt.tokenizer.pad_token_id

    def preferences(questions: Sequence[LabelledQuestion], texts: Sequence[str]) -> list[float]:
        rows = [
            [*prompt.of_chat(item.question.messages), *prompt.answer_ids(text)]
            for item, text in zip(questions, texts, strict=True)
        ]
        scores = score_rows(model, rows, prompt.tokenizer.pad_token_id)
        return [standardize(float(score), mean, deviation) for score in scores]

    return preferences


def score_rows(model: Any, rows: Sequence[Sequence[int]], pad: int) -> np.ndarray:
    """Computes the raw score of each row of token ids, shape (rows,), without gradients; equal rows once,
    rows of similar length together."""
    import torch

    distinct = sorted(set(map(tuple, rows)), key=lambda row: (len(row), row))
    scores: dict[tuple[int, ...], float] = {}
    training, device = model.training, next(iter(model.parameters())).device
    has_bf16 = any(weight.dtype == torch.bfloat16 for weight in model.parameters())
    model.eval()
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=has_bf16):
        for start in range(0, len(distinct), BATCH_ROWS):
            batch = distinct[start : start + BATCH_ROWS]
            padding = [len(batch[-1]) - len(row) for row in batch]
            ids = [[*row, *[pad] * n] for row, n in zip(batch, padding, strict=True)]
            mask = [[1] * len(row) + [0] * n for row, n in zip(batch, padding, strict=True)]
            output = model(
                input_ids=torch.tensor(ids, device=device),
                attention_mask=torch.tensor(mask, device=device),
                use_cache=False,
            )
            scores |= zip(batch, output.logits[:, 0].float().tolist(), strict=True)
    model.train(training)
    return np.array([scores[tuple(row)] for row in rows])
