"""Teaches a scanner: binary cross-entropy on verdict slots, dialogue ends and evidence tokens.

    dialint train sft scan --examples build/examples --base embedded --out build/scanner
    dialint train sft scan --examples build/examples --base models/decoder --out build/scanner --quantise nf4

Reads the sets ``train`` and ``dev`` (JSONL or Parquet) and ``manifest.json`` of the examples folder and the
base model's folder. Writes a folder with ``model.safetensors``, ``training.json`` and a log of metrics. A
stopped run goes on from its last checkpoint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

from dialint.detector.artifacts import make_output_folder, package_versions, write_json, write_manifest
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.example_files import find_set, read_examples, require_set
from dialint.detector.release import WEIGHTS, Release
from dialint.detector.render import Renderer
from dialint.detector.taxonomy import load_taxonomy
from dialint.finetune.base_models.resolve import resolve_base
from dialint.finetune.scanner.backbone import BaseModel, build_network, load_base, merge_adapters
from dialint.finetune.scanner.data import build_targets, build_targets_with_prefixes, examples_fingerprint
from dialint.finetune.scanner.trainer import Lesson, Run, learn_step, teach
from dialint.finetune.train.checkpoint import remove_all
from dialint.finetune.train.distributed import require_single_process
from dialint.finetune.train.estimate import (
    Cost,
    Workload,
    estimate_cost,
    estimate_memory,
    measure_pace,
    model_sizes,
    print_memory,
    print_time,
    recomputes_activations,
)
from dialint.finetune.train.finite import save_weights
from dialint.finetune.train.lineage import LIBRARIES, config_to_dict, git_commit, job_of_config
from dialint.finetune.train.memory import ForwardPass, memory_table, parse_gpu_memory, setup_from_options
from dialint.finetune.train.metrics_log import MetricsLog
from dialint.finetune.train.options import AdapterOptions, RunOptions

if TYPE_CHECKING:
    from dialint.detector.engines.scan_model import ScanModel


CHECKED = ("dev", "dev_unseen")
"""Sets that are looked at while learning: families of training, and families that only choose."""
ABOVE_0 = ("epochs", "row_tokens", "accumulate", "eval_steps", "learning_rate", "head_learning_rate")
NOT_NEGATIVE = ("span_weight", "pair_weight", "error_weight", "focal", "prefix_share", "neftune")

ALL_WEIGHTS = AdapterOptions(adapter="none")
USUAL = RunOptions()


@Parameter(name="*")
@dataclass(frozen=True)
class ScanConfig:
    """What `dialint train sft scan` needs to know."""

    examples: Path
    """Folder of `dialint data inject` or `dialint export dataset`."""
    base: Path
    """Base model: a folder, embedded or small_decoder (they ship), or a name on a hub. Of a release its
    backbone is taken."""
    out: Path
    """Folder for the trained scanner."""
    taxonomy: Path | None = None
    """A taxonomy of your own, which the examples are labelled by."""
    codes: tuple[str, ...] = ()
    """Codes to learn; none: every code that the training labels name."""
    epochs: float = 1.0
    """Passes over the training file."""
    tokens: int | None = None
    """Tokens to learn from, at most, whatever the passes."""
    row_tokens: int = 4096
    """Tokens in one forward pass."""
    accumulate: int = 1
    """Forward passes in one step."""
    context_tokens: int = 500
    """Tokens the model sees at once."""
    learning_rate: float = 2e-4
    """Peak rate of the backbone."""
    head_learning_rate: float = 2e-3
    """Peak rate of the heads."""
    span_weight: float = 0.5
    """Weight of the evidence loss beside the turn loss."""
    pair_weight: float = 0.5
    """Weight of the loss that wants an error above its clean twin."""
    error_weight: float = 1.0
    """Weight of what is an error beside what is none."""
    focal: float = 0.0
    """Exponent of the focal loss; 0 is plain cross-entropy."""
    history: bool = True
    """Tell the model which words were said before, and by whom."""
    evidence: bool = True
    """Let a turn's score take in its strongest evidence token."""
    from_scratch: bool = False
    """Start from random weights of the base's shape; for the ablation."""
    prefix_share: float = 0.25
    """Share of dialogues that are also learnt as they stood in the middle."""
    weight_by_confidence: bool = False
    """Let a label of probability p weigh |2p - 1|. Soft labels hold their doubt already, so this is for
    labels whose probabilities near one half are not to be trusted."""
    neftune: float = 0.0
    """Noise on embeddings while learning (Jain et al. 2023), usually 5; 0 is none."""
    eval_steps: int = 200
    """Steps between two looks at dev."""
    patience: int | None = None
    """Looks without a better one, by macro average precision on dev, after which learning stops, and the best
    weights are kept; none: learn to the end, keep the last."""
    adapters: AdapterOptions = ALL_WEIGHTS
    running: RunOptions = USUAL


