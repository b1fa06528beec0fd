"""A trained reward model, its scores standardized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dialint.detector.artifacts import MANIFEST, read_manifest
from dialint.detector.engines import base_models
from dialint.detector.errors import ConfigError
from dialint.eval.labelled import LabelledQuestion
from dialint.finetune.rewards.verifiable import standardize
from dialint.finetune.train.adapters import AdapterOptions, Quantization, load_model

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt

BATCH_ROWS = 32
"""Rows of one forward pass."""


@dataclass(frozen=True)
class RewardModel:
    """A reward model, its raw scores standardized by mean and deviation of held-out answers."""

    model: Any
    prompt: JudgePrompt
    mean: float
    deviation: float

    @classmethod
    def load(
        cls,
        folder: Path,
        device: str = "cpu",
        *,
        bf16: bool = False,
        quantise: Quantization = "none",
    ) -> RewardModel:
        """Load a folder of `dialint train reward`, to compute in fp32 or bf16, its base as `quantise` says.

        Raises:
            ConfigError: E_ADAPTER, no reward model or not complete.
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
        prompt = load_prompt(source)
        frozen = AdapterOptions(adapter="none", quantise=quantise)
        model = load_model(source, frozen, trainable=False, kind="SEQ_CLS", device=device, bf16=bf16)
        model.config.pad_token_id = prompt.tokenizer.pad_token_id
        deviation = max(figures["score_spread"], 1e-6)
        return cls(model.eval(), prompt, figures["mean_score"], deviation)

    def preferences(self, questions: Sequence[LabelledQuestion], texts: Sequence[str]) -> list[float]:
        """The preference of people for each text as the answer to its question, in [-1, 1]."""
        rows = [
            [*self.prompt.of_chat(item.question.messages), *self.prompt.answer_ids(text)]
            for item, text in zip(questions, texts, strict=True)
        ]
        scores = score_rows(self.model, rows, self.prompt.tokenizer.pad_token_id)
        return [standardize(float(score), self.mean, self.deviation) for score in scores]


def score_rows(model: Any, rows: Sequence[Sequence[int]], pad: int) -> np.ndarray:
    """The raw score of each row of token ids, shape (rows,), without gradients; equal rows are computed once,
    rows of similar length together."""
    import torch

    distinct = list(dict.fromkeys(map(tuple, rows)))
    scores = np.zeros(len(distinct))
    order = sorted(range(len(distinct)), key=lambda index: len(distinct[index]))
    training, device = model.training, next(iter(model.parameters())).device
    has_bf16 = any(weight.dtype == torch.bfloat16 for weight in model.parameters())
    model.eval()
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=has_bf16):
        for start in range(0, len(order), BATCH_ROWS):
            batch = order[start : start + BATCH_ROWS]
            size = max(len(distinct[index]) for index in batch)
            padding = {index: size - len(distinct[index]) for index in batch}
            ids = [[*distinct[index], *[pad] * padding[index]] for index in batch]
            mask = [[1] * len(distinct[index]) + [0] * padding[index] for index in batch]
            output = model(
                input_ids=torch.tensor(ids, device=device),
                attention_mask=torch.tensor(mask, device=device),
                use_cache=False,
            )
            scores[batch] = output.logits[:, 0].float().cpu().numpy()
    model.train(training)
    index_of = {row: index for index, row in enumerate(distinct)}
    return scores[[index_of[tuple(row)] for row in rows]]
