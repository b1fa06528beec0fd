"""The reward function of PPO and GRPO: the terms of `verifiable.py`, and ``--reward``.

``--reward`` names the folder of a reward model, or a function, ``module:function`` or ``FILE.py:function``:

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
from typing import TYPE_CHECKING, Any, Protocol

from dialint.detector.artifacts import data_fingerprint, sha256_file
from dialint.detector.errors import ConfigError
from dialint.eval.labelled import LabelledQuestion
from dialint.finetune.rewards.reward_model import RewardModel
from dialint.finetune.rewards.verifiable import Reward, RewardWeights, compute_reward

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt


class PreferenceModel(Protocol):
    """Predicts how much people prefer an answer."""

    def preferences(self, questions: Sequence[LabelledQuestion], texts: Sequence[str]) -> list[float]:
        """One number for each text as the answer to its question; of a reward model in [-1, 1]."""
        ...


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
        prompts = [self.prompt.fold(item.question.messages) for item in questions]
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
class RewardFunction:
    """Rewards answers to `questions`, which are referred to by their index."""

    questions: Sequence[LabelledQuestion]
    weights: RewardWeights
    preference_model: PreferenceModel | None = None

    def rewards(self, indices: Sequence[int], texts: Sequence[str]) -> list[Reward]:
        """The reward of each text as an answer to the question of its index."""
        questions = [self.questions[index] for index in indices]
        preferences: list[float | None] = [None] * len(texts)
        if self.preference_model is not None:
            preferences = list(self.preference_model.preferences(questions, texts))
        return [
            compute_reward(text, item, self.weights, preference)
            for text, item, preference in zip(texts, questions, preferences, strict=True)
        ]


def build_reward_function(
    config: Any, questions: Sequence[LabelledQuestion], prompt: JudgePrompt
) -> RewardFunction:
    """The reward function of answers to `questions`, by the `weights` and `reward` of `config`; `prompt` is
    the policy's."""
    from dialint.finetune.train.distributed import resolve_device, uses_bf16

    preference_model: PreferenceModel | None = None
    folder = reward_folder(config.reward)
    if folder is not None:
        preference_model = RewardModel.load(
            folder,
            resolve_device(config.running),
            bf16=uses_bf16(config.running),
            quantise=config.adapters.quantise,
        )
    elif config.reward is not None:
        preference_model = CustomReward(config.reward, load_function(config.reward)[0], prompt)
    return RewardFunction(questions, config.weights, preference_model)


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
