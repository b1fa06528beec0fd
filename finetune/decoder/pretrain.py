"""Pre-trains a decoder on dialogues: the small one from random weights, or any Hugging Face decoder further.

    dialint train pretrain --corpus build/corpus --out build/decoder
    dialint train pretrain --corpus build/corpus --base models/some-decoder --out build/adapted

Reads the Parquet shards of a corpus folder. Writes a folder that transformers loads: ``config.json``,
``model.safetensors``, the tokenizer's files, ``training.json``, ``README.md`` (a model card) and
``metrics.jsonl``. A stopped run resumes from its last checkpoint. Verdicts are not trained here: that is
``dialint train sft scan``.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import (
    disk_errors,
    file_entry,
    fingerprint,
    make_output_folder,
    package_versions,
    require_new,
    sha256_file,
    write_manifest,
)
from dialint.detector.engines.base_models import resolve_base
from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_single_process
from dialint.detector.progress import track
from dialint.finetune.decoder.corpus import Corpus, Sourced, sample
from dialint.finetune.decoder.model_card import model_card
from dialint.finetune.decoder.options import NOT_IN_JOB, PretrainConfig
from dialint.finetune.train import checkpoint
from dialint.finetune.train.finite import validate_finite
from dialint.finetune.train.lineage import TRAINING

if TYPE_CHECKING:
    from dialint.finetune.decoder.model import TrainOptions
    from dialint.finetune.decoder.trainer import PretrainTrainer
    from dialint.finetune.decoder.writing import Piece, Writer
    from dialint.finetune.train.loop import TrainerState

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
)
"""Files that a base's tokenizer may consist of."""


def pretrain(config: PretrainConfig) -> None:
    """Pre-train a decoder on dialogues."""
    import torch

    from dialint.finetune.decoder.trainer import PretrainTrainer

    _validate(config)
    if config.base is not None:
        config = replace(config, base=resolve_base(config.base).folder)
    torch.set_num_threads(config.threads)
    started = time.time()
    corpus = Corpus(config.corpus, config.languages, config.sources, config.raw)
    job = _describe_job(config, corpus)
    train, heldout = list(track(corpus.read("train"), None, "reading")), list(corpus.read("heldout"))
    if not train or not heldout:
        raise ConfigError("E_CORPUS", f"{config.corpus}: no dialogue of these languages and sources")
    with disk_errors(config.out):
        make_output_folder(config.out)
    writers = _build_writers(config, train)
    pieces = _encode(config, writers, train)
    heldout_sample = writers[0].pieces(sample(heldout, config.heldout_per_source), config.row_tokens)
    if not pieces or not heldout_sample:
        raise ConfigError("E_TEMPLATE", "the template refuses every dialogue; use --style plain")
    n_tokens = sum(len(piece.ids) for piece in pieces)
    print(f"{len(pieces)} pieces to train on, {n_tokens} tokens", file=sys.stderr, flush=True)
    options = _train_options(config, job)
    model, forward = _build_model(config, options)
    trainer = PretrainTrainer(options, model, forward, pieces, heldout_sample)
    loop = trainer.build_loop(config.out)
    if not loop.run():
        return
    all_heldout = writers[0].pieces(heldout, config.row_tokens)
    facts = _describe_data(train, heldout, writers)
    save_decoder(config, trainer, loop.state, all_heldout, facts, time.time() - started)
    checkpoint.remove_all(config.out)


def _validate(config: PretrainConfig) -> None:
    """
    Raises:
        ConfigError: a launcher started several processes.
        OutputRefused: `out` holds a decoder, or a checkpoint of an earlier version.
    """
    require_new(config.out, TRAINING, "a trained decoder")
    require_single_process("train pretrain")
    for name in ("checkpoint.pt", "best.pt"):
        if (config.out / name).exists():
            raise checkpoint.other_version(config.out / name)


def _describe_job(config: PretrainConfig, corpus: Corpus) -> str:
    """What a checkpoint belongs to: every option that changes a weight, the corpus and the base."""
    options = {key: str(value) for key, value in asdict(config).items() if key not in NOT_IN_JOB}
    files = sorted(path for path in config.base.glob("*") if path.is_file()) if config.base else []
    return checkpoint.describe_job(
        options, corpus.manifest(), {path.name: sha256_file(path) for path in files}
    )


def _build_writers(config: PretrainConfig, dialogues: list[Sourced]) -> list[Writer]:
    """The writers of dialogues; evaluation uses the first. Saves the tokenizer in the output folder."""
    from dialint.finetune.decoder import tokenizer
    from dialint.finetune.decoder.writing import own_writer, template_writer, writer_of

    if config.base is not None:
        writers = [writer_of(config.base, config.style)]
        for name in TOKENIZER_FILES:
            if (config.base / name).is_file():
                (config.out / name).write_bytes((config.base / name).read_bytes())
        return writers
    texts = (turn.text for item in dialogues for turn in item.dialogue.turns if turn.role != "tool")
    tokenizer.save_tokenizer(tokenizer.train_tokenizer(texts, config.vocabulary), config.out)
    writers = [own_writer((config.out / "tokenizer.json").read_text())]
    return [*writers, template_writer(config.out)] if config.chat_share else writers


