"""The model card of a pre-trained decoder, written from its manifest."""

from __future__ import annotations

from typing import Any


def model_card(content: dict[str, Any], name: str) -> str:
    """Markdown: description, data and licences, figures, limits. `content` is that of ``training.json``."""
    config = content["config"]
    return "\n".join(
        (
            f"# {name}\n",
            _description(content) + "\n",
            "## Data\n",
            _data(content) + "\n",
            "## Training\n",
            f"{content['tokens_seen']:,} tokens in {content['steps']} steps (best weights after step "
            f"{content['best_step']}), {content['precision']}, rows of {config['row_tokens']} tokens in "
            "which dialogues do not see each other, peak rate and all other options in `training.json`; "
            f"{content['seconds'] / 60:.0f} minutes on {content['cores']} cores.\n",
            "## Figures\n",
            _figures(content["heldout"]) + "\n",
            "## What it is not for\n",
            _limits(content),
        )
    )


def _description(content: dict[str, Any]) -> str:
    config, size = content["config"], content["parameters"]
    if content["base_sha256"]:
        hashes = ", ".join(f"{name} `{digest}`" for name, digest in content["base_sha256"].items())
        return (
            f"A decoder trained further on support dialogues. Base: {config['base']} ({hashes}); its licence "
            f"goes on to hold. {size['all']:,} parameters. Dialogues written as: {content['written'][0]}."
        )
    return (
        f"A small language model of support dialogues, trained from random weights: Qwen3's architecture, "
        f"depth {config['depth']}, {size['beside_embeddings']:,} parameters beside {config['vocabulary']} "
        f"tied embeddings ({size['all']:,} in all), {config['dtype']}. For tests and for training a judge "
        "without a download; a backbone for scanners. Role marks, verdict slots and a ChatML template are "
        "part of its byte-level tokenizer."
    )


def _data(content: dict[str, Any]) -> str:
    masked = (
        "Personal data were left in the text." if content["config"]["raw"] else "Personal data were masked."
    )
    lines = [
        f"- {name}: {source['train']} dialogues learnt, {source['heldout']} held out; {source['licence']}"
        for name, source in sorted(content["sources"].items())
    ]
    return "\n".join(lines) + f"\n\nNo text of these corpora ships. {masked}"


def _figures(heldout: dict[str, dict[str, float]]) -> str:
    rows = [
        f"| {name} | {row['tokens']:,} | {row['perplexity']:.2f} | {row['bits_per_byte']:.3f} |"
        for name, row in heldout.items()
    ]
    return (
        "On held-out dialogues. Perplexity counts every token, marks of roles and turn ends included, so it "
        "compares models of this tokenizer only; bits per byte of text compare any.\n\n"
        "| source | tokens | perplexity | bits per byte |\n|---|---|---|---|\n" + "\n".join(rows)
    )


def _limits(content: dict[str, Any]) -> str:
    lines = [
        "Not for talking to customers: it continues dialogues as its corpora would and knows no facts.",
        "Not a detector: it has learnt no verdicts.",
        f"It has never seen more than {content['config']['row_tokens']} tokens at once.",
        "Its corpora cover few trades and manners of speech; expect worse figures on other logs.",
    ]
    if not content["base_sha256"]:
        lines.append("It follows no instructions before it is fine-tuned.")
    return "\n".join(f"- {line}" for line in lines) + "\n"
