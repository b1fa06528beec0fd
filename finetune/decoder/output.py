"""The folder that pre-training writes: weights, model card and manifest, evaluated as stored."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import file_entry, fingerprint, package_versions, sha256_file, write_manifest
from dialint.finetune.base_models.finite import validate_finite
from dialint.finetune.decoder.corpus import Corpus
from dialint.finetune.decoder.model import TrainOptions
from dialint.finetune.decoder.perplexity import evaluate_perplexity, sum_costs
from dialint.finetune.decoder.trainer import PretrainTrainer
from dialint.finetune.decoder.writing import Piece
from dialint.finetune.train.loop import TrainerState

if TYPE_CHECKING:
    from dialint.finetune.decoder.options import PretrainConfig


def save_decoder(
    config: PretrainConfig,
    trainer: PretrainTrainer,
    state: TrainerState,
    held: list[Piece],
    facts: dict[str, Any],
    seconds: float,
) -> None:
    """The best weights with all that tells how they came about; the manifest last."""
    import torch
    from transformers.utils import logging

    dtype = torch.bfloat16 if config.dtype == "bf16" else torch.float32
    trainer.model.to(dtype).to(torch.float32)  # measured as it will be loaded
    costs = evaluate_perplexity(trainer.forward, held, trainer.options)
    figures = {source: cost.to_dict() for source, cost in sorted(costs.items())}
    trainer.model.set_attn_implementation("sdpa" if trainer.model._supports_sdpa else "eager")
    kept = trainer.model.to("cpu", dtype)
    validate_finite(kept.state_dict(), config.out)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    kept.save_pretrained(config.out)
    content = {
        "kind": "decoder",
        **facts,
        "parameters": sizes(kept),
        "tokens_seen": state.tokens,
        "steps": state.step,
        "best_step": state.best_step,
        "heldout": {"all": sum_costs(costs).to_dict(), **figures},
        **_origin(config, trainer.options),
        "seconds": round(seconds),
        "outputs": [file_entry(path) for path in sorted(config.out.glob("*.safetensors"))],
    }
    (config.out / "README.md").write_text(model_card(content, config.out.name))
    write_manifest(config.out / "training.json", content)


def _origin(config: PretrainConfig, options: TrainOptions) -> dict[str, Any]:
    """Options, corpus, base and machine."""
    told = {
        key: value if isinstance(value, int | float) else str(value) for key, value in asdict(config).items()
    }
    bases = sorted(config.base.glob("*.safetensors")) if config.base else []
    return {
        "precision": options.precision,
        "attention": options.attention,
        "base_sha256": {path.name: sha256_file(path) for path in bases},
        "corpus": fingerprint(Corpus(config.corpus).manifest()),
        "config": told,
        "cores": os.cpu_count(),
        "versions": package_versions("torch", "transformers", "tokenizers"),
    }


def sizes(model: Any) -> dict[str, int]:
    """Parameters in all, and those beside the embeddings (tied ones count once)."""
    total = sum(p.numel() for p in model.parameters())
    tables = {id(part.weight): part.weight.numel() for part in _tables(model)}
    return {"all": total, "beside_embeddings": total - sum(tables.values())}


def _tables(model: Any) -> list[Any]:
    found = (model.get_input_embeddings(), model.get_output_embeddings())
    return [part for part in found if part is not None]


def model_card(content: dict[str, Any], name: str) -> str:
    """Markdown: what it is, data and licences, figures, what it is not for. `content` is what
    ``training.json`` holds."""
    config = content["config"]
    return "\n".join(
        (
            f"# {name}\n",
            _what(content) + "\n",
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


def _what(content: dict[str, Any]) -> str:
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
