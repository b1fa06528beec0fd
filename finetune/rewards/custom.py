"""A reward of the user's own: ``--reward module:function`` or ``--reward FILE.py:function``.

    def polite(prompts, completions, **columns):
        return [float("sorry" in completion[0]["content"]) for completion in completions]

It is called as trl calls its ``reward_funcs``: with the chat messages of each prompt, those of each
completion, and by name a list each of the columns in `COLUMNS`; it returns a finite number for each
completion. The file is executed only because an option names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import data_fingerprint, sha256_file
from dialint.detector.errors import ConfigError
from dialint.eval.questions import LabelledQuestion

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt

COLUMNS: dict[str, Callable[[LabelledQuestion], Any]] = {
    "dialogue_id": lambda item: item.question.dialogue.id,
    "turn": lambda item: item.question.turn,
    "code": lambda item: item.code.code,
    "text": lambda item: item.text,
    "probability": lambda item: item.probability,
}
"""What a function is told of each question: `text` of the turn, `probability` that it has the error."""


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
