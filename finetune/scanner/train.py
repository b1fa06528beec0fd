"""Fine-tunes a scanner: binary cross-entropy on verdict slots, dialogue ends and evidence tokens.

    dialint train sft scan --examples build/examples --base embedded --out build/scanner
    dialint train sft scan --examples build/examples --base models/decoder --out build/scanner --quantise nf4

Reads the sets ``train`` and ``dev`` (JSONL or Parquet) and ``manifest.json`` of the examples folder and the
base model's folder. Writes a folder with ``model.safetensors``, ``training.json`` and a log of metrics; where
adapters were trained, ``adapter`` has them unmerged too. A stopped run resumes from its last checkpoint.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import (
    MANIFEST,
    make_output_folder,
    package_versions,
    require_new,
    write_json,
    write_manifest,
)
from dialint.detector.engines.base_models import describe_base, resolve_base
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import find_set, read_examples, require_set
from dialint.detector.extras import require_single_process
from dialint.detector.release import WEIGHTS
from dialint.detector.render import Renderer
from dialint.detector.taxonomy import load_taxonomy
from dialint.finetune.scanner.data import build_targets, build_targets_with_prefixes, examples_fingerprint
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.train.checkpoint import remove_all
from dialint.finetune.train.estimate import (
    Cost,
    Workload,
    estimate_cost,
    estimate_memory,
    measure_step_time,
    model_sizes,
    print_memory,
    print_time,
    recomputes_activations,
)
from dialint.finetune.train.finite import save_weights
from dialint.finetune.train.lineage import LIBRARIES, TRAINING, config_to_dict, git_commit, job_of_config
from dialint.finetune.train.memory import ForwardPass, memory_table, parse_gpu_memory, setup_from_options
from dialint.finetune.train.metrics_log import MetricsLog

if TYPE_CHECKING:
    from dialint.finetune.scanner.backbone import BaseModel
    from dialint.finetune.scanner.trainer import ScanTrainer, TrainData

ADAPTER_FOLDER = "adapter"
"""Folder, inside that of the scanner, with the adapters alone, where there are any."""
EVALUATION_SETS = ("dev", "dev_unseen", "dev_natural")
"""Sets that are evaluated during training: error families of training, families never trained on, and real
dialogues with labels."""


def scan(config: ScanConfig) -> None:
    """Fine-tune a scanner on labelled examples."""
    from dialint.detector.engines.local import resolve_device, resolve_precision
    from dialint.finetune.scanner.backbone import build_network, export_adapter, load_base, merge_adapters
    from dialint.finetune.scanner.trained import continue_heads
    from dialint.finetune.scanner.trainer import ScanTrainer

    _validate(config)
    base_folder = resolve_base(config.base)
    config = replace(config, base=base_folder.folder)
    gpu = parse_gpu_memory(config.running.device)
    if gpu is not None:
        rows = math.ceil(config.row_tokens / config.context_tokens)
        work = ForwardPass(rows, config.context_tokens, 0)
        print(memory_table(setup_from_options(config.base, None, config.adapters, config.running, work), gpu))
        return
    import torch

    device = resolve_device(config.running.device)
    torch.set_num_threads(config.running.threads)
    codes, dialogue_codes = select_codes(config)
    base = load_base(config)
    data = load_data(config, base, codes, dialogue_codes)
    precision = resolve_precision(config.running.precision, torch.device(device))
    model = build_network(config, base, len(codes), device)
    continued = None if config.from_scratch else continue_heads(model, base.folder, codes)
    trainer = ScanTrainer(config, model, data, precision)
    cost = estimate_cost(config.running, device)
    if config.running.dry_run:
        _print_estimate(trainer, cost)
        return
    make_output_folder(config.out)
    loop = trainer.build_loop(cost)
    if not loop.run():
        return
    if config.adapters.adapter == "lora":
        export_adapter(config.out / ADAPTER_FOLDER, base, base_folder, trainer.model, codes)
    model = merge_adapters(config, base, trainer.model, len(codes))
    trainer.model = model
    trainer.parameters.clear()
    trainer.optimizer.param_groups.clear()  # frees the rounded model: both need not fit the GPU
    trainer.optimizer.state.clear()
    save_weights(model.state_dict(), config.out / WEIGHTS)
    embeddings: Any = model.backbone.get_input_embeddings()
    write_json(config.out / "config.json", {**base.shape, "vocab_size": embeddings.num_embeddings})
    (config.out / "tokenizer.json").write_text(base.tokenizer)
    write_manifest(
        config.out / TRAINING,
        {
            "kind": "scanner",
            "codes": codes,
            "render": base.render.model_dump(),
            "taxonomy": load_taxonomy(config.taxonomy).version,
            "base": describe_base(base_folder) if continued is None else continued.base,
            "base_sha256": base.sha256 if continued is None else continued.base_sha256,
            "continued_from": None if continued is None else continued.sha256,
            "examples": examples_fingerprint(config.examples),
            "config": config_to_dict(config),
            "precision": precision,
            "steps": loop.state.step,
            "best_step": loop.state.best_step if loop.best_weights else loop.state.step,
            "seconds": round(loop.state.seconds),
            "cost": cost.to_dict(loop.state.seconds),
            "commit": git_commit(),
            "versions": package_versions(*LIBRARIES),
        },
    )
    remove_all(config.out)
    if config.adapters.quantise == "nf4":  # what it costs that adapters are merged into the exact weights
        model.to(device)
        merged = trainer.evaluate()
        with MetricsLog(config.out) as log:
            log.write({"step": loop.state.step, "merged": merged})
        before, after = (
            figures.get("dev", {}).get("ap", {}).get("macro") for figures in (loop.final_figures, merged)
        )
        print(
            f"macro average precision on dev: {before} beside 4 bits, {after} merged into the exact weights"
        )


def _validate(config: ScanConfig) -> None:
    """Validate options and files before any work is done.

    Raises:
        ConfigError: a library or a file is missing, or a launcher started several processes.
        OutputRefused: the folder holds a scanner.
    """
    require_new(config.out, TRAINING, "a trained scanner")
    require_single_process("train sft scan")
    config.adapters.validate()
    config.running.validate()
    for path in (require_set(config.examples, "train"), config.examples / MANIFEST):
        if not path.is_file():
            raise ConfigError("E_OPTION", f"{path}: there is no such file")


def load_data(config: ScanConfig, base: BaseModel, codes: list[str], dialogue_codes: list[str]) -> TrainData:
    """Read the windows to train on and those of the evaluation sets."""
    from dialint.finetune.scanner.trainer import TrainData

    renderer = Renderer(base.render, base.tokenizer)
    examples, seed = read_examples(require_set(config.examples, "train")), config.running.seed
    train = list(
        build_targets_with_prefixes(examples, config.prefix_share, seed, renderer, codes, dialogue_codes)
    )
    evaluation = {
        name: list(build_targets(read_examples(path), renderer, codes, dialogue_codes))
        for name in EVALUATION_SETS
        if (path := find_set(config.examples, name))
    }
    print(f"{len(train)} windows to train on, {sum(len(t.window) for t in train)} tokens", flush=True)
    job = job_of_config(
        config, examples_fingerprint(config.examples), base.sha256, base.shape, base.tokenizer
    )
    return TrainData(train, evaluation, codes, job)


def select_codes(config: ScanConfig) -> tuple[list[str], list[str]]:
    """The codes to train, in the order of the taxonomy, and those of them that are of dialogue scope.

    Raises:
        ConfigError: E_CODE, there is none, or one that the taxonomy does not have.
    """
    selected = set(config.codes) or {
        label.code
        for example in read_examples(require_set(config.examples, "train"))
        for label in example.labels
    }
    taxonomy = load_taxonomy(config.taxonomy).codes
    if not selected or selected - set(taxonomy):
        raise ConfigError("E_CODE", f"no codes to train, or unknown ones: {sorted(selected - set(taxonomy))}")
    codes = [code for code in taxonomy if code in selected]
    return codes, [code for code in codes if taxonomy[code].scope == "dialogue"]


def _print_estimate(trainer: ScanTrainer, cost: Cost) -> None:
    """Print what the training would take; a few of its steps are run for it and discarded."""
    config, shape = trainer.config, trainer.model.backbone.config
    lengths = [len(target.window) for target in trainer.data.train]
    work = Workload(
        tokens=config.row_tokens,
        window=sum(length**2 for length in lengths) // sum(lengths),
        hidden=shape.hidden_size,
        layers=shape.num_hidden_layers,
        heads=shape.num_attention_heads,
        value_bytes=2 if trainer.precision == "bf16" else 4,
        checkpointing=recomputes_activations(config.running, trainer.model),
    )
    sizes = model_sizes(trainer.model)
    print_memory(sizes, estimate_memory(sizes, config.running.optimizer, work))
    trainer.model.train()
    n_steps = len(trainer.steps)
    print_time(n_steps, measure_step_time(lambda step: trainer.train_step(step % n_steps).tokens), cost)
