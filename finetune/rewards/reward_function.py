"""The reward function of PPO and GRPO: verifiable terms, a scanner's check of rewrites, and ``--reward``.

`verifiable.py` has the terms; here the models are called whose outputs the terms need. ``--reward`` names the
folder of a reward model, or a function, ``module:function`` or ``FILE.py:function``:

    def polite(prompts, completions, **columns):
        return [float("sorry" in completion[0]["content"]) for completion in completions]

It is called as trl calls its ``reward_funcs``: with the chat messages of each prompt, those of each
completion, and by name a list each of the columns in `COLUMNS`; it returns a finite number for each
completion. The file is executed only because an option names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any, Protocol

from dialint.detector.artifacts import data_fingerprint, sha256_file
from dialint.detector.errors import ConfigError
from dialint.detector.judge import parse_answer
from dialint.eval.questions import LabelledQuestion
from dialint.finetune.rewards.reward_model import RewardModel
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


COLUMNS: dict[str, Callable[[LabelledQuestion], Any]] = {
    "dialogue_id": lambda item: item.question.dialogue.id,
    "turn": lambda item: item.question.turn,
    "code": lambda item: item.code.code,
    "text": lambda item: item.text,
    "probability": lambda item: item.probability,
}
"""Columns that a function gets of the questions: `text` of the turn, `probability` that it has the error."""


@dataclass(frozen=True)
class CustomReward:
    """A function as a model of preferences; `prompt` writes the messages that it is called with."""

    name: str
    function: Callable[..., Sequence[float]]
    prompt: JudgePrompt

    def preferences(self, questions: Sequence[LabelledQuestion], texts: Sequence[str]) -> list[float]:
        """The function's reward of each text as the answer to its question.

        Raises:
            ConfigError: E_REWARD, it fails, or does not return a finite number for each.
        """
        columns = {name: [read(item) for item in questions] for name, read in COLUMNS.items()}
        prompts = [self.prompt.messages(item.question, item.code) for item in questions]
        completions = [[{"role": "assistant", "content": text}] for text in texts]
        try:
            values = [float(value) for value in self.function(prompts, completions, **columns)]
        except Exception as error:
            raise ConfigError("E_REWARD", f"--reward {self.name}: {type(error).__name__}: {error}") from error
        if len(values) != len(texts) or not all(map(math.isfinite, values)):
            raise ConfigError(
                "E_REWARD",
                f"--reward {self.name}: {len(values)} values for {len(texts)} completions; expected a finite "
                "number for each",
            )
        return values


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
    config: Any, questions: Sequence[LabelledQuestion], prompt: JudgePrompt
) -> RewardFunction:
    """The reward function of answers to `questions`, by the `weights`, `reward` and `scanner` of `config`;
    `prompt` is the policy's."""
    from dialint.detector.interface import DetectorConfig
    from dialint.detector.pipeline import load_detector
    from dialint.finetune.train.distributed import resolve_device, uses_bf16

    device, bf16 = resolve_device(config.running), uses_bf16(config.running)
    reward_model: PreferenceModel | None = None
    folder = reward_folder(config.reward)
    if folder is not None:
        reward_model = RewardModel.load(
            folder,
            device,
            no_error_log_odds(questions, config.weights),
            bf16=bf16,
            quantise=config.adapters.quantise,
        )
    elif config.reward is not None:
        reward_model = CustomReward(config.reward, load_function(config.reward)[0], prompt)
    scanner = None
    if config.scanner is not None:
        options = DetectorConfig(release=config.scanner, device=device, threads=config.running.threads)
        scanner = ScannerCheck(load_detector(options))
    return RewardFunction(questions, config.weights, reward_model, scanner)


def load_function(name: str) -> tuple[Callable[..., Sequence[float]], Path]:
    """The function that `name` says, and its file.

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
    """The folder of a reward model, None for a function or nothing."""
    return None if reward is None or ":" in reward else Path(reward)


def reward_fingerprint(reward: str) -> str:
    """Changes with a reward model, or with the file of a function."""
    folder = reward_folder(reward)
    return sha256_file(load_function(reward)[1]) if folder is None else data_fingerprint(folder)


def no_error_log_odds(questions: Sequence[LabelledQuestion], weights: RewardWeights) -> float:
    """The log odds that a question is no error, each weighted by the questions it stands for; 0 where every
    question has the same weight."""
    if weights.most_stands_for == 1:
        return 0.0
    weighted = [(item.probability, min(item.stands_for, weights.most_stands_for)) for item in questions]
    errors = sum(probability * weight for probability, weight in weighted)
    others = sum((1 - probability) * weight for probability, weight in weighted)
    return math.log(others / errors) if min(others, errors) > 0 else 0.0
