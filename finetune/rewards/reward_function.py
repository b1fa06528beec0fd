"""Rewards of answers to known questions: the verifiable ones, the scanner's silence, the reward model.

`rewards.py` says what an answer is worth; this asks the models that it needs to know of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import ConfigError
from dialint.detector.judge import parsed
from dialint.eval.questions import Asked
from dialint.finetune.base_models import loading
from dialint.finetune.base_models.adapter_files import ADAPTER
from dialint.finetune.rewards import verifiable as rewards
from dialint.finetune.rewards.verifiable import Known, Reward, Weights
from dialint.finetune.train.options import AdapterOptions

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.detector.pipeline import ReleaseDetector
    from dialint.detector.records import Dialogue

REWARD = "reward"
"""Name of a reward model's adapter beside the policy's."""
HEARD = 0.2
"""Probability from which a scanner counts as not silent, where its release accuses nobody by itself."""


class Preferring(Protocol):
    """Says in [-1, 1] how much people would prefer an answer."""

    def preferences(self, asked: Sequence[Asked], texts: Sequence[str]) -> list[float]: ...


@dataclass(frozen=True)
class RewardModel:
    """A reward model, its scores standardised by held-out answers. It learnt where every second question is
    an error: `against` is taken off the score of an accusation, the log odds of there being none where
    questions count as what they stand for.

    Source: Saerens, Latinne and Decaestecker 2002, section 2.2 (posteriors under another prior).
    """

    scores: Callable[[Sequence[Sequence[int]]], np.ndarray]
    prompt: JudgePrompt
    mean: float
    spread: float
    against: float = 0.0

    @classmethod
    def of(
        cls,
        folder: Path,
        device: str = "cpu",
        against: float = 0.0,
        *,
        bf16: bool = False,
        policy: Any = None,
    ) -> RewardModel:
        """The model of a folder of `dialint train reward`, its arithmetic in fp32 or bf16. With a `policy` of
        adapters on the same base it becomes one more adapter there, and no second base is held in memory.

        Raises:
            ConfigError: E_ADAPTER, none or not whole.
        """
        from dialint.finetune.judge.model_folder import prompt_of

        source = loading.resolve_source(str(folder))
        manifest = read_manifest(folder / loading.MANIFEST)
        if manifest["kind"] != "reward":
            raise ConfigError("E_ADAPTER", f"{folder}: no reward model, but a {manifest['kind']}")
        prompt = prompt_of(source)
        pad = prompt.tokenizer.pad_token_id
        held_out = manifest["figures"]["held_out"]
        figures = held_out.get("label") or held_out["reviewer"]
        read = _by_itself(source, device, pad, bf16) if policy is None else _beside(policy, folder, pad, bf16)
        return cls(read, prompt, figures["mean_score"], max(figures["score_spread"], 1e-6), against)

    def preferences(self, asked: Sequence[Asked], texts: Sequence[str]) -> list[float]:
        """How much people would prefer each answer, in [-1, 1]."""
        rows = [
            [*self.prompt.ids(item.question, item.code), *self.prompt.answer_ids(text)]
            for item, text in zip(asked, texts, strict=True)
        ]
        answers = [parsed(text) for text in texts]
        accused = np.array([answer is not None and answer.verdict == "error" for answer in answers])
        found = self.scores(rows) - self.against * accused
        return [rewards.standardised(float(score), self.mean, self.spread) for score in found]


def _by_itself(
    source: loading.ModelSource, device: str, pad: int, bf16: bool
) -> Callable[[Sequence[Sequence[int]]], np.ndarray]:
    """Scores of rows of token ids by a model of its own."""
    from dialint.finetune.rewards.trainer import scores

    none = AdapterOptions(adapter="none")
    model = loading.load_model(source, none, trainable=False, kind="SEQ_CLS", device=device, bf16=bf16)
    model.config.pad_token_id = pad
    model.eval()
    return lambda rows: scores(model, rows, pad)


def _beside(
    policy: Any, folder: Path, pad: int, bf16: bool
) -> Callable[[Sequence[Sequence[int]]], np.ndarray]:
    """Scores of rows of token ids by an adapter beside the policy's, which never learns."""
    import torch
    from peft import LoraConfig, set_peft_model_state_dict
    from safetensors.torch import load_file

    from dialint.finetune.policy.logprobs import inner, last_states

    weights = load_file(folder / ADAPTER)
    head = weights.pop(next(name for name in weights if name.endswith("score.weight")))
    head = head.float().to(policy.device)
    shape = LoraConfig.from_pretrained(str(folder))
    shape.task_type, shape.modules_to_save, shape.inference_mode = "CAUSAL_LM", None, True
    with torch.random.fork_rng(devices=[]):  # its first weights are drawn, and thrown away
        policy.add_adapter(REWARD, shape)
    loaded: Any = set_peft_model_state_dict(policy, weights, adapter_name=REWARD)
    if loaded.unexpected_keys:
        raise ConfigError(
            "E_ADAPTER", f"{folder}: does not fit the judge's base: {loaded.unexpected_keys[0]}"
        )
    for name, weight in policy.named_parameters():
        if f".{REWARD}." in name:
            weight.requires_grad_(False)

    def scores(rows: Sequence[Sequence[int]]) -> np.ndarray:
        learns = {name: weight.requires_grad for name, weight in policy.named_parameters()}
        active, training = policy.active_adapter, policy.training
        policy.eval()
        policy.set_adapter(REWARD, inference_mode=True)
        try:
            with torch.no_grad(), torch.autocast(policy.device.type, torch.bfloat16, enabled=bf16):
                states = last_states(inner(policy).base_model, rows, pad)
            found: np.ndarray = (states.float() @ head[0]).cpu().numpy()
        finally:
            policy.set_adapter(active)
            for name, weight in policy.named_parameters():
                weight.requires_grad_(learns[name])
            policy.train(training)
        return found

    return scores


