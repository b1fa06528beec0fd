"""Saves the model folder of a judge, with its model card; `detector.engines.judge_local` loads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import disk_errors, write_json
from dialint.detector.engines.base_models import ModelSource
from dialint.detector.judge import PROMPT_VERSION
from dialint.detector.judge.config import PROMPT_FILE
from dialint.finetune.train import adapters, checkpoint, lineage

if TYPE_CHECKING:
    from dialint.detector.engines.judge_prompt import JudgePrompt


def save_judge(
    config: Any,
    kind: str,
    model: Any,
    prompt: JudgePrompt,
    source: ModelSource,
    inputs: dict[str, str],
    figures: dict[str, Any],
    weights: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write model, tokenizer, prompt settings, card and last the manifest, and remove the checkpoints; the
    manifest. Of several processes the first one writes, and the others get an empty manifest. `weights` as in
    `adapters.save_model`."""
    from accelerate import PartialState

    if not PartialState().is_main_process:
        return {}
    out: Path = config.out
    with disk_errors(out):
        adapters.save_model(model, out, source, weights)
        prompt.tokenizer.save_pretrained(out)
        settings = {"prompt": PROMPT_VERSION, "detail": prompt.detail, "prompt_tokens": prompt.max_tokens}
        write_json(out / PROMPT_FILE, settings)
        content = lineage.manifest_content(kind, config, source, inputs, figures)
        (out / "README.md").write_text(render_card(out.name, kind, content))
    manifest = lineage.seal_folder(out, content)
    checkpoint.remove_all(out)
    return manifest


TRAINED_BY = {
    "judge": "learnt from the labels of people and from rewards",
    "reward": "learnt which of two answers people prefer",
}


def render_card(name: str, kind: str, content: Mapping[str, Any]) -> str:
    """The model card as Markdown, from the `content` of the folder's manifest."""
    base = content["base"]
    base_name = base["name"].rstrip("/").rpartition("/")[2]
    return "\n".join(
        (
            f"# {name}\n",
            f"A {kind} of support agents' turns: a language model that has {TRAINED_BY[kind]}. "
            f"Base: {base_name}"
            + (f", revision {base['revision']}" if base["revision"] else "")
            + (f", weights sha256 `{base['sha256']}`" if base["sha256"] else "")
            + "; its licence goes on to hold.\n",
            "## Lineage\n",
            *(f"- {what}: `{digest}`" for what, digest in content["data"].items()),
            f"- commit: `{content['commit'] or 'unknown'}`",
            "- options, seed and versions of libraries: `manifest.json`\n",
            "## Figures\n",
            *_figure_lines({name: part for name, part in content["figures"].items() if name != "private"}),
            "",
            "Held-out figures come from `dialint eval judge`; what stands here was seen while it learnt.\n",
            *_privacy_section(content["figures"].get("private")),
            "## What it is not for\n",
            "- Nobody's pay may follow from its answers alone: they are for reviewers to confirm.",
            "- It knows no policies, prices or facts; it judges what stands in the dialogue.",
            "- It was taught one way of asking (`judge.json`); asked otherwise its answers mean nothing.\n",
        )
    )


def _privacy_section(private: Mapping[str, Any] | None) -> list[str]:
    if private is None:
        return []
    return [
        "## Privacy\n",
        f"Fine-tuned with differential privacy: epsilon {private['epsilon']:g}, delta {private['delta']:g}, "
        f"for each of {private['dialogues']} dialogues of the train split with all that was made of it, its "
        "labels taken as given. Not for the dev split, nor for what earlier or later stages learnt.\n",
    ]


def _figure_lines(figures: Mapping[str, Any], prefix: str = "") -> list[str]:
    lines = []
    for name, value in figures.items():
        if isinstance(value, Mapping):
            lines += _figure_lines(value, f"{prefix}{name} ")
        elif isinstance(value, int | float):
            lines.append(f"- {prefix}{name}: {round(value, 4)}")
    return lines
