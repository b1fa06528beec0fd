"""What a stage of the judge leaves behind: a model folder that the next stage, scoring and serving read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import disk_errors, read_manifest, write_json
from dialint.detector.errors import ConfigError
from dialint.detector.judge import PROMPT_VERSION
from dialint.finetune.base_models import bases
from dialint.finetune.judge.card import card
from dialint.finetune.training import checkpoints, lineage

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt

JUDGE = "judge.json"


def save(
    config: Any,
    kind: str,
    model: Any,
    prompt: JudgePrompt,
    source: bases.Source,
    data: dict[str, str],
    figures: dict[str, Any],
    weights: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the model, its tokenizer, how it is asked, and last the manifest; checkpoints go then. Of several
    processes the first one does; the others get no manifest. `weights` as `bases.save` takes them."""
    from accelerate import PartialState

    if not PartialState().is_main_process:
        return {}
    out: Path = config.out
    with disk_errors(out):
        bases.save(model, out, source, weights)
        prompt.tokenizer.save_pretrained(out)
        asked = {"prompt": PROMPT_VERSION, "detail": prompt.detail, "prompt_tokens": prompt.max_tokens}
        write_json(out / JUDGE, asked)
        told = lineage.told(kind, config, source, data, figures)
        (out / "README.md").write_text(card(out.name, kind, told))
    content = lineage.seal(out, told)
    checkpoints.clear(out)
    return content


def judge_of(model: str) -> bases.Source:
    """Where a judge's weights come from; `model` as `bases.source_of` takes it.

    Raises:
        ConfigError: E_JUDGE, a reward model; E_BASE or E_ADAPTER.
    """
    source = bases.source_of(model)
    manifest = source.folder / bases.MANIFEST
    if manifest.exists() and read_manifest(manifest).get("kind") == "reward":
        raise ConfigError("E_JUDGE", f"{model}: no judge, but a reward model")
    return source


def prompt_of(source: bases.Source) -> JudgePrompt:
    """How a judge wants to be asked, with its own tokenizer.

    Raises:
        ConfigError: E_JUDGE, it was taught with other words than those of this version.
    """
    from dialint.detector.engines.judge_prompt import JudgePrompt

    folder = source.folder
    told = asked_as(folder)
    if told.get("prompt", PROMPT_VERSION) != PROMPT_VERSION:
        raise ConfigError("E_JUDGE", f"{folder}: taught with {told['prompt']}, and this is {PROMPT_VERSION}")
    return JudgePrompt.of(
        bases.tokenizer_folder(source), told.get("detail", "short"), int(told.get("prompt_tokens", 1024))
    )


def asked_as(folder: Path) -> dict[str, Any]:
    """How a judge's folder wants to be asked; nothing for a base."""
    path = folder / JUDGE
    told: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return told
