"""What a stage of the judge leaves behind: a model folder that the next stage, scoring and serving read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import disk_errors, read_manifest, write_json
from dialint.detector.errors import ConfigError
from dialint.detector.judge import PROMPT_VERSION
from dialint.finetune.base_models import loading
from dialint.finetune.train import checkpoint, lineage

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt

JUDGE = "judge.json"


def save_model(
    config: Any,
    kind: str,
    model: Any,
    prompt: JudgePrompt,
    source: loading.ModelSource,
    data: dict[str, str],
    figures: dict[str, Any],
    weights: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the model, its tokenizer, how it is asked, and last the manifest; checkpoints go then. Of several
    processes the first one does; the others get no manifest. `weights` as `loading.save` takes them."""
    from accelerate import PartialState

    if not PartialState().is_main_process:
        return {}
    out: Path = config.out
    with disk_errors(out):
        loading.save_model(model, out, source, weights)
        prompt.tokenizer.save_pretrained(out)
        asked = {"prompt": PROMPT_VERSION, "detail": prompt.detail, "prompt_tokens": prompt.max_tokens}
        write_json(out / JUDGE, asked)
        told = lineage.manifest_content(kind, config, source, data, figures)
        (out / "README.md").write_text(render_card(out.name, kind, told))
    content = lineage.seal_folder(out, told)
    checkpoint.remove_all(out)
    return content


def judge_source(model: str) -> loading.ModelSource:
    """Where a judge's weights come from; `model` as `loading.source_of` takes it.

    Raises:
        ConfigError: E_JUDGE, a reward model; E_BASE or E_ADAPTER.
    """
    source = loading.resolve_source(model)
    manifest = source.folder / loading.MANIFEST
    if manifest.exists() and read_manifest(manifest).get("kind") == "reward":
        raise ConfigError("E_JUDGE", f"{model}: no judge, but a reward model")
    return source


def load_prompt(source: loading.ModelSource) -> JudgePrompt:
    """How a judge wants to be asked, with its own tokenizer.

    Raises:
        ConfigError: E_JUDGE, it was taught with other words than those of this version.
    """
    from dialint.detector.engines.judge_prompt import JudgePrompt

    folder = source.folder
    told = read_prompt_settings(folder)
    if told.get("prompt", PROMPT_VERSION) != PROMPT_VERSION:
        raise ConfigError("E_JUDGE", f"{folder}: taught with {told['prompt']}, and this is {PROMPT_VERSION}")
    return JudgePrompt.of(
        loading.tokenizer_folder(source), told.get("detail", "short"), int(told.get("prompt_tokens", 1024))
    )


def read_prompt_settings(folder: Path) -> dict[str, Any]:
    """How a judge's folder wants to be asked; nothing for a base."""
    path = folder / JUDGE
    told: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return told


MADE_BY = {
    "judge": "learnt from the labels of people and from rewards",
    "reward": "learnt which of two answers people prefer",
}


def render_card(name: str, kind: str, content: Mapping[str, Any]) -> str:
    """Markdown: what it is, where it comes from, figures, what it is not for. `content` is what the
    folder's manifest says."""
    base = content["base"]
    named = base["name"].rstrip("/").rpartition("/")[2]
    return "\n".join(
        (
            f"# {name}\n",
            f"A {kind} of support agents' turns: a language model that has {MADE_BY[kind]}. Base: {named}"
            + (f", revision {base['revision']}" if base["revision"] else "")
            + (f", weights sha256 `{base['sha256']}`" if base["sha256"] else "")
            + "; its licence goes on to hold.\n",
            "## Lineage\n",
            *(f"- {what}: `{digest}`" for what, digest in content["data"].items()),
            f"- commit: `{content['commit'] or 'unknown'}`",
            "- options, seed and versions of libraries: `MANIFEST.json`\n",
            "## Figures\n",
            *_figures({name: part for name, part in content["figures"].items() if name != "private"}),
            "",
            "Held-out figures come from `dialint eval judge`; what stands here was seen while it learnt.\n",
            *_privacy(content["figures"].get("private")),
            "## What it is not for\n",
            "- Nobody's pay may follow from its answers alone: they are for reviewers to confirm.",
            "- It knows no policies, prices or facts; it judges what stands in the dialogue.",
            "- It was taught one way of asking (`judge.json`); asked otherwise its answers mean nothing.\n",
        )
    )


def _privacy(private: Mapping[str, Any] | None) -> list[str]:
    if private is None:
        return []
    return [
        "## Privacy\n",
        f"Fine-tuned with differential privacy: epsilon {private['epsilon']:g}, delta {private['delta']:g}, "
        f"for each of {private['dialogues']} dialogues of the train split with all that was made of it, its "
        "labels taken as given. Not for the dev split, nor for what earlier or later stages learnt.\n",
    ]


def _figures(figures: Mapping[str, Any], above: str = "") -> list[str]:
    lines = []
    for name, value in figures.items():
        if isinstance(value, Mapping):
            lines += _figures(value, f"{above}{name} ")
        elif isinstance(value, int | float):
            lines.append(f"- {above}{name}: {round(value, 4)}")
    return lines
