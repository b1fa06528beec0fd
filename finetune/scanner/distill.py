"""Distills a small scanner from a large one on dialogues without labels.

    dialint train distill --teacher build/release --dialogues logs/*.jsonl --layers 3 --out build/small
    dialint train distill --teacher build/release --dialogues log.jsonl --base minilm --out build/small

The teacher is a release or the folder of a trained scanner. It scores the masked dialogues once;
`dialint.finetune.scanner.trainer` trains the student on its probabilities. Teacher and student may have
different tokens and windows (`soft_targets` aligns them). All windows with their targets are in memory.
Writes a folder like that of ``dialint train sft scan``, for ``dialint train pack``; a stopped run resumes
from its last checkpoint.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    data_fingerprint,
    disk_errors,
    make_output_folder,
    read_manifest,
    require_new,
)
from dialint.detector.engines.base_models import describe_base, resolve_base
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError, DialogueFailed, InputRefused
from dialint.detector.example_files import read_examples
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.manifests import Folder
from dialint.detector.masking import mask_dialogue
from dialint.detector.option_ranges import command_options
from dialint.detector.progress import track
from dialint.detector.records import Dialogue
from dialint.detector.render import Rendered, Renderer, Slot
from dialint.detector.scanner import Array, TurnScores
from dialint.eval.results import source_of
from dialint.finetune.decoder.text import read_dialogues
from dialint.finetune.scanner.data import Target, build_targets
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.checkpoint import remove_except
from dialint.finetune.train.lineage import TRAINING, job_of_config
from dialint.finetune.train.loop import pack_rows
from dialint.finetune.train.memory import TrainingSetup, peak_memory, print_plan
from dialint.finetune.train.options import RunOptions

if TYPE_CHECKING:
    from dialint.detector.engines.scan_model import ScanModel
    from dialint.finetune.scanner.trained import TrainedScanner

HELDOUT = 100
"""Maximum number of held-out dialogues; a twentieth of all if there are fewer than 2,000."""


@command_options
class DistillConfig:
    """Options of `dialint train distill`."""

    teacher: Path
    """A release, or the folder of a trained scanner."""
    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Logs to train on; they need no labels."""
    out: Path
    """Folder for the student."""
    base: Path | None = None
    """What the student starts from: a backbone (a folder or a name on a hub), or a scanner's folder."""
    layers: Annotated[int | None, Field(ge=1)] = None
    """Keep so many layers of the base, evenly spread; without a base, of the teacher itself."""
    examples: Path | None = None
    """Examples of `dialint data inject` to train on beside; dialogues of their evaluation sets are left out
    of the logs."""
    epochs: Annotated[float, Field(gt=0)] = 1.0
    """Passes over the dialogues."""
    row_tokens: Annotated[int, Field(ge=1)] = 4096
    """Tokens in one training step."""
    context_tokens: Annotated[int | None, Field(ge=1)] = None
    """Tokens that a new student sees at once, as in `train sft scan`; a scanner keeps its own."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    """Peak rate of the backbone."""
    head_learning_rate: Annotated[float, Field(gt=0)] = 2e-3
    """Peak rate of the heads."""
    read: Annotated[ReadConfig, Parameter(name="*")] = field(default_factory=ReadConfig)
    """Options of reading logs."""
    running: RunOptions = field(default_factory=RunOptions)
    """Options of the run."""

    def scan_config(self, base: Path) -> ScanConfig:
        """Returns the options of the student's training."""
        shared = ("out", "epochs", "row_tokens", "context_tokens", "learning_rate", "head_learning_rate",
                  "running")  # fmt: skip
        own = {name: getattr(self, name) for name in shared}
        return ScanConfig(examples=self.examples or Path(), base=base, **own)