@dataclass(frozen=True)
class Silence:
    """A scanner that hears an error, or does not."""

    detector: ReleaseDetector

    def probabilities(self, asked: Sequence[Asked], texts: Sequence[str | None]) -> list[float | None]:
        """The scanner's probability of each question's code at its turn, the turn's text as given; None
        where no text is given, or the scanner does not know the code."""
        places = [place for place, text in enumerate(texts) if text is not None]
        dialogues = [_with(asked[place], texts[place] or "") for place in places]
        found: list[float | None] = [None] * len(asked)
        for place, verdict in zip(
            places, self.detector.verdicts(dialogues, all_probabilities=True), strict=True
        ):
            question = asked[place].question
            found[place] = (verdict.probabilities or {}).get(question.turn, {}).get(question.code)
        return found

    def threshold(self, code: str) -> float:
        """The probability from which the scanner accuses."""
        how = self.detector.info.codes.get(code)
        contract = how.scan.contract if how is not None and how.scan is not None else None
        return contract.threshold if contract is not None else HEARD


def _with(item: Asked, text: str) -> Dialogue:
    """The question's dialogue with another text in its turn."""
    dialogue = item.question.dialogue
    turns = tuple(
        turn.model_copy(update={"text": text}) if turn.index == item.question.turn else turn
        for turn in dialogue.turns
    )
    return dialogue.model_copy(update={"turns": turns})


@dataclass
class Rewarder:
    """Rewards answers to the questions `asked`, each named by its place."""

    asked: Sequence[Asked]
    weights: Weights
    preferring: Preferring | None = None
    silence: Silence | None = None
    known: list[Known] = field(default_factory=list)

    def __post_init__(self) -> None:
        before: list[float | None] = [None] * len(self.asked)
        if self.silence is not None:
            before = self.silence.probabilities(self.asked, [item.text for item in self.asked])
        self.known = [self._known(item, heard) for item, heard in zip(self.asked, before, strict=True)]

    def _known(self, item: Asked, before: float | None) -> Known:
        return Known(
            probability=item.probability,
            text=item.text,
            span=item.span,
            severity=item.severity,
            rewrite=item.rewrite,
            before=before,
            threshold=self.silence.threshold(item.question.code) if self.silence is not None else 0.5,
            stands_for=item.stands_for,
        )

    def rewards(self, places: Sequence[int], texts: Sequence[str]) -> list[Reward]:
        """The reward of each text as an answer to the question at its place."""
        asked = [self.asked[place] for place in places]
        known = [self.known[place] for place in places]
        preferred: list[Any] = [None] * len(places)
        if self.preferring is not None:
            preferred = list(self.preferring.preferences(asked, texts))
        after: list[float | None] = [None] * len(places)
        if self.silence is not None:
            new = [rewards.rewrite_of(parsed(text), own) for text, own in zip(texts, known, strict=True)]
            heard = self.silence.probabilities(asked, new)
            after = [  # what the scanner cannot judge has not silenced it
                1.0 if text is not None and found is None else found
                for text, found in zip(new, heard, strict=True)
            ]
        return [
            rewards.reward(text, own, self.weights, left, liked)
            for text, own, left, liked in zip(texts, known, after, preferred, strict=True)
        ]


def shares_base(policy: loading.ModelSource, reward: loading.ModelSource) -> bool:
    """Whether both are adapters on the same weights."""
    return reward.adapter is not None and reward.sha256 == policy.sha256


def rewarder_of(config: Any, asked: Sequence[Asked], model: Any, source: loading.ModelSource) -> Rewarder:
    """What rewards the answers to `asked`, as `config` names it: `weights`, `reward`, `scanner`. `model` is
    the policy, made of `source`; a reward model on the same base becomes one of its adapters."""
    from dialint.detector.detectors import DetectorConfig
    from dialint.detector.pipeline import load_detector
    from dialint.finetune.train.arguments import is_sharded, resolve_device, uses_bf16

    device, bf16 = resolve_device(config.running), uses_bf16(config.running)
    preferring: Preferring | None = None
    if config.reward is not None:
        beside = hasattr(model, "peft_config") and not is_sharded()
        shared = beside and shares_base(source, loading.resolve_source(str(config.reward)))
        preferring = RewardModel.of(
            config.reward,
            device,
            odds_against(asked, config.weights),
            bf16=bf16,
            policy=model if shared else None,
        )
    silence = None
    if config.scanner is not None:
        chosen = DetectorConfig(release=config.scanner, device=device, threads=config.running.threads)
        silence = Silence(load_detector(chosen))
    return Rewarder(asked, config.weights, preferring, silence)


def odds_against(asked: Sequence[Asked], weights: Weights) -> float:
    """Log odds that a question is no error, each counted as what it stands for; 0 where every question counts
    alike."""
    if weights.most_stands_for == 1:
        return 0.0
    counted = [(item.probability, min(item.stands_for, weights.most_stands_for)) for item in asked]
    errors = sum(probability * times for probability, times in counted)
    none = sum((1 - probability) * times for probability, times in counted)
    return math.log(none / errors) if min(none, errors) > 0 else 0.0