def scan(config: ScanConfig) -> None:
    """Fine-tune a scanner on labelled examples."""
    import torch

    from dialint.detector.engines.local import resolve_device, resolve_precision

    _refuse(config)
    config = replace(config, base=resolve_base(config.base).folder)
    gpu = parse_gpu_memory(config.running.device)
    if gpu is not None:
        rows = math.ceil(config.row_tokens / config.context_tokens)
        work = ForwardPass(rows, config.context_tokens, 0)
        print(memory_table(setup_from_options(config.base, None, config.adapters, config.running, work), gpu))
        return
    device = resolve_device(config.running.device)
    torch.set_num_threads(config.running.threads)
    codes, dialogue_codes = _codes(config)
    ground = load_base(config)
    lesson = _lesson(config, ground, codes, dialogue_codes)
    precision = resolve_precision(config.running.precision, torch.device(device))
    run = Run(config, build_network(config, ground, len(codes), device), lesson, precision)
    cost = estimate_cost(config.running, device)
    if config.running.dry_run:
        _show_plan(run, cost)
        return
    make_output_folder(config.out)
    if not teach(run, cost):
        print(f"stopped after step {run.state.step} of {len(run.steps)}; the same command goes on")
        return
    run.model = merge_adapters(config, ground, run.model, len(codes))
    run.optimizer.param_groups.clear()  # the last to hold the rounded model: both need not fit the GPU
    run.optimizer.state.clear()
    _save(run, ground, cost)
    remove_all(config.out)
    if config.adapters.quantise == "nf4":
        run.model.to(device)
        print(_cost_of_merging(run))


def _refuse(config: ScanConfig) -> None:
    """Say what cannot be before any work is done.

    Raises:
        ConfigError: an option out of its range, or a file missing.
        OutputRefused: the folder holds a scanner.
    """
    if (config.out / "training.json").exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a trained scanner already; name another folder")
    require_single_process("train sft scan")
    config.adapters.refuse()
    config.running.refuse()
    for name in ABOVE_0:
        if not getattr(config, name) > 0:
            raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must be above 0")
    for name in NOT_NEGATIVE:
        if not getattr(config, name) >= 0:
            raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must not be negative")
    if config.patience is not None and config.patience < 1:
        raise ConfigError("E_OPTION", "--patience must be at least 1")
    if config.from_scratch and config.adapters.adapter == "lora":
        raise ConfigError("E_OPTION", "--from-scratch learns all weights; leave the options of adapters out")
    for path in (require_set(config.examples, "train"), config.examples / "manifest.json"):
        if not path.is_file():
            raise ConfigError("E_OPTION", f"{path}: there is no such file")


