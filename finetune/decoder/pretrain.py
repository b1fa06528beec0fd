"""Pre-trains a decoder on dialogues: the small one from random weights, or any Hugging Face decoder further.

    dialint train pretrain --dialogues logs/*.jsonl --out build/decoder
    dialint train pretrain --dialogues logs/*.jsonl --base models/some-decoder --out build/adapted

Reads logs, of which a tenth is held out. Writes a folder that transformers loads: ``config.json``,
``model.safetensors`` in bf16, the tokenizer's files, ``training.json``, ``README.md`` (a model card) and
``metrics.jsonl``. A stopped run resumes from its last checkpoint. Verdicts are not trained here: that is
``dialint train sft scan``.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    disk_errors,
    file_entry,
    make_output_folder,
    require_new,
    sha256_file,
    write_manifest,
)
from dialint.detector.engines.base_models import (
    BaseFolder,
    ModelSource,
    load_base_model,
    load_folder_tokenizer,
    require_decoder,
    resolve_base,
    weights_sha256,
)
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.option_ranges import command_options
from dialint.finetune.decoder import tokenizer
from dialint.finetune.decoder.text import (
    own_writer,
    read_dialogues,
    source_of,
    split_dialogues,
    template_writer,
)
from dialint.finetune.train.adapters import AdapterOptions, require_positions
from dialint.finetune.train.checkpoint import remove_except, validate_finite, write_errors
from dialint.finetune.train.lineage import TRAINING, job_of_config, provenance, render_template
from dialint.finetune.train.memory import TrainingSetup, print_plan
from dialint.finetune.train.options import RunOptions

CHAT_EVERY = 10
"""One of this many dialogues is written for the small decoder in its chat template, the others in role
marks."""
HELDOUT_PIECES = 300
"""Held-out pieces that are evaluated during training; at the end all are."""
TOKENIZER_FILES = ("*token*.json", "chat_template.jinja")
"""Copied unchanged: transformers saves tokenizers of some models with tokens of its own."""
CARD = Path(__file__).with_name("MODEL_CARD.md.jinja")


@command_options
class PretrainConfig:
    """Options of `dialint train pretrain`."""

    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Logs to train on."""
    out: Path
    """Folder for the decoder."""
    base: Path | None = None
    """A decoder to train further, a folder or a name on a hub; none: the small one, from random weights."""
    depth: Annotated[int, Field(ge=1, le=64)] = 6
    """Layers of the small decoder; width, heads and all else follow from it."""
    vocabulary: int = 8192
    """Tokens of the small decoder's tokenizer."""
    epochs: Annotated[float, Field(gt=0)] = 4.0
    """Passes over the training dialogues, at most."""
    row_tokens: Annotated[int, Field(ge=16)] = 1024
    """Tokens the model sees at once; dialogues are packed into rows of this length."""
    rows: Annotated[int, Field(ge=1)] = 4
    """Rows in one step; each is a forward pass."""
    learning_rate: Annotated[float | None, Field(gt=0)] = None
    """Peak rate; none: 2e-3 for the small decoder, 5e-5 for a base."""
    eval_steps: Annotated[int, Field(ge=1)] = 200
    """Steps between two evaluations on held-out dialogues."""
    read: Annotated[ReadConfig, Parameter(name="*")] = field(default_factory=ReadConfig)
    """Options of reading logs."""
    running: RunOptions = field(default_factory=RunOptions)

    @property
    def peak_rate(self) -> float:
        """The learning rate at its peak."""
        return self.learning_rate or (5e-5 if self.base else 2e-3)


