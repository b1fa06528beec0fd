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
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from dialint.detector.engines.base_models import ModelSource, load_base_model, resolve_base, weights_sha256
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.option_ranges import command_options
from dialint.detector.records import Dialogue
from dialint.finetune.decoder import tokenizer
from dialint.finetune.decoder.text import (
    Piece,
    Writer,
    load_tokenizer,
    own_writer,
    read_dialogues,
    sample,
    source_of,
    split_dialogues,
    template_writer,
)
from dialint.finetune.train import checkpoint
from dialint.finetune.train.adapters import AdapterOptions, require_positions
from dialint.finetune.train.checkpoint import validate_finite
from dialint.finetune.train.lineage import TRAINING, job_of_config, provenance, render_template
from dialint.finetune.train.memory import TrainingSetup, print_plan
from dialint.finetune.train.options import RunOptions

if TYPE_CHECKING:
    from dialint.finetune.decoder.trainer import PretrainTrainer
    from dialint.finetune.train.loop import TrainerState

CHAT_SHARE = 0.1
"""Share of dialogues that the small decoder reads in its chat template rather than in role marks."""
HELDOUT_PER_SOURCE = 50
"""Held-out dialogues of each source that are evaluated during training; at the end all are."""
TOKENIZER_FILES = ("*token*.json", "chat_template.jinja")
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
    """How logs are read."""
    running: RunOptions = field(default_factory=RunOptions)

    @property
    def peak_rate(self) -> float:
        """The learning rate at its peak."""
        return self.learning_rate or (5e-5 if self.base else 2e-3)


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
    dialogues, logs = read_dialogues(config.dialogues, config.read)
    job = job_of_config(config, logs, *base_hashes)
    train, heldout = split_dialogues(dialogues)
    if not train or not heldout:
        raise InputRefused("E_NO_RECORDS", "the logs hold too few dialogues to learn from and to hold out")
    with disk_errors(config.out):
        make_output_folder(config.out)
    writers = _build_writers(config, train)
    pieces = _encode(config, writers, train)
    heldout_sample = writers[0].pieces(sample(heldout, HELDOUT_PER_SOURCE), config.row_tokens)
    if not pieces or not heldout_sample:
        raise ConfigError("E_TEMPLATE", "the chat template of the base refuses every dialogue")
    n_tokens = sum(len(piece.ids) for piece in pieces)
    print(f"{len(pieces)} pieces to train on, {n_tokens} tokens", file=sys.stderr, flush=True)
    device = resolve_device(running.device)
    bf16 = resolve_precision(running.precision, torch.device(device)) == "bf16"
    trainer = PretrainTrainer(config, _build_model(config, device), bf16, pieces, heldout_sample)
    if not trainer.rows:
        raise ConfigError("E_OPTION", "--epochs leaves nothing to train on")
    loop = trainer.build_loop(job)
    if not loop.run():
        return
    n_train, n_heldout = (Counter(map(source_of, part)) for part in (train, heldout))
    facts = {
        "sources": {
            name: {"train": n_train[name], "heldout": n_heldout[name]} for name in n_train | n_heldout
        },
        "written": [writer.name for writer in writers],
        "logs": logs,
    }
    _save(config, trainer, loop.state, writers[0].pieces(heldout, config.row_tokens), facts)
    checkpoint.remove_except(config.out)


def _build_writers(config: PretrainConfig, dialogues: Sequence[Dialogue]) -> list[Writer]:
    """The writers of dialogues; evaluation uses the first. Saves the tokenizer in the output folder."""
    if config.base is not None:
        for pattern in TOKENIZER_FILES:
            for path in config.base.glob(pattern):
                (config.out / path.name).write_bytes(path.read_bytes())
        return [template_writer(config.base)]
    texts = (turn.text for dialogue in dialogues for turn in dialogue.turns if turn.role != "tool")
    tokenizer.save_tokenizer(tokenizer.train_tokenizer(texts, config.vocabulary), config.out)
    return [own_writer((config.out / "tokenizer.json").read_text()), template_writer(config.out)]


