"""The folder that pre-training leaves: weights, model card and manifest, measured as they lie there."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import described, fingerprint, sha256_file, versions, write_manifest
from dialint.finetune.corpus import Corpus
from dialint.finetune.decoder.card import card
from dialint.finetune.decoder.loop import Run, Setting, State
from dialint.finetune.decoder.perplexity import measure, together
from dialint.finetune.decoder.writing import Piece
from dialint.finetune.training.finite import refuse_not_finite

if TYPE_CHECKING:
    from dialint.finetune.pretrain import PretrainConfig


def save(
    config: PretrainConfig, run: Run, state: State, held: list[Piece], facts: dict[str, Any], seconds: float
) -> None:
    """The best weights with all that tells how they came about; the manifest last."""
    import torch
    from transformers.utils import logging

    dtype = torch.bfloat16 if config.dtype == "bf16" else torch.float32
    run.model.to(dtype).to(torch.float32)  # measured as it will be loaded
    costs = measure(run.forward, held, run.setting)
    figures = {source: cost.figures() for source, cost in sorted(costs.items())}
    run.model.set_attn_implementation("sdpa" if run.model._supports_sdpa else "eager")
    kept = run.model.to("cpu", dtype)
    refuse_not_finite(kept.state_dict(), config.out)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    kept.save_pretrained(config.out)
    content = {
        "kind": "decoder",
        **facts,
        "parameters": sizes(kept),
        "tokens_seen": state.tokens,
        "steps": state.step,
        "best_step": state.best_step,
        "heldout": {"all": together(costs).figures(), **figures},
        **_origin(config, run.setting),
        "seconds": round(seconds),
        "outputs": [described(path) for path in sorted(config.out.glob("*.safetensors"))],
    }
    (config.out / "README.md").write_text(card(content, config.out.name))
    write_manifest(config.out / "training.json", content)


def _origin(config: PretrainConfig, setting: Setting) -> dict[str, Any]:
    """Options, corpus, base and machine."""
    told = {
        key: value if isinstance(value, int | float) else str(value) for key, value in asdict(config).items()
    }
    bases = sorted(config.base.glob("*.safetensors")) if config.base else []
    return {
        "precision": setting.precision,
        "attention": setting.way,
        "base_sha256": {path.name: sha256_file(path) for path in bases},
        "corpus": fingerprint(Corpus(config.corpus).manifest()),
        "config": told,
        "cores": os.cpu_count(),
        "versions": versions("torch", "transformers", "tokenizers"),
    }


def sizes(model: Any) -> dict[str, int]:
    """Parameters in all, and those beside the embeddings (tied ones count once)."""
    total = sum(p.numel() for p in model.parameters())
    tables = {id(part.weight): part.weight.numel() for part in _tables(model)}
    return {"all": total, "beside_embeddings": total - sum(tables.values())}


def _tables(model: Any) -> list[Any]:
    found = (model.get_input_embeddings(), model.get_output_embeddings())
    return [part for part in found if part is not None]
