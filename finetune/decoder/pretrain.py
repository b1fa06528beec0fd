"""Pre-trains a decoder on dialogues: the small one from nothing, or any Hugging Face decoder further.

    dialint train pretrain --corpus build/corpus --out build/decoder
    dialint train pretrain --corpus build/corpus --base models/some-decoder --out build/adapted

Reads the Parquet shards of a corpus folder. Writes a folder that transformers loads: ``config.json``,
``model.safetensors``, the tokenizer's files, ``training.json``, ``README.md`` (a model card) and
``metrics.jsonl``. A stopped run goes on from its last checkpoint. It does not teach verdicts: that is
`dialint train sft scan`.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from dialint.detector.artifacts import disk_errors, make_output_folder, sha256_file
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.progress import track
from dialint.finetune.base_models.resolve import resolve_base
from dialint.finetune.decoder.corpus import Corpus, Sourced, sample
from dialint.finetune.train.checkpoint import describe_job
from dialint.finetune.train.distributed import require_single_process

if TYPE_CHECKING:
    from dialint.finetune.decoder.trainer import Setting
    from dialint.finetune.decoder.writing import Piece, Writer

Precision = Literal["auto", "fp32", "bf16"]
NOT_OF_THE_JOB = ("out", "checkpoint_minutes", "threads")
LEAST = {
    "rows": 1,
    "accumulate": 1,
    "row_tokens": 16,
    "eval_steps": 1,
    "heldout_per_source": 1,
    "patience": 1,
    "seed": 0,
    "threads": 1,
}
"""The least that an option may be."""
KEPT = (
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


@Parameter(name="*")
@dataclass(frozen=True)
class PretrainConfig:
    """What `dialint train pretrain` needs to know."""

    corpus: Path
    """Folder of train-*.parquet, heldout-*.parquet and manifest.json."""
    out: Path
    """Folder for the decoder."""
    base: Path | None = None
    """A decoder to train further, a folder or a name on a hub; none: the small one, from random weights."""
    depth: int = 6
    """Layers of the small decoder; width, heads and all else follow from it."""
    vocabulary: int = 8192
    """Tokens of the small decoder's tokenizer."""
    style: Literal["auto", "template", "plain"] = "auto"
    """How dialogues are written for a base: its chat template, plain words, or the first that it has."""
    chat_share: float = 0.1
    """Share of dialogues that the small decoder reads in its chat template rather than in role marks."""
    languages: tuple[str, ...] = ()
    """Languages to read; none: all."""
    sources: tuple[str, ...] = ()
    """Sources to read; none: all."""
    raw: bool = False
    """Leave personal data in the text rather than mask them."""
    epochs: float = 4.0
    """Passes over the training dialogues, at most."""
    row_tokens: int = 1024
    """Tokens the model sees at once; dialogues are packed into rows of this length."""
    rows: int = 4
    """Rows in one forward pass."""
    accumulate: int = 1
    """Forward passes in one step."""
    learning_rate: float | None = None
    """Peak rate; none: 2e-3 for the small decoder, 5e-5 for a base."""
    weight_decay: float = 0.1
    """Decay of matrices."""
    warm_up: float = 0.03
    """Share of steps in which the rate rises."""
    eval_steps: int = 200
    """Steps between two looks at held-out dialogues."""
    heldout_per_source: int = 50
    """Held-out dialogues of each source in those looks; at the end all are read."""
    patience: int = 5
    """Looks without a better one after which training stops."""
    precision: Precision = "auto"
    """bf16: autocast; auto takes it where the hardware computes it."""
    compile: bool = False
    """Use torch.compile: a little quicker on an idle machine, minutes to begin with on a busy one."""
    device: str = "cpu"
    """cpu, cuda or cuda:N."""
    dtype: Literal["fp32", "bf16"] = "bf16"
    """Type of the weights in the file."""
    seed: int = 1
    """Seed of weights and order."""
    checkpoint_minutes: float = 5.0
    """Minutes between checkpoints."""
    threads: int = 2
    """CPU threads."""