def _encode(config: PretrainConfig, writers: list[Writer], dialogues: list[Sourced]) -> list[Piece]:
    """The training pieces; the second writer encodes a share of the dialogues, sampled by the seed."""
    import numpy as np

    if len(writers) == 1:
        return writers[0].pieces(dialogues, config.row_tokens)
    is_chat = np.random.default_rng(config.seed).random(len(dialogues)) < config.chat_share
    by_writer: tuple[list[Sourced], list[Sourced]] = ([], [])
    for item, second in zip(dialogues, is_chat, strict=True):
        by_writer[bool(second)].append(item)
    return [
        piece
        for writer, items in zip(writers, by_writer, strict=True)
        for piece in writer.pieces(items, config.row_tokens)
    ]


def _train_options(config: PretrainConfig, job: str) -> TrainOptions:
    from dialint.finetune.decoder.model import TrainOptions

    cuda = config.device.startswith("cuda")
    return TrainOptions(
        job=job,
        seed=config.seed,
        epochs=config.epochs,
        row_tokens=config.row_tokens,
        rows=config.rows,
        accumulate=config.accumulate,
        learning_rate=config.learning_rate or (5e-5 if config.base else 2e-3),
        weight_decay=config.weight_decay,
        warm_up=config.warm_up,
        eval_steps=config.eval_steps,
        patience=config.patience,
        precision=_resolve_precision(config),
        attention="masked" if cuda or config.compile else "packed",
        device=config.device,
        checkpoint_minutes=config.checkpoint_minutes,
    )


def _resolve_precision(config: PretrainConfig) -> str:
    import torch

    if config.device != "cpu" and not torch.cuda.is_available():
        raise ConfigError("E_DEVICE", f"--device {config.device}: this machine has no such device")
    if config.precision != "auto":
        return config.precision
    if config.device != "cpu":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    capabilities = torch.cpu.get_capabilities()
    return "bf16" if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else "fp32"


def _build_model(config: PretrainConfig, options: TrainOptions) -> tuple[Any, Any]:
    """The model ready to train, and the callable of its forward pass: itself, or what torch.compile made of
    it."""
    import torch

    from dialint.finetune.decoder.model import decoder_config, init_decoder, load_decoder, set_attention
    from dialint.finetune.decoder.tokenizer import BEGIN, END, PAD
    from dialint.finetune.decoder.writing import load_tokenizer

    if config.base is not None:
        model = load_decoder(config.base)
        n_tokens, n_rows = len(load_tokenizer(config.out)), model.get_input_embeddings().num_embeddings
        if n_tokens > int(n_rows):  # type: ignore[arg-type]
            raise ConfigError("E_BASE", f"{config.base}: {n_tokens} tokens, but embeddings for {n_rows}")
    else:
        tokens = load_tokenizer(config.out)
        marks = {"begin": BEGIN, "end": END, "pad": PAD}
        ids = {name: tokens.convert_tokens_to_ids(mark) for name, mark in marks.items()}
        model = init_decoder(decoder_config(config.depth, len(tokens), ids, config.row_tokens), config.seed)
    model.to(config.device)  # type: ignore[arg-type]
    set_attention(model, options.attention, config.row_tokens)
    return model, torch.compile(model, dynamic=False) if config.compile else model


def _describe_data(train: list[Sourced], heldout: list[Sourced], writers: list[Writer]) -> dict[str, Any]:
    """The data's part of the manifest: licence and number of dialogues of each source, and the writers."""
    sources: dict[str, dict[str, Any]] = {}
    for name, items in (("train", train), ("heldout", heldout)):
        for item in items:
            source = sources.setdefault(item.source, {"licence": item.licence, "train": 0, "heldout": 0})
            source[name] += 1
    return {"sources": sources, "written": [writer.name for writer in writers]}


def save_decoder(
    config: PretrainConfig,
    trainer: PretrainTrainer,
    state: TrainerState,
    heldout: list[Piece],
    facts: dict[str, Any],
    seconds: float,
) -> None:
    """Write the weights, the model card and last the manifest, with figures of the weights as stored."""
    import torch
    from transformers.utils import logging

    from dialint.finetune.decoder.trainer import evaluate_perplexity, sum_costs

    dtype = torch.bfloat16 if config.dtype == "bf16" else torch.float32
    trainer.model.to(dtype).to(torch.float32)  # evaluated as it will be loaded
    costs = evaluate_perplexity(trainer.forward, heldout, trainer.options)
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
        "precision": trainer.options.precision,
        "attention": trainer.options.attention,
        "base_sha256": {path.name: sha256_file(path) for path in bases},
        "corpus": fingerprint(Corpus(config.corpus).manifest()),
        "config": {
            key: value if isinstance(value, int | float) else str(value)
            for key, value in asdict(config).items()
        },
        "cores": os.cpu_count(),
        "versions": package_versions("torch", "transformers", "tokenizers"),
        "seconds": round(seconds),
        "outputs": [file_entry(path) for path in sorted(config.out.glob("*.safetensors"))],
    }
    (config.out / "README.md").write_text(model_card(content, config.out.name))
    write_manifest(config.out / TRAINING, content)


def count_parameters(model: Any) -> dict[str, int]:
    """Parameters in all, and those beside the embeddings (tied ones count once)."""
    total = sum(p.numel() for p in model.parameters())
    embeddings = (model.get_input_embeddings(), model.get_output_embeddings())
    tables = {id(part.weight): part.weight.numel() for part in embeddings if part is not None}
    return {"all": total, "beside_embeddings": total - sum(tables.values())}
