"""A trained reward model, standardized: a model of its own, or an adapter beside the policy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from dialint.detector.artifacts import MANIFEST, read_manifest
from dialint.detector.engines import base_models
from dialint.detector.engines.adapter_files import ADAPTER
from dialint.detector.errors import ConfigError
from dialint.detector.judge import parse_answer
from dialint.detector.manifests import validate_fields
from dialint.eval.questions import LabelledQuestion
from dialint.finetune.rewards.verifiable import standardize
from dialint.finetune.train.adapters import AdapterOptions, load_model

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt

ADAPTER_NAME = "reward"
"""Name of a reward model's adapter beside the policy's."""
BATCH_ROWS = 32
"""Rows of one forward pass."""


class _HeldOut(TypedDict):
    mean_score: float
    score_spread: float


class _ByOrigin(TypedDict, total=False):
    label: _HeldOut
    reviewer: _HeldOut


class _Figures(TypedDict):
    held_out: _ByOrigin


class RewardManifest(TypedDict):
    """The fields of a reward model's manifest that standardize its scores."""

    figures: _Figures


Scorer = Callable[[Sequence[Sequence[int]]], np.ndarray]
"""Raw scores of rows of token ids, shape (rows,)."""


@dataclass(frozen=True)
class RewardModel:
    """A reward model, its raw scores standardized by mean and deviation of held-out answers.

    It is trained on pairs of which half are errors. `prior_shift`, the log odds of no error among the
    questions that are rewarded, is subtracted from the score of an accusation.

    Source: Saerens, Latinne and Decaestecker 2002, section 2.2 (posteriors under another prior).
    """

    scorer: Scorer
    prompt: JudgePrompt
    mean: float
    deviation: float
    prior_shift: float = 0.0

    @classmethod
    def load(
        cls,
        folder: Path,
        device: str = "cpu",
        prior_shift: float = 0.0,
        *,
        bf16: bool = False,
        policy: Any = None,
    ) -> RewardModel:
        """Load a folder of `dialint train reward`, to compute in fp32 or bf16. With a `policy` of adapters on
        the same base it becomes one more adapter of that model, so that the base is in memory once.

        Raises:
            ConfigError: E_ADAPTER, no reward model or not complete.
        """
        from dialint.detector.engines.judge_prompt import load_prompt

        source = base_models.resolve_source(str(folder))
        manifest = read_manifest(folder / MANIFEST)
        if manifest.get("kind") != "reward":
            raise ConfigError("E_ADAPTER", f"{folder}: no reward model, but a {manifest.get('kind')}")
        validate_fields(manifest, RewardManifest, folder / MANIFEST)
        prompt = load_prompt(source)
        pad = prompt.tokenizer.pad_token_id
        held_out = manifest["figures"]["held_out"]
        figures = held_out.get("label") or held_out.get("reviewer")
        if figures is None:
            raise ConfigError("E_ADAPTER", f"{folder}: was measured on no held-out answers")
        if policy is None:
            scorer = _standalone_scorer(source, device, pad, bf16)
        else:
            scorer = _adapter_scorer(policy, folder, pad, bf16)
        return cls(scorer, prompt, figures["mean_score"], max(figures["score_spread"], 1e-6), prior_shift)

    def preferences(self, questions: Sequence[LabelledQuestion], texts: Sequence[str]) -> list[float]:
        """How much people would prefer each text as the answer to its question, in [-1, 1]."""
        rows = [
            [*self.prompt.ids(item.question, item.code), *self.prompt.answer_ids(text)]
            for item, text in zip(questions, texts, strict=True)
        ]
        answers = [parse_answer(text) for text in texts]
        accused = np.array([answer is not None and answer.verdict == "error" for answer in answers])
        scores = self.scorer(rows) - self.prior_shift * accused
        return [standardize(float(score), self.mean, self.deviation) for score in scores]


def has_same_base(policy: base_models.ModelSource, reward: base_models.ModelSource) -> bool:
    """Whether both are adapters on the same weights."""
    return reward.adapter is not None and reward.sha256 == policy.sha256


def _standalone_scorer(source: base_models.ModelSource, device: str, pad: int, bf16: bool) -> Scorer:
    """The scorer of a model of its own."""
    no_adapter = AdapterOptions(adapter="none")
    model = load_model(source, no_adapter, trainable=False, kind="SEQ_CLS", device=device, bf16=bf16)
    model.config.pad_token_id = pad
    model.eval()
    return lambda rows: score_rows(model, rows, pad)


def _adapter_scorer(policy: Any, folder: Path, pad: int, bf16: bool) -> Scorer:
    """The scorer of an adapter that is loaded beside the policy's and is never trained."""
    import torch
    from peft import LoraConfig, set_peft_model_state_dict
    from safetensors.torch import load_file

    from dialint.finetune.rl.logprobs import last_hidden_states
    from dialint.finetune.train.distributed import unwrap

    weights = load_file(folder / ADAPTER)
    head = weights.pop(next(name for name in weights if name.endswith("score.weight")))
    head = head.float().to(policy.device)
    shape = LoraConfig.from_pretrained(str(folder))
    shape.task_type, shape.modules_to_save, shape.inference_mode = "CAUSAL_LM", None, True
    with torch.random.fork_rng(devices=[]):  # the initial weights are sampled, then overwritten
        policy.add_adapter(ADAPTER_NAME, shape)
    loaded: Any = set_peft_model_state_dict(policy, weights, adapter_name=ADAPTER_NAME)
    if loaded.unexpected_keys:
        raise ConfigError(
            "E_ADAPTER", f"{folder}: does not fit the judge's base: {loaded.unexpected_keys[0]}"
        )
    for name, weight in policy.named_parameters():
        if f".{ADAPTER_NAME}." in name:
            weight.requires_grad_(False)

    def score(rows: Sequence[Sequence[int]]) -> np.ndarray:
        requires_grad = {name: weight.requires_grad for name, weight in policy.named_parameters()}
        active, training = policy.active_adapter, policy.training
        policy.eval()
        policy.set_adapter(ADAPTER_NAME, inference_mode=True)
        try:
            with torch.no_grad(), torch.autocast(policy.device.type, torch.bfloat16, enabled=bf16):
                states = last_hidden_states(unwrap(policy).base_model, rows, pad)
            scores: np.ndarray = (states.float() @ head[0]).cpu().numpy()
        finally:
            policy.set_adapter(active)
            for name, weight in policy.named_parameters():
                weight.requires_grad_(requires_grad[name])
            policy.train(training)
        return scores

    return score


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
