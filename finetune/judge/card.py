"""The model card of a judge, written from its own manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MADE_BY = {
    "judge": "learnt from the labels of people and from rewards",
    "reward": "learnt which of two answers people prefer",
}


def card(name: str, kind: str, content: Mapping[str, Any]) -> str:
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