def distill(config: DistillConfig) -> None:
    """Trains a small scanner on a teacher's scores of unlabelled dialogues.

    Raises:
        ConfigError: a file or a library is missing, or teacher and student do not fit.
        OutputRefused: `out` holds a scanner already.
    """
    import torch

    from dialint.detector.engines.local import resolve_device, resolve_precision
    from dialint.detector.engines.scan_model import check_equivalence
    from dialint.finetune.scanner.backbone import ENCODER_TOKENS
    from dialint.finetune.scanner.trained import write_scanner
    from dialint.finetune.scanner.trainer import ScanTrainer, TrainData

    require_new(config.out, TRAINING, "a trained scanner")
    require_single_process("train distill")
    running = config.running
    running.validate()
    if not config.teacher.exists():
        raise ConfigError(
            "E_SCANNER", f"{config.teacher}: neither a release nor the folder of a trained scanner"
        )
    if running.dry_run:
        folder = resolve_base(config.base).folder if config.base else config.teacher
        all_weights, context = AdapterOptions(adapter="none"), config.context_tokens or ENCODER_TOKENS
        rows = math.ceil(config.row_tokens / context)
        setup = TrainingSetup(folder, None, all_weights, running, rows, context)
        print_plan(replace(setup, layers=config.layers))
        return
    torch.set_num_threads(running.threads)
    teacher, student = load_models(config)
    check_equivalence(student.model, student.render.context_tokens)
    renderer = Renderer(student.render, student.tokenizer)
    read, logs = read_dialogues(config.dialogues, config.read)
    dialogues = [mask_dialogue(each)[0] for each in drop_evaluated(read, config.examples)]
    of_dialogue = _score(config, teacher, dialogues, renderer)
    n_heldout = min(HELDOUT, max(1, len(of_dialogue) // 20))
    heldout, train = (
        list(chain.from_iterable(part)) for part in (of_dialogue[:n_heldout], of_dialogue[n_heldout:])
    )
    if not train:
        raise InputRefused(
            "E_NO_RECORDS", "the logs hold too few dialogues with an agent's turn to learn from"
        )
    print(f"{len(of_dialogue) - n_heldout} dialogues to train on", flush=True)
    if config.examples is not None:
        train += build_targets(read_examples(config.examples / "train.jsonl"), renderer, student.codes)
    trained_on = data_fingerprint(config.examples) if config.examples else ""
    job = job_of_config(config, logs, teacher.sha256, student.sha256, trained_on)
    precision = resolve_precision(running.precision, torch.device(resolve_device(running.device)))
    data = TrainData(train, {}, list(student.codes), job)
    trainer = ScanTrainer(config.scan_config(Path()), student.model, data, precision)
    if not trainer.steps:
        raise ConfigError("E_OPTION", "--epochs leaves nothing to learn from")
    with disk_errors(config.out):
        make_output_folder(config.out)
    loop = trainer.build_loop()
    loop.evaluate = None
    loop.final_evaluate = lambda: {
        "heldout_loss": mean_loss(student.model, heldout, trainer.config, precision == "bf16")
    }
    if not loop.run():
        return
    lineage = {
        "teacher": {"name": config.teacher.name, "sha256": teacher.sha256},
        "dialogues": logs,
        "seconds": round(loop.state.seconds),
        **loop.state.usage,
        "peak_memory_mb": round(peak_memory() / 1e6),
        "figures": loop.final_figures,
    }
    student = replace(student, examples=trained_on or teacher.examples, taxonomy=teacher.taxonomy)
    write_scanner(config.out, student, config, lineage)
    remove_except(config.out)


def load_models(config: DistillConfig) -> tuple[TrainedScanner, TrainedScanner]:
    """Loads teacher and student, the student on its device.

    Raises:
        ConfigError: no base and no layers, a base that does not load, or a scanner of other codes.
    """
    from dialint.detector.engines.local import resolve_device
    from dialint.finetune.scanner.backbone import load_base
    from dialint.finetune.scanner.trained import (
        evenly_spaced,
        init_student,
        is_scanner,
        read_scanner,
        select_layers,
    )
    from dialint.finetune.train.memory import enable_gradient_checkpointing, recomputes_activations

    running, teacher = config.running, read_scanner(config.teacher)
    if config.base is not None:
        base = resolve_base(config.base)
        if is_scanner(base.folder):
            student = read_scanner(base.folder)
        else:
            scan_config = config.scan_config(base.folder)
            student = init_student(scan_config, load_base(scan_config), teacher.codes, describe_base(base))
    elif config.layers is not None:
        student = teacher
    else:
        raise ConfigError("E_OPTION", "name what the student starts from: --base, or --layers of its teacher")
    if student.codes != teacher.codes:
        raise ConfigError("E_CODE", f"{config.base}: a scanner of other codes than its teacher's")
    if config.layers is not None:
        student = select_layers(student, evenly_spaced(student.shape["num_hidden_layers"], config.layers))
    model = student.model.requires_grad_(True).to(resolve_device(running.device))
    if recomputes_activations(running, model):
        enable_gradient_checkpointing(model.backbone)
    return teacher, replace(student, model=model, stands_on_base=False)


def drop_evaluated(dialogues: list[Dialogue], examples: Path | None) -> list[Dialogue]:
    """Returns the dialogues that are in no evaluation set of the examples."""
    if examples is None:
        return dialogues
    names = [entry["name"] for entry in read_manifest(examples / MANIFEST, expected=Folder)["files"]]
    sets = [name for name in names if name.endswith(".jsonl") and name != "train.jsonl"]
    evaluated = {source_of(example) for name in sets for example in read_examples(examples / name)}
    remaining = [dialogue for dialogue in dialogues if dialogue.id.partition("~")[0] not in evaluated]
    if n_dropped := len(dialogues) - len(remaining):
        print(f"{n_dropped} dialogues left out: they are in evaluation sets of the examples", file=sys.stderr)
    return remaining


def _score(
    config: DistillConfig, teacher: TrainedScanner, dialogues: Sequence[Dialogue], renderer: Renderer
) -> list[list[Target]]:
    """Returns the student's windows of each dialogue with the teacher's probabilities, without dialogues that
    have no turn to score."""
    scanner = teacher.scanner(config.row_tokens, config.running.precision, config.running.device)
    scanner = replace(scanner, dialogue_codes=tuple(False for _ in teacher.codes))  # a score for every turn
    results: list[list[Target]] = []
    scored = track(scanner.stream(dialogues), len(dialogues), "scoring dialogues")
    for dialogue, scan in zip(dialogues, scored, strict=True):
        with suppress(DialogueFailed):
            turns = () if isinstance(scan, DialogueFailed) else scan
            results.append(soft_targets(renderer.render(dialogue), turns, len(teacher.codes)))
    return results


def soft_targets(windows: Sequence[Rendered], scores: Sequence[TurnScores], n_codes: int) -> list[Target]:
    """Returns the windows of one dialogue with the teacher's probabilities. A turn in several windows of the
    student has targets for its evidence only: the teacher's score is of the whole turn."""
    by_turn = {turn.turn: turn for turn in scores}
    n_pieces = Counter(slot.turn for window in windows for slot in window.slots)
    no_scores = np.full((1, n_codes), -np.inf, np.float32)
    targets = []
    for window in windows:
        turns, spans = [no_scores[:0]], [no_scores[:0]]
        for slot in window.slots:
            turn = by_turn.get(slot.turn)
            is_whole = turn is not None and n_pieces[slot.turn] == 1
            turns.append(turn.scores[None] if turn is not None and is_whole else no_scores)
            spans.append(_align_evidence(slot, turn, n_codes))
        targets.append(Target(window, *(_probabilities(np.vstack(rows)) for rows in (turns, spans))))
    return targets


def _probabilities(logits: Array) -> Array:
    """Returns probabilities; NaN, unknown, for -inf."""
    soft = 1.0 / (1.0 + np.exp(-np.clip(logits, -60, 60)))
    return np.where(np.isneginf(logits), np.nan, soft).astype(np.float32)


def _align_evidence(slot: Slot, turn: TurnScores | None, n_codes: int) -> Array:
    """Returns logits of shape (the student's tokens, codes): the highest of the teacher's tokens that overlap
    the student's; -inf without one."""
    no_scores = np.full((len(slot.offsets), n_codes), -np.inf, np.float32)
    if turn is None or not turn.offsets or not slot.offsets:
        return no_scores
    teacher_offsets, student_offsets = np.array(turn.offsets), np.array(slot.offsets)
    first = np.searchsorted(teacher_offsets[:, 1], student_offsets[:, 0], "right")
    behind = np.searchsorted(teacher_offsets[:, 0], student_offsets[:, 1], "left")
    padded = np.vstack([turn.spans, no_scores[:1]])
    highest = np.maximum.reduceat(padded, np.stack([first, behind], 1).ravel(), axis=0)[::2]
    return np.where((behind > first)[:, None], highest, no_scores)


def mean_loss(model: ScanModel, targets: Sequence[Target], config: ScanConfig, bf16: bool) -> float:
    """Computes the loss on `targets` without training: the mean over rows, weighted by their windows."""
    import torch

    from dialint.finetune.scanner.trainer import scan_loss

    model.eval()
    total = 0.0
    sizes = [len(target.window) for target in targets]
    with torch.inference_mode():
        for indices in pack_rows(range(len(targets)), sizes, config.row_tokens):
            row = [targets[index] for index in indices]
            total += len(row) * float(scan_loss(model, row, config.span_weight, bf16=bf16))
    return total / len(targets)
