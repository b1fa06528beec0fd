"""Trains a scanner on labelled examples: heads on a frozen base, or the base too.

    dialint train sft scan --examples build/examples --base smollm2 --layers 16 --out build/scanner
    dialint train sft scan --examples build/examples --base embedded --out build/scanner --epochs 2

Without ``--epochs`` each example is read once, and the heads are fitted by logistic regression. Those of a
release are regularized towards their weights, so that few labels make none worse; unlabelled codes and their
calibration stay. With ``--epochs`` base and heads are trained by binary cross-entropy on slots of turns and
evidence tokens; a stopped run resumes from its last checkpoint. Reads the sets ``train`` and ``dev`` (JSONL
or Parquet) and ``manifest.json`` of the examples folder and the base model's folder. Writes a folder with
``model.safetensors`` and ``training.json``.
"""

from __future__ import annotations

import math
import time
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import (
    MANIFEST,
    data_fingerprint,
    make_output_folder,
    read_manifest,
    require_new,
)  # fmt: skip
from dialint.detector.engines.base_models import FETCHED, describe_base, resolve_base
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import find_set, read_examples, require_set
from dialint.detector.manifests import Examples
from dialint.detector.render import Renderer
from dialint.detector.taxonomy import load_taxonomy
from dialint.finetune.scanner.data import build_targets, build_targets_with_prefixes
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.train.checkpoint import remove_except
from dialint.finetune.train.lineage import TRAINING, job_of_config
from dialint.finetune.train.memory import TrainingSetup, peak_memory, print_plan

if TYPE_CHECKING:
    from dialint.detector.engines.local import LocalEngine
    from dialint.detector.engines.scan_model import ScanModel
    from dialint.finetune.scanner.backbone import BaseModel
    from dialint.finetune.scanner.trainer import TrainData

OF_EPOCHS = (
    "tokens", "accumulate", "learning_rate", "head_learning_rate", "span_weight", "eval_steps", "patience",
)  # fmt: skip
"""Options without effect on fitted heads."""
EVALUATION_SETS = ("dev", "dev_natural")
"""Sets that are evaluated during training; the second is real dialogues with labels."""


def scan(config: ScanConfig) -> None:
    """Trains a scanner on labelled examples."""
    from dialint.detector.engines.local import LocalEngine, resolve_device, resolve_precision
    from dialint.finetune.scanner.backbone import build_network, load_base, merge_adapters
    from dialint.finetune.scanner.trained import TrainedScanner, continue_heads, existing_scans, write_scanner
    from dialint.finetune.scanner.trainer import ScanTrainer

    _validate(config)
    running, base_folder = config.running, resolve_base(config.base)
    config = replace(config, base=base_folder.folder)
    if running.dry_run:
        context = config.context_tokens or load_base(config).render.context_tokens
        rows = math.ceil(config.row_tokens / context)
        setup = TrainingSetup(config.base, None, config.adapters, running, rows, context)
        print_plan(replace(setup, layers=config.layers))
        return
    import torch

    device = resolve_device(running.device)
    torch.set_num_threads(running.threads)
    codes, dialogue_codes = select_codes(config)
    base = load_base(config)
    data = load_data(config, base, codes)
    precision = resolve_precision(running.precision, torch.device(device))
    model = build_network(config, base, len(codes), device)
    continued = continue_heads(model, base.folder, () if config.new_heads else codes)
    make_output_folder(config.out)
    if config.epochs:
        trainer = ScanTrainer(config, model, data, precision)
        loop = trainer.build_loop()
        if not loop.run():
            return
        model = merge_adapters(config, base, trainer.model, len(codes))
        lineage: dict[str, Any] = {
            "steps": loop.state.step,
            "best_step": loop.state.best_step if loop.best_weights else loop.state.step,
            "seconds": round(loop.state.seconds),
            **loop.state.usage,
            **loop.final_figures,
        }
    else:
        lineage = _fit(config, model, data, LocalEngine(model, precision, config.row_tokens, device))
    embeddings: Any = model.backbone.get_input_embeddings()
    scanner = TrainedScanner(
        model=model,
        codes=tuple(codes),
        dialogue_codes=tuple(dialogue_codes),
        render=base.render,
        shape={**base.shape, "vocab_size": embeddings.num_embeddings},
        tokenizer=base.tokenizer,
        base_sha256=base.sha256 if continued is None else continued.base_sha256,
        examples=data_fingerprint(config.examples),
        sha256="",
        base=describe_base(base_folder) if continued is None else continued.base,
        taxonomy=load_taxonomy(config.taxonomy).version,
        stands_on_base=not config.epochs and base_folder.name in FETCHED and not base.new_ids,
    )
    lineage |= {
        "continued_from": None if continued is None else continued.sha256,
        "scans": existing_scans(base.folder) if _keeps_release(config) else {},
        "precision": precision,
        "peak_memory_mb": round(peak_memory() / 1e6),
    }
    write_scanner(config.out, scanner, config, lineage)
    remove_except(config.out)