def _encode(config: PretrainConfig, writers: Sequence[Writer], dialogues: Sequence[Dialogue]) -> list[Piece]:
    """The training pieces; the second writer encodes a share of the dialogues, sampled by the seed."""
    import numpy as np

    share = CHAT_SHARE if len(writers) > 1 else 0.0
    is_chat = np.random.default_rng(config.running.seed).random(len(dialogues)) < share
    return [
        piece
        for number, writer in enumerate(writers)
        for piece in writer.pieces(
            [item for item, chat in zip(dialogues, is_chat, strict=True) if chat == number], config.row_tokens
        )
    ]


def _build_model(config: PretrainConfig, device: str) -> Any:
    """The model ready to train.

    Raises:
        ConfigError: E_BASE, rows are longer than the model's positions, it lacks embeddings of tokens, or it
            does not keep the dialogues of a row apart.
    """
    from dialint.detector.engines import packed
    from dialint.finetune.decoder.trainer import decoder_config, init_decoder
    from dialint.finetune.train.memory import enable_gradient_checkpointing, recomputes_activations

    model: Any
    n_tokens = len(load_tokenizer(config.out))
    if config.base is not None:
        source = ModelSource(resolve_base(config.base), weights_sha256(config.base))
        model = load_base_model(source, trainable=True, full_precision=True)
        n_rows = model.get_input_embeddings().num_embeddings
        if n_tokens > n_rows:
            raise ConfigError("E_BASE", f"{config.base}: {n_tokens} tokens, but embeddings for {n_rows}")
    else:
        model = init_decoder(decoder_config(config.depth, n_tokens, config.row_tokens), config.running.seed)
    model.to(device)
    require_positions(model, config.row_tokens)
    if (reason := packed.equivalence_error(model.base_model, config.row_tokens, 0)) is not None:
        raise ConfigError("E_BASE", reason)
    model.set_attn_implementation(packed.NAME)
    if recomputes_activations(config.running, model):
        enable_gradient_checkpointing(model)
    model.train()
    return model


def _print_memory(config: PretrainConfig) -> None:
    from dialint.finetune.decoder.trainer import decoder_config

    with tempfile.TemporaryDirectory() as folder:
        decoder_config(config.depth, config.vocabulary, config.row_tokens).save_pretrained(folder)
        all_weights, n = AdapterOptions(adapter="none"), config.row_tokens
        base = config.base or Path(folder)
        print_plan(TrainingSetup(base, "CAUSAL_LM", all_weights, config.running, 1, n, n))


def _save(
    config: PretrainConfig,
    trainer: PretrainTrainer,
    state: TrainerState,
    heldout: Sequence[Piece],
    facts: dict[str, Any],
) -> None:
    """Write the weights, the model card and last the manifest, with figures of the weights as stored."""
    import torch
    from transformers.utils import logging

    from dialint.finetune.decoder.trainer import evaluate_perplexity

    trainer.model.to(torch.bfloat16).to(torch.float32)  # evaluated as it will be loaded
    figures = evaluate_perplexity(trainer.model, heldout, config.row_tokens, trainer.bf16)
    trainer.model.set_attn_implementation("sdpa" if trainer.model._supports_sdpa else "eager")
    model = trainer.model.to("cpu", torch.bfloat16)
    validate_finite(model.state_dict(), config.out)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    model.save_pretrained(config.out)
    total = sum(p.numel() for p in model.parameters())
    embeddings = (model.get_input_embeddings(), model.get_output_embeddings())
    tables = {id(part.weight): part.weight.numel() for part in embeddings if part is not None}
    bases = sorted(config.base.glob("*.safetensors")) if config.base else []
    content = {
        "kind": "decoder",
        **facts,
        "parameters": {"all": total, "beside_embeddings": total - sum(tables.values())},
        "tokens_seen": state.tokens,
        "steps": state.step,
        "best_step": state.best_step,
        "heldout": figures,
        "precision": "bf16" if trainer.bf16 else "fp32",
        "base_sha256": {path.name: sha256_file(path) for path in bases},
        **provenance(config),
        "seconds": round(state.seconds),
        **state.usage,
        "outputs": [file_entry(path) for path in sorted(config.out.glob("*.safetensors"))],
    }
    (config.out / "README.md").write_text(render_template(CARD, name=config.out.name, **content))
    write_manifest(config.out / TRAINING, content)
