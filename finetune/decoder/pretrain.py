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
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import disk_errors, make_output_folder, require_new, sha256_file
from dialint.detector.errors import ConfigError
from dialint.detector.progress import track
from dialint.finetune.base_models.resolve import resolve_base
from dialint.finetune.decoder.corpus import Corpus, Sourced, sample
from dialint.finetune.decoder.options import NOT_IN_JOB, PretrainConfig
from dialint.finetune.train import checkpoint
from dialint.finetune.train.distributed import require_single_process
from dialint.finetune.train.lineage import TRAINING

if TYPE_CHECKING:
    from dialint.finetune.decoder.model import TrainOptions
    from dialint.finetune.decoder.writing import Piece, Writer

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
"""What a base's tokenizer may consist of."""


def pretrain(config: PretrainConfig) -> None:
    """Pre-train a decoder on dialogues."""
    import torch

    from dialint.finetune.decoder.output import save_decoder
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
    writers = _writers(config, train)
    pieces = _written(config, writers, train)
    heldout_sample = writers[0].pieces(sample(heldout, config.heldout_per_source), config.row_tokens)
    if not pieces or not heldout_sample:
        raise ConfigError("E_TEMPLATE", "the template takes none of the dialogues; use --style plain")
    n_tokens = sum(len(piece.ids) for piece in pieces)
    print(f"{len(pieces)} pieces to train on, {n_tokens} tokens", file=sys.stderr, flush=True)
    options = _train_options(config, job)
    model, forward = _model(config, options)
    trainer = PretrainTrainer(options, model, forward, pieces, heldout_sample)
    loop = trainer.build_loop(config.out)
    if not loop.run():
        return
    all_heldout = writers[0].pieces(heldout, config.row_tokens)
    facts = _facts(train, heldout, writers)
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


def _writers(config: PretrainConfig, learn: list[Sourced]) -> list[Writer]:
    """How dialogues are written; the first one measures. The tokenizer lies in the output from here on."""
    from dialint.finetune.decoder import tokenizer
    from dialint.finetune.decoder.writing import own_writer, template_writer, writer_of

    if config.base is not None:
        writers = [writer_of(config.base, config.style)]
        for name in TOKENIZER_FILES:
            if (config.base / name).is_file():
                (config.out / name).write_bytes((config.base / name).read_bytes())
        return writers
    texts = (turn.text for item in learn for turn in item.dialogue.turns)
    tokenizer.save_tokenizer(tokenizer.train_tokenizer(texts, config.vocabulary), config.out)
    writers = [own_writer((config.out / "tokenizer.json").read_text())]
    return [*writers, template_writer(config.out)] if config.chat_share else writers


def _written(config: PretrainConfig, writers: list[Writer], learn: list[Sourced]) -> list[Piece]:
    """The training pieces; a share of the dialogues, drawn by the seed, in the second writer's way."""
    import numpy as np

    if len(writers) == 1:
        return writers[0].pieces(learn, config.row_tokens)
    chat = np.random.default_rng(config.seed).random(len(learn)) < config.chat_share
    ways: tuple[list[Sourced], list[Sourced]] = ([], [])
    for item, second in zip(learn, chat, strict=True):
        ways[bool(second)].append(item)
    return [
        piece
        for writer, some in zip(writers, ways, strict=True)
        for piece in writer.pieces(some, config.row_tokens)
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
        precision=_precision(config),
        attention="masked" if cuda or config.compile else "packed",
        device=config.device,
        checkpoint_minutes=config.checkpoint_minutes,
    )


def _precision(config: PretrainConfig) -> str:
    import torch

    if config.device != "cpu" and not torch.cuda.is_available():
        raise ConfigError("E_DEVICE", f"--device {config.device}: this machine has no such device")
    if config.precision != "auto":
        return config.precision
    if config.device != "cpu":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    able = torch.cpu.get_capabilities()
    return "bf16" if able.get("avx512_bf16") or able.get("amx_bf16") else "fp32"


def _model(config: PretrainConfig, options: TrainOptions) -> tuple[Any, Any]:
    """The model ready to train, and what is called: itself or its compiled twin."""
    import torch

    from dialint.finetune.decoder.model import decoder_config, init_decoder, load_decoder, set_attention
    from dialint.finetune.decoder.tokenizer import BEGIN, END, PAD
    from dialint.finetune.decoder.writing import load_tokenizer

    if config.base is not None:
        model = load_decoder(config.base)
        needed, there = len(load_tokenizer(config.out)), model.get_input_embeddings().num_embeddings
        if needed > int(there):  # type: ignore[arg-type]
            raise ConfigError("E_BASE", f"{config.base}: {needed} tokens, but embeddings for {there}")
    else:
        tokens = load_tokenizer(config.out)
        marks = {"begin": BEGIN, "end": END, "pad": PAD}
        ids = {name: tokens.convert_tokens_to_ids(mark) for name, mark in marks.items()}
        model = init_decoder(decoder_config(config.depth, len(tokens), ids, config.row_tokens), config.seed)
    model.to(config.device)  # type: ignore[arg-type]
    set_attention(model, options.attention, config.row_tokens)
    return model, torch.compile(model, dynamic=False) if config.compile else model


def _facts(learn: list[Sourced], check: list[Sourced], writers: list[Writer]) -> dict[str, Any]:
    """What the manifest says of the data."""
    sources: dict[str, dict[str, Any]] = {}
    for name, items in (("train", learn), ("heldout", check)):
        for item in items:
            source = sources.setdefault(item.source, {"licence": item.licence, "train": 0, "heldout": 0})
            source[name] += 1
    return {"sources": sources, "written": [writer.name for writer in writers]}