def pretrain(config: PretrainConfig) -> None:
    """Pre-trains a decoder on dialogues.

    Raises:
        ConfigError: nothing to train on, or a base that does not load.
        OutputRefused: `out` holds a decoder already.
    """
    import torch

    from dialint.finetune.decoder.trainer import evaluate_perplexity, train

    require_new(config.out, TRAINING, "a trained decoder")
    require_single_process("train pretrain")
    running = config.running
    running.validate()
    base = None if config.base is None else resolve_base(config.base)
    if base is not None:
        require_decoder(base)
    if running.dry_run:
        _print_memory(config, base)
        return
    torch.set_num_threads(running.threads)
    source = base_writer = None
    inputs: list[str] = []
    if base is not None:
        source, base_writer = ModelSource(base, weights_sha256(base.folder)), template_writer(base.folder)
        inputs = [source.sha256, *map(sha256_file, sorted(base.folder.glob("*token*.json")))]
    dialogues, logs = read_dialogues(config.dialogues, config.read)
    job = job_of_config(config, logs, *inputs)
    train_dialogues, heldout = split_dialogues(dialogues)
    if not train_dialogues or not heldout:
        raise InputRefused("E_NO_RECORDS", "the logs hold too few dialogues to learn from and to hold out")
    with disk_errors(config.out):
        make_output_folder(config.out)
    if source is not None and base_writer is not None:
        for path in (path for pattern in TOKENIZER_FILES for path in source.folder.glob(pattern)):
            (config.out / path.name).write_bytes(path.read_bytes())
        written = [(base_writer, train_dialogues)]
    else:
        texts = (turn.text for each in train_dialogues for turn in each.turns if turn.role != "tool")
        tokenizer.save_tokenizer(tokenizer.train_tokenizer(texts, config.vocabulary), config.out)
        marked = [each for number, each in enumerate(train_dialogues) if number % CHAT_EVERY]
        written = [
            (own_writer((config.out / "tokenizer.json").read_text()), marked),
            (template_writer(config.out), train_dialogues[::CHAT_EVERY]),
        ]
    pieces = [piece for writer, part in written for piece in writer.pieces(part, config.row_tokens)]
    heldout_pieces = written[0][0].pieces(heldout, config.row_tokens)
    if not pieces or not heldout_pieces:
        raise ConfigError("E_TEMPLATE", "the chat template of the base refuses every dialogue")
    n_tokens = sum(len(piece.ids) for piece in pieces)
    print(f"{len(pieces)} pieces to train on, {n_tokens} tokens", file=sys.stderr, flush=True)
    model = _load_model(config, source)
    run = train(config, model, pieces, heldout_pieces[:HELDOUT_PIECES], job)
    model.to(torch.bfloat16).to(torch.float32)  # evaluated as it will be loaded
    figures = evaluate_perplexity(model, heldout_pieces, config.row_tokens, running.uses_bf16())
    _save_model(model, config.out)
    n_train, n_heldout = (Counter(map(source_of, part)) for part in (train_dialogues, heldout))
    content = {
        "kind": "decoder",
        "sources": {
            name: {"train": n_train[name], "heldout": n_heldout[name]} for name in n_train | n_heldout
        },
        "written": [writer.name for writer, _ in written],
        "logs": logs,
        "parameters": {
            "all": model.num_parameters(),
            "beside_embeddings": model.num_parameters(exclude_embeddings=True),
        },
        **run,
        "heldout": figures,
        "base_sha256": None if source is None else source.sha256,
        **provenance(config),
        "outputs": [file_entry(path) for path in sorted(config.out.glob("*.safetensors"))],
    }
    (config.out / "README.md").write_text(render_template(CARD, name=config.out.name, **content))
    write_manifest(config.out / TRAINING, content)
    remove_except(config.out)


def _load_model(config: PretrainConfig, source: ModelSource | None) -> Any:
    """Loads or initializes the model for training.

    Raises:
        ConfigError: E_BASE, rows are longer than the model's positions, it lacks embeddings of tokens, or its
            packed attention is not equivalent.
    """
    from dialint.detector.engines import packed
    from dialint.finetune.decoder.trainer import decoder_config, init_decoder

    model: Any
    n_tokens = len(load_folder_tokenizer(config.out))
    if source is None:
        model = init_decoder(decoder_config(config.depth, n_tokens, config.row_tokens), config.running.seed)
    else:
        model = load_base_model(source, trainable=True, full_precision=True)
        n_rows = model.get_input_embeddings().num_embeddings
        if n_tokens > n_rows:
            raise ConfigError("E_BASE", f"{config.base}: {n_tokens} tokens, but embeddings for {n_rows}")
    require_positions(model, config.row_tokens)
    if (reason := packed.equivalence_error(model.base_model, config.row_tokens, 0)) is not None:
        raise ConfigError("E_BASE", reason)
    model.set_attn_implementation(packed.NAME)
    model.config.use_cache = False
    return model


def _save_model(model: Any, out: Path) -> None:
    """Writes the weights in bf16, with transformers' own attention."""
    import torch
    from transformers.utils import logging

    model.config.use_cache = True
    model.set_attn_implementation("sdpa" if model._supports_sdpa else "eager")
    validate_finite(model.to("cpu", torch.bfloat16).state_dict(), out)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    with write_errors(out):
        model.save_pretrained(out)


def _print_memory(config: PretrainConfig, base: BaseFolder | None) -> None:
    from dialint.finetune.decoder.trainer import decoder_config

    with tempfile.TemporaryDirectory() as folder:
        decoder_config(config.depth, config.vocabulary, config.row_tokens).save_pretrained(folder)
        all_weights, n = AdapterOptions(adapter="none"), config.row_tokens
        shape = Path(folder) if base is None else base.folder
        print_plan(TrainingSetup(shape, "CAUSAL_LM", all_weights, config.running, 1, n, n))