def _fit(config: ScanConfig, model: ScanModel, data: TrainData, engine: LocalEngine) -> dict[str, Any]:
    """Fits the heads of `model`, and returns the manifest's fields, with figures of the evaluation sets."""
    from dialint.finetune.scanner.trainer import evaluate_scanner, fit_heads, read_states

    began = time.monotonic()
    fit_heads(model, *read_states(engine, data.train))
    figures = {
        name: evaluate_scanner(model, targets, data.codes, config.row_tokens, engine.precision)
        for name, targets in data.evaluation.items()
    }
    for name, of_set in figures.items():
        if "ap" in of_set:
            print(f"{name}: average precision {of_set['ap']['macro']:.3f} of {len(of_set['ap']) - 1} codes")
    return {"seconds": round(time.monotonic() - began), **figures}


def _validate(config: ScanConfig) -> None:
    """Validates options and files before any work is done.

    Raises:
        ConfigError: a library or a file is missing, or a launcher started several processes.
        OutputRefused: the folder holds a scanner.
    """
    require_new(config.out, TRAINING, "a trained scanner")
    require_single_process("train sft scan")
    config.adapters.validate()
    if not config.epochs:
        defaults = {each.name: each.default for each in fields(ScanConfig)}
        changed = [name for name in OF_EPOCHS if getattr(config, name) != defaults[name]]
        if changed or config.adapters.adapter == "lora":
            which = " ".join(f"--{name.replace('_', '-')}" for name in changed) or "adapters"
            raise ConfigError("E_OPTION", f"{which}: only where the base is trained too, as by --epochs 1")
    config.running.validate()
    for path in (require_set(config.examples, "train"), config.examples / MANIFEST):
        if not path.is_file():
            raise ConfigError("E_OPTION", f"{path}: there is no such file")


def load_data(config: ScanConfig, base: BaseModel, codes: list[str]) -> TrainData:
    """Reads the windows to train on and those of the evaluation sets."""
    from dialint.finetune.scanner.trainer import TrainData

    renderer, path = Renderer(base.render, base.tokenizer), require_set(config.examples, "train")
    labelled = set(read_manifest(config.examples / MANIFEST, expected=Examples).get("codes") or ())
    labelled |= {label.code for example in read_examples(path) for label in example.labels}
    unlabelled = set(codes) - labelled
    examples = (
        example.model_copy(update={"unlabelled": tuple({*example.unlabelled, *unlabelled})})
        for example in read_examples(path)
    )
    share, seed = config.prefix_share, config.running.seed
    train = list(build_targets_with_prefixes(examples, share, seed, renderer, codes))
    evaluation = {
        name: list(build_targets(read_examples(file), renderer, codes))
        for name in EVALUATION_SETS
        if (file := find_set(config.examples, name))
    }
    print(f"{len(train)} windows to train on, {sum(len(t.window) for t in train)} tokens", flush=True)
    job = job_of_config(config, data_fingerprint(config.examples), base.sha256, base.shape, base.tokenizer)
    return TrainData(train, evaluation, codes, job)


def _keeps_release(config: ScanConfig) -> bool:
    """Returns whether codes and calibration of a base that is a scanner stay without labels."""
    return not (config.epochs or config.new_heads or config.taxonomy is not None)


def select_codes(config: ScanConfig) -> tuple[list[str], list[str]]:
    """Returns the codes of the scanner, in the order of the taxonomy, and those of dialogue scope: by default
    the codes of the labels, and those of a scanner that is continued.

    Raises:
        ConfigError: E_CODE, there is none, or one that the taxonomy does not have.
    """
    from dialint.finetune.scanner.backbone import scanner_manifest

    selected = set(config.codes) or {
        label.code
        for example in read_examples(require_set(config.examples, "train"))
        for label in example.labels
    }
    taxonomy = load_taxonomy(config.taxonomy).codes
    if not selected or selected - set(taxonomy):
        raise ConfigError("E_CODE", f"no codes to train, or unknown ones: {sorted(selected - set(taxonomy))}")
    if _keeps_release(config) and not config.codes:
        content = scanner_manifest(config.base)
        selected |= {*content.get("head_codes", content.get("codes", ()))} & set(taxonomy)
    codes = [code for code in taxonomy if code in selected]
    return codes, [code for code in codes if taxonomy[code].scope == "dialogue"]