def _lesson(config: ScanConfig, ground: BaseModel, codes: list[str], dialogue_codes: list[str]) -> Lesson:
    """The windows to learn from and to look at."""
    renderer = Renderer(ground.render, ground.tokenizer)
    known, seed = read_examples(require_set(config.examples, "train")), config.running.seed
    learn = list(
        build_targets_with_prefixes(known, config.prefix_share, seed, renderer, codes, dialogue_codes)
    )
    check = {
        name: list(build_targets(read_examples(path), renderer, codes, dialogue_codes))
        for name in CHECKED
        if (path := find_set(config.examples, name))
    }
    print(f"{len(learn)} windows to learn, {sum(len(t.window) for t in learn)} tokens", flush=True)
    job = job_of_config(
        config, examples_fingerprint(config.examples), ground.sha256, ground.shape, ground.tokenizer
    )
    return Lesson(learn, check, codes, job)


def _codes(config: ScanConfig) -> tuple[list[str], list[str]]:
    named = set(config.codes) or {
        label.code
        for example in read_examples(require_set(config.examples, "train"))
        for label in example.labels
    }
    known = load_taxonomy(config.taxonomy).codes
    if not named or named - set(known):
        raise ConfigError("E_CODE", f"no codes to learn, or unknown ones: {sorted(named - set(known))}")
    codes = [code for code in known if code in named]
    return codes, [code for code in codes if known[code].scope == "dialogue"]


def _show_plan(run: Run, cost: Cost) -> None:
    """Print what the training would take; a few of its steps are run for it, and forgotten."""
    config, shape = run.config, run.model.backbone.config
    lengths = [len(target.window) for target in run.lesson.learn]
    work = Workload(
        tokens=config.row_tokens,
        window=sum(length**2 for length in lengths) // sum(lengths),
        hidden=shape.hidden_size,
        layers=shape.num_hidden_layers,
        heads=shape.num_attention_heads,
        value_bytes=2 if run.precision == "bf16" else 4,
        checkpointing=recomputes_activations(config.running, run.model),
    )
    sizes = model_sizes(run.model)
    print_memory(sizes, estimate_memory(sizes, config.running.optimizer, work))
    run.model.train()
    print_time(len(run.steps), measure_pace(lambda step: learn_step(run, step % len(run.steps))[1]), cost)


def _cost_of_merging(run: Run) -> str:
    """What it costs on dev that adapters learnt beside 4-bit weights are served within the exact ones."""
    found = run.looked(None)
    with MetricsLog(run.config.out) as log:
        log.write({"step": run.state.step, "merged": found})
    beside, within = (some.get("dev", {}).get("ap", {}).get("macro") for some in (run.found, found))
    return f"macro average precision on dev: {beside} beside 4 bits, {within} merged into the exact weights"


def _save(run: Run, ground: BaseModel, cost: Cost) -> None:
    """The trained weights in fp32 and all that a release needs to know of how they came about."""
    out, model = run.config.out, run.model
    save_weights(model.state_dict(), out / WEIGHTS)
    write_json(out / "config.json", {**ground.shape, "vocab_size": _rows(model)})
    (out / "tokenizer.json").write_text(ground.tokenizer)
    write_manifest(
        out / "training.json",
        {
            "kind": "scanner",
            "codes": run.lesson.codes,
            "render": ground.render.model_dump(),
            "taxonomy": load_taxonomy(run.config.taxonomy).version,
            "base": base_from_release(run.config.base),
            "base_sha256": ground.sha256,
            "examples": examples_fingerprint(run.config.examples),
            "config": config_to_dict(run.config),
            "precision": run.precision,
            "steps": run.state.step,
            "best_step": run.state.best_step if run.best else run.state.step,
            "seconds": round(run.state.seconds),
            "cost": cost.figures(run.state.seconds),
            "commit": git_commit(),
            "versions": package_versions(*LIBRARIES),
        },
    )


def base_from_release(folder: Path) -> dict[str, str] | None:
    """Name, revision and licence of a base that is itself a release; none of others, which do not say."""
    if not (folder / "release.json").exists():
        return None
    info = Release(folder).info
    return {
        "name": f"{info.id} (of {info.base.name})",
        "revision": info.base.revision,
        "licence": info.base.licence,
    }


def _rows(model: ScanModel) -> int:
    rows: int = model.backbone.get_input_embeddings().num_embeddings  # type: ignore[assignment]
    return rows
