"""The prompt settings in a judge's model folder; later stages and the reward model use the same prompt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dialint.detector.errors import ConfigError
from dialint.detector.judge import PROMPT_VERSION
from dialint.finetune.base_models import loading

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt

PROMPT_FILE = "judge.json"
"""The prompt's version and settings."""


def load_prompt(source: loading.ModelSource) -> JudgePrompt:
    """The prompt that a judge was trained with, with its own tokenizer; the default one for a base.

    Raises:
        ConfigError: E_JUDGE, it was trained with another prompt version.
    """
    from dialint.detector.engines.judge_prompt import JudgePrompt

    folder = source.folder
    path = folder / PROMPT_FILE
    settings: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    version = settings.get("prompt", PROMPT_VERSION)
    if version != PROMPT_VERSION:
        raise ConfigError("E_JUDGE", f"{folder}: trained with {version}, and this is {PROMPT_VERSION}")
    return JudgePrompt.of(
        loading.tokenizer_folder(source),
        settings.get("detail", "short"),
        int(settings.get("prompt_tokens", 1024)),
    )
