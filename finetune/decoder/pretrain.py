"""Pre-trains a decoder on dialogues: the small one from random weights, or any Hugging Face decoder further.

    dialint train pretrain --corpus build/corpus --out build/decoder
    dialint train pretrain --corpus build/corpus --base models/some-decoder --out build/adapted

Reads the Parquet shards of a corpus folder. Writes a folder that transformers loads: ``config.json``,
``model.safetensors``, the tokenizer's files, ``training.json``, ``README.md`` (a model card) and
``metrics.jsonl``. A stopped run resumes from its last checkpoint. Verdicts are not trained here: that is
``dialint train sft scan``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dialint.detector.artifacts import (
    MANIFEST,
    disk_errors,
    file_entry,
    fingerprint,
    make_output_folder,
    package_versions,
    read_manifest,
    require_new,
    sha256_file,
    write_manifest,
)
from dialint.detector.engines.base_models import ModelSource, load_base_model, resolve_base, weights_sha256
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError
from dialint.finetune.decoder.options import PretrainConfig
from dialint.finetune.decoder.text import (
    Piece,
    SourcedDialogue,
    Writer,
    load_tokenizer,
    own_writer,
    read_corpus,
    sample,
    template_writer,
)
from dialint.finetune.train import checkpoint
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.finite import validate_finite
from dialint.finetune.train.lineage import TRAINING, config_to_dict, job_of_config, render_template
from dialint.finetune.train.memory import TrainingSetup, print_plan

if TYPE_CHECKING:
    from dialint.finetune.decoder.trainer import PretrainTrainer
    from dialint.finetune.train.loop import TrainerState

SPLITS: tuple[Literal["train", "heldout"], ...] = ("train", "heldout")
TOKENIZER_FILES = ("*token*.json", "chat_template.jinja")
CARD = Path(__file__).with_name("MODEL_CARD.md.jinja")


def pretrain(config: PretrainConfig) -> None:
    """Pre-train a decoder on dialogues.

    Raises:
        ConfigError: nothing to train on, or a base that does not load.
        OutputRefused: `out` holds a decoder already.
    """
    import torch

    from dialint.detector.engines.local import resolve_device, resolve_precision
    from dialint.finetune.decoder.trainer import PretrainTrainer

    require_new(config.out, TRAINING, "a trained decoder")
    require_single_process("train pretrain")
    running = config.running
    running.validate()
    if config.base is not None:
        config = replace(config, base=resolve_base(config.base).folder)
    if running.dry_run:
        _print_memory(config)
        return
    torch.set_num_threads(running.threads)
    base_hashes = []
    if config.base is not None:
        load_tokenizer(config.base)
        base_hashes = [weights_sha256(config.base), sha256_file(config.base / "tokenizer.json")]
    corpus = fingerprint(read_manifest(config.corpus / MANIFEST))
    job = job_of_config(config, corpus, *base_hashes)
    train, heldout = (list(read_corpus(config.corpus, split, config.languages)) for split in SPLITS)
    if not train or not heldout:
        raise ConfigError("E_CORPUS", f"{config.corpus}: no dialogue of these languages")
    with disk_errors(config.out):
        make_output_folder(config.out)
    writers = _build_writers(config, train)
    pieces = _encode(config, writers, train)
    heldout_sample = writers[0].pieces(sample(heldout, config.heldout_per_source), config.row_tokens)
    if not pieces or not heldout_sample:
        raise ConfigError("E_TEMPLATE", "the template refuses every dialogue; use --style plain")
    n_tokens = sum(len(piece.ids) for piece in pieces)
    print(f"{len(pieces)} pieces to train on, {n_tokens} tokens", file=sys.stderr, flush=True)
    device = resolve_device(running.device)
    bf16 = resolve_precision(running.precision, torch.device(device)) == "bf16"
    trainer = PretrainTrainer(config, _build_model(config, device), bf16, pieces, heldout_sample)
    loop = trainer.build_loop(job)
    if not loop.run():
        return
    facts = {
        **_count_sources(train, heldout),
        "written": [writer.name for writer in writers],
        "corpus": corpus,
    }
    save_decoder(config, trainer, loop.state, writers[0].pieces(heldout, config.row_tokens), facts)
    checkpoint.remove_except(config.out)


def _build_writers(config: PretrainConfig, dialogues: Sequence[SourcedDialogue]) -> list[Writer]:
    """The writers of dialogues; evaluation uses the first. Saves the tokenizer in the output folder."""
    from dialint.finetune.decoder import tokenizer

    if config.base is not None:
        for pattern in TOKENIZER_FILES:
            for path in config.base.glob(pattern):
                (config.out / path.name).write_bytes(path.read_bytes())
        return [template_writer(config.base, plain=config.style == "plain")]
    texts = (turn.text for item in dialogues for turn in item.dialogue.turns if turn.role != "tool")
    tokenizer.save_tokenizer(tokenizer.train_tokenizer(texts, config.vocabulary), config.out)
    writers = [own_writer((config.out / "tokenizer.json").read_text())]
    return [*writers, template_writer(config.out)] if config.chat_share else writers


def _encode(
    config: PretrainConfig, writers: Sequence[Writer], dialogues: Sequence[SourcedDialogue]
) -> list[Piece]:
    """The training pieces; the second writer encodes a share of the dialogues, sampled by the seed."""
    import numpy as np

    share = config.chat_share if len(writers) > 1 else 0.0
    is_chat = np.random.default_rng(config.running.seed).random(len(dialogues)) < share
    return [
        piece
        for number, writer in enumerate(writers)
        for piece in writer.pieces(
            [item for item, chat in zip(dialogues, is_chat, strict=True) if chat == number], config.row_tokens
        )
    ]


def _build_model(config: PretrainConfig, device: str) -> Any:
    """The model ready to train."""
    from dialint.finetune.decoder.model import decoder_config, enable_packing, init_decoder
    from dialint.finetune.train.memory import enable_gradient_checkpointing, recomputes_activations

    n_tokens = len(load_tokenizer(config.out))
    if config.base is not None:
        source = ModelSource(resolve_base(config.base), weights_sha256(config.base))
        model = load_base_model(source, trainable=True, full_precision=True)
        n_rows: Any = model.get_input_embeddings().num_embeddings
        if n_tokens > n_rows:
            raise ConfigError("E_BASE", f"{config.base}: {n_tokens} tokens, but embeddings for {n_rows}")
    else:
        model = init_decoder(decoder_config(config.depth, n_tokens, config.row_tokens), config.running.seed)
    model.to(device)  # type: ignore[arg-type]
    enable_packing(model, config.row_tokens)
    if recomputes_activations(config.running, model):
        enable_gradient_checkpointing(model)
    return model


def _print_memory(config: PretrainConfig) -> None:
    from transformers import Qwen3Config

    from dialint.finetune.decoder.model import decoder_config

    with tempfile.TemporaryDirectory() as folder:
        shape = Qwen3Config(**decoder_config(config.depth, config.vocabulary, config.row_tokens))
        shape.save_pretrained(folder)
        all_weights, n = AdapterOptions(adapter="none"), config.row_tokens
        base = config.base or Path(folder)
        print_plan(TrainingSetup(base, "CAUSAL_LM", all_weights, config.running, 1, n, n))


def _count_sources(train: Sequence[SourcedDialogue], heldout: Sequence[SourcedDialogue]) -> dict[str, Any]:
    """Licence and number of dialogues of each source."""
    sources: dict[str, dict[str, Any]] = {}
    for name, items in (("train", train), ("heldout", heldout)):
        for item in items:
            source = sources.setdefault(item.source, {"licence": item.licence, "train": 0, "heldout": 0})
            source[name] += 1
    return {"sources": sources}


def save_decoder(
    config: PretrainConfig,
    trainer: PretrainTrainer,
    state: TrainerState,
    heldout: Sequence[Piece],
    facts: dict[str, Any],
) -> None:
    """Write the weights, the model card and last the manifest, with figures of the weights as stored."""
    import torch
    from transformers.utils import logging

    from dialint.finetune.decoder.trainer import evaluate_perplexity, sum_costs

    dtype = torch.bfloat16 if config.dtype == "bf16" else torch.float32
    trainer.model.to(dtype).to(torch.float32)  # evaluated as it will be loaded
    costs = evaluate_perplexity(trainer.model, heldout, config.row_tokens, trainer.bf16)
    figures = {source: cost.to_dict() for source, cost in sorted(costs.items())}
    trainer.model.set_attn_implementation("sdpa" if trainer.model._supports_sdpa else "eager")
    model = trainer.model.to("cpu", dtype)
    validate_finite(model.state_dict(), config.out)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    model.save_pretrained(config.out)
    bases = sorted(config.base.glob("*.safetensors")) if config.base else []
    content = {
        "kind": "decoder",
        **facts,
        "parameters": count_parameters(model),
        "tokens_seen": state.tokens,
        "steps": state.step,
        "best_step": state.best_step,
        "heldout": {"all": sum_costs(costs).to_dict(), **figures},
        "precision": "bf16" if trainer.bf16 else "fp32",
        "base_sha256": {path.name: sha256_file(path) for path in bases},
        "config": config_to_dict(config),
        "versions": package_versions("torch", "transformers", "tokenizers"),
        "seconds": round(state.seconds),
        "outputs": [file_entry(path) for path in sorted(config.out.glob("*.safetensors"))],
    }
    (config.out / "README.md").write_text(render_template(CARD, name=config.out.name, **content))
    write_manifest(config.out / TRAINING, content)


def count_parameters(model: Any) -> dict[str, int]:
    """Parameters in all, and those beside the embeddings (tied ones count once)."""
    total = sum(p.numel() for p in model.parameters())
    embeddings = (model.get_input_embeddings(), model.get_output_embeddings())
    tables = {id(part.weight): part.weight.numel() for part in embeddings if part is not None}
    return {"all": total, "beside_embeddings": total - sum(tables.values())}