def pretrain(config: PretrainConfig) -> None:
    """Pre-train a decoder on dialogues."""
    import torch

    from dialint.finetune.decoder.output import save_decoder
    from dialint.finetune.decoder.trainer import BEST, CHECKPOINT, Run, pretrain_steps

    _refuse(config)
    if config.base is not None:
        config = replace(config, base=resolve_base(config.base).folder)
    torch.set_num_threads(config.threads)
    started = time.time()
    corpus = Corpus(config.corpus, config.languages, config.sources, config.raw)
    job = _job(config, corpus)
    learn, check = list(track(corpus.read("train"), None, "reading")), list(corpus.read("heldout"))
    if not learn or not check:
        raise ConfigError("E_CORPUS", f"{config.corpus}: no dialogue of these languages and sources")
    with disk_errors(config.out):
        make_output_folder(config.out)
    writers = _writers(config, learn)
    pieces = _written(config, writers, learn)
    few, all_held = (writers[0].pieces(some, config.row_tokens) for some in (_few(config, check), check))
    if not pieces or not few:
        raise ConfigError("E_TEMPLATE", "the template takes none of the dialogues; use --style plain")
    _tell(f"{len(pieces)} pieces to learn, {sum(len(piece.ids) for piece in pieces)} tokens")
    setting = _setting(config, job)
    model, forward = _model(config, setting)
    run = Run(setting, config.out, model, forward, pieces, few)
    state = pretrain_steps(run, _tell)
    save_decoder(config, run, state, all_held, _facts(learn, check, writers), time.time() - started)
    for name in (CHECKPOINT, BEST):
        (config.out / name).unlink(missing_ok=True)


def _refuse(config: PretrainConfig) -> None:
    if (config.out / "training.json").exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a trained decoder already; name another folder")
    require_single_process("train pretrain")
    for name, least in LEAST.items():
        if getattr(config, name) < least:
            raise ConfigError("E_OPTION", f"--{name.replace('_', '-')}: at least {least}")
    if config.epochs <= 0 or (config.learning_rate is not None and config.learning_rate <= 0):
        raise ConfigError("E_OPTION", "--epochs and --learning-rate must be above 0")
    if not (0 <= config.chat_share <= 1 and 0 <= config.warm_up <= 1):
        raise ConfigError("E_OPTION", "--chat-share and --warm-up must lie between 0 and 1")


def _job(config: PretrainConfig, corpus: Corpus) -> str:
    """What a checkpoint belongs to: every option that changes a weight, the corpus and the base."""
    told = {key: str(value) for key, value in asdict(config).items() if key not in NOT_OF_THE_JOB}
    files = sorted(path for path in config.base.glob("*") if path.is_file()) if config.base else []
    return describe_job(told, corpus.manifest(), {path.name: sha256_file(path) for path in files})


def _few(config: PretrainConfig, check: list[Sourced]) -> list[Sourced]:
    return sample(check, config.heldout_per_source)


def _writers(config: PretrainConfig, learn: list[Sourced]) -> list[Writer]:
    """How dialogues are written; the first one measures. The tokenizer lies in the output from here on."""
    from dialint.finetune.decoder import tokenizer
    from dialint.finetune.decoder.writing import own_writer, template_writer, writer_of

    if config.base is not None:
        writers = [writer_of(config.base, config.style)]
        for name in KEPT:
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


def _setting(config: PretrainConfig, job: str) -> Setting:
    from dialint.finetune.decoder.trainer import Setting

    cuda = config.device.startswith("cuda")
    return Setting(
        job=job,
        seed=config.seed,
        epochs=config.epochs,
        row_tokens=config.row_tokens,
        rows=config.rows,
        accumulate=config.accumulate,
        rate=config.learning_rate or (5e-5 if config.base else 2e-3),
        weight_decay=config.weight_decay,
        warm_up=config.warm_up,
        eval_steps=config.eval_steps,
        patience=config.patience,
        precision=_precision(config),
        way="masked" if cuda or config.compile else "packed",
        device=config.device,
        checkpoint_s=60 * config.checkpoint_minutes,
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


def _model(config: PretrainConfig, setting: Setting) -> tuple[Any, Any]:
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
    set_attention(model, setting.way, config.row_tokens)
    return model, torch.compile(model, dynamic=False) if config.compile else model


def _facts(learn: list[Sourced], check: list[Sourced], writers: list[Writer]) -> dict[str, Any]:
    """What the manifest says of the data."""
    sources: dict[str, dict[str, Any]] = {}
    for name, items in (("train", learn), ("heldout", check)):
        for item in items:
            source = sources.setdefault(item.source, {"licence": item.licence, "train": 0, "heldout": 0})
            source[name] += 1
    return {"sources": sources, "written": [writer.name for writer in writers]}


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
