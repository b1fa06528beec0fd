"""The reward function of PPO and GRPO: verifiable terms, a scanner's check of rewrites, and a reward model.

`verifiable.py` has the terms; here the models are called whose outputs the terms need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dialint.detector.engines import base_models
from dialint.detector.judge import parse_answer
from dialint.eval.questions import LabelledQuestion
from dialint.finetune.rewards.custom import CustomReward, load_function, reward_folder
from dialint.finetune.rewards.reward_model import RewardModel, has_same_base
from dialint.finetune.rewards.verifiable import (
    GroundTruth,
    Reward,
    RewardWeights,
    compute_reward,
    scannable_rewrite,
)

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt
    from dialint.detector.pipeline import ReleaseDetector
    from dialint.detector.records import Dialogue

DEFAULT_THRESHOLD = 0.2
"""Probability from which a scanner finds an error, for a code that its release has no threshold for."""


class PreferenceModel(Protocol):
    """Predicts how much people prefer an answer."""

    def preferences(self, questions: Sequence[LabelledQuestion], texts: Sequence[str]) -> list[float]:
        """One number for each text as the answer to its question; of a reward model in [-1, 1]."""
        ...


@dataclass(frozen=True)
class ScannerCheck:
    """A scanner that scores turns and their rewrites."""

    detector: ReleaseDetector

    def probabilities(
        self, questions: Sequence[LabelledQuestion], texts: Sequence[str | None]
    ) -> list[float | None]:
        """The scanner's probability of each question's code at its turn, with that text in the turn; None for
        no text and for a code that the scanner does not cover."""
        scanned = [index for index, text in enumerate(texts) if text is not None]
        dialogues = [_replace_turn(questions[index], texts[index] or "") for index in scanned]
        verdicts = self.detector.verdicts(dialogues, all_probabilities=True)
        results: list[float | None] = [None] * len(questions)
        for index, verdict in zip(scanned, verdicts, strict=True):
            question = questions[index].question
            results[index] = (verdict.probabilities or {}).get(question.turn, {}).get(question.code)
        return results

    def threshold(self, code: str) -> float:
        """The probability from which the scanner reports an error of `code`."""
        entry = self.detector.info.codes.get(code)
        contract = entry.scan.contract if entry is not None and entry.scan is not None else None
        return contract.threshold if contract is not None else DEFAULT_THRESHOLD


def _replace_turn(item: LabelledQuestion, text: str) -> Dialogue:
    """The question's dialogue with another text in its turn."""
    dialogue = item.question.dialogue
    turns = tuple(
        turn.model_copy(update={"text": text}) if turn.index == item.question.turn else turn
        for turn in dialogue.turns
    )
    return dialogue.model_copy(update={"turns": turns})


@dataclass
class RewardFunction:
    """Rewards answers to `questions`, which are referred to by their index."""

    questions: Sequence[LabelledQuestion]
    weights: RewardWeights
    preference_model: PreferenceModel | None = None
    scanner: ScannerCheck | None = None
    ground_truths: list[GroundTruth] = field(default_factory=list)

    def __post_init__(self) -> None:
        before: list[float | None] = [None] * len(self.questions)
        if self.scanner is not None:
            before = self.scanner.probabilities(self.questions, [item.text for item in self.questions])
        self.ground_truths = [
            GroundTruth(
                probability=item.probability,
                text=item.text,
                span=item.span,
                severity=item.severity,
                rewrite=item.rewrite,
                before=probability,
                threshold=self.scanner.threshold(item.question.code) if self.scanner is not None else 0.5,
                stands_for=item.stands_for,
            )
            for item, probability in zip(self.questions, before, strict=True)
        ]

    def rewards(self, indices: Sequence[int], texts: Sequence[str]) -> list[Reward]:
        """The reward of each text as an answer to the question of its index."""
        questions = [self.questions[index] for index in indices]
        truths = [self.ground_truths[index] for index in indices]
        preferences: list[Any] = [None] * len(indices)
        if self.preference_model is not None:
            preferences = list(self.preference_model.preferences(questions, texts))
        after: list[float | None] = [None] * len(indices)
        if self.scanner is not None:
            rewrites = [
                scannable_rewrite(parse_answer(text), truth)
                for text, truth in zip(texts, truths, strict=True)
            ]
            scanned = self.scanner.probabilities(questions, rewrites)
            after = [  # a rewrite that the scanner cannot score counts as an error that is still there
                1.0 if rewrite is not None and probability is None else probability
                for rewrite, probability in zip(rewrites, scanned, strict=True)
            ]
        return [
            compute_reward(text, truth, self.weights, probability, preference)
            for text, truth, probability, preference in zip(texts, truths, after, preferences, strict=True)
        ]


def build_reward_function(
    config: Any,
    questions: Sequence[LabelledQuestion],
    model: Any,
    source: base_models.ModelSource,
    prompt: JudgePrompt,
) -> RewardFunction:
    """The reward function of answers to `questions`, by the `weights`, `reward` and `scanner` of `config`.
    `model` is the policy, loaded from `source`; a reward model on its base becomes one of its adapters.
    `prompt` is the policy's."""
    from dialint.detector.interface import DetectorConfig
    from dialint.detector.pipeline import load_detector
    from dialint.finetune.train.distributed import is_sharded, resolve_device, uses_bf16

    device, bf16 = resolve_device(config.running), uses_bf16(config.running)
    reward_model: PreferenceModel | None = None
    folder = reward_folder(config.reward)
    if folder is not None:
        takes_adapters = hasattr(model, "peft_config") and not is_sharded()
        shared = takes_adapters and has_same_base(source, base_models.resolve_source(str(folder)))
        reward_model = RewardModel.load(
            folder,
            device,
            no_error_log_odds(questions, config.weights),
            bf16=bf16,
            policy=model if shared else None,
        )
    elif config.reward is not None:
        reward_model = CustomReward(config.reward, load_function(config.reward)[0], prompt)
    scanner = None
    if config.scanner is not None:
        options = DetectorConfig(release=config.scanner, device=device, threads=config.running.threads)
        scanner = ScannerCheck(load_detector(options))
    return RewardFunction(questions, config.weights, reward_model, scanner)


def no_error_log_odds(questions: Sequence[LabelledQuestion], weights: RewardWeights) -> float:
    """The log odds that a question is no error, each weighted by the questions it stands for; 0 where every
    question has the same weight."""
    if weights.most_stands_for == 1:
        return 0.0
    weighted = [(item.probability, min(item.stands_for, weights.most_stands_for)) for item in questions]
    errors = sum(probability * weight for probability, weight in weighted)
    others = sum((1 - probability) * weight for probability, weight in weighted)
    return math.log(others / errors) if min(others, errors) > 0 else 0.0
