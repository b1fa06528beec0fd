"""Teaches a small scanner what a large one, or a judge, says of dialogues that nobody labelled.

    dialint train distill --teacher build/release --dialogues logs/*.jsonl --layers 3 --out build/small
    dialint train distill --teacher answers.jsonl --dialogues log.jsonl --base models/minilm --out build/small

The teacher is a release, the folder of a trained scanner, or a file of a judge's answers, one JSON object a
line: ``{"dialogue_id": "d1", "turn": 3, "code": "C1", "probability": 0.8}``. Logs are whatever is scored too,
masked in the same way. Writes a folder like that of the scan's training, for `dialint train pack`; a stopped
run goes on from its last checkpoint. What the student is worth, only an exam says.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from dialint.detector.artifacts import disk_errors, make_output_folder, package_versions, sha256_file
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.finetune.base_models.resolve import resolve_base
from dialint.finetune.scanner.average import TRAINING
from dialint.finetune.train.distributed import require_single_process
from dialint.finetune.train.estimate import (
    Workload,
    estimate_cost,
    estimate_memory,
    measure_pace,
    model_sizes,
    print_memory,
    print_time,
    recomputes_activations,
)
from dialint.finetune.train.lineage import LIBRARIES, git_commit, job_of_config
from dialint.finetune.train.options import RunOptions

if TYPE_CHECKING:
    from dialint.finetune.compression.distillation import Distillation
    from dialint.finetune.compression.teachers import Teacher
    from dialint.finetune.scanner.train import ScanConfig
    from dialint.finetune.scanner.trained import TrainedScanner


@Parameter(name="*")
@dataclass(frozen=True)
class DistillConfig:
    """What `dialint train distill` needs to know."""

    teacher: Path
    """A release, the folder of a trained scanner, or a JSONL file of a judge's answers."""
    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Logs to learn from; nobody needs to have labelled them."""
    out: Path
    """Folder for the student."""
    base: Path | None = None
    """What the student starts from: a backbone (a folder or a name on a hub), or a scanner's folder."""
    layers: int | None = None
    """Keep so many layers of the base, evenly spread; without a base, of the teacher itself."""
    from_scratch: bool = False
    """Random weights of that shape."""
    examples: Path | None = None
    """Examples of `dialint data inject` to learn beside; their exam's dialogues are left out of the logs."""
    label_weight: float = 1.0
    """Weight of the examples' labels beside what the teacher says."""
    temperature: float = 2.0
    """What logits are divided by before they are compared; higher shows more of what is unlikely."""
    span_weight: float = 0.5
    """Weight of the evidence loss beside the turn loss."""
    prefix_share: float = 0.25
    """Share of dialogues that are learnt as they stood in the middle."""
    epochs: float = 1.0
    """Passes over the dialogues."""
    tokens: int | None = None
    """Tokens to learn from, at most, whatever the passes."""
    row_tokens: int = 4096
    """Tokens in one training step."""
    context_tokens: int = 500
    """Tokens that a new student sees at once; a scanner keeps its own."""
    learning_rate: float = 2e-4
    """Peak rate of the backbone."""
    head_learning_rate: float = 2e-3
    """Peak rate of the heads."""
    read: Annotated[ReadConfig, Parameter(name="*")] = field(default_factory=ReadConfig)
    """How logs are read."""
    running: RunOptions = field(default_factory=RunOptions)
    """How it runs."""

    def labels(self) -> ScanConfig:
        """How labelled examples are learnt beside."""
        from dialint.finetune.scanner.train import ScanConfig

        examples, base = self.examples or Path(), self.base or Path()
        return ScanConfig(examples, base, self.out, span_weight=self.span_weight)


def distill(config: DistillConfig) -> None:
    """Teach a small scanner what a teacher says of unlabelled dialogues."""
    import torch

    from dialint.detector.engines.equivalence_check import check_equivalence

    _refuse(config)
    torch.set_num_threads(config.running.threads)
    started = time.monotonic()
    teacher, student = _people(config)
    check_equivalence(student.model, student.render.context_tokens)
    run = _run(config, teacher, student)
    if config.running.dry_run:
        _show_plan(run)
        return
    with disk_errors(config.out):
        make_output_folder(config.out)
    from dialint.finetune.compression.distillation import distill_steps

    figures = distill_steps(run)
    if figures is None:
        print(f"{config.out}: stopped and saved; the same command goes on", file=sys.stderr)
        return
    _write(run, figures, time.monotonic() - started)


def _refuse(config: DistillConfig) -> None:
    """
    Raises:
        ConfigError: an option out of its range, or something is missing.
        OutputRefused: `out` holds a scanner already.
    """
    if (config.out / TRAINING).exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a trained scanner already; name another folder")
    require_single_process("train distill")
    config.running.refuse()
    above = ("temperature", "epochs", "row_tokens", "context_tokens", "learning_rate", "head_learning_rate")
    for name in above:
        if not getattr(config, name) > 0:
            raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must be above 0")
    for name in ("label_weight", "span_weight", "prefix_share"):
        if not getattr(config, name) >= 0:
            raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must not be negative")
    if not config.teacher.exists():
        raise ConfigError("E_OPTION", f"--teacher {config.teacher}: there is no such file or folder")


def _people(config: DistillConfig) -> tuple[Teacher, TrainedScanner]:
    """Teacher and student, the student on its device."""
    from dialint.detector.engines.local import resolve_device
    from dialint.finetune.compression.students import build_student, reinitialize
    from dialint.finetune.compression.teachers import ScannerTeacher, read_answers
    from dialint.finetune.policy.policy import enable_gradient_checkpointing
    from dialint.finetune.scanner.trained import read_scanner

    teacher: Teacher
    cut_from = None
    if config.teacher.is_dir():
        cut_from = read_scanner(config.teacher)
        scanner = cut_from.scanner(config.row_tokens, config.running.precision, config.running.device)
        teacher = ScannerTeacher(cut_from, scanner)
    else:
        teacher = read_answers(config.teacher, sha256_file(config.teacher))
    base = None if config.base is None else resolve_base(config.base).folder
    student = build_student(base, cut_from, teacher.codes, config.context_tokens, config.layers)
    if config.from_scratch:
        student = reinitialize(student, config.running.seed)
    model = student.model.requires_grad_(True).to(resolve_device(config.running.device))
    if recomputes_activations(config.running, model):
        enable_gradient_checkpointing(model.backbone)
    return teacher, replace(student, model=model)


def _run(config: DistillConfig, teacher: Teacher, student: TrainedScanner) -> Distillation:
    """Everything that a step needs."""
    import torch

    from dialint.detector.engines.local import resolve_device, resolve_precision
    from dialint.detector.render import Renderer
    from dialint.finetune.compression.data import load_distill_data
    from dialint.finetune.compression.distillation import Distillation
    from dialint.finetune.scanner.data import examples_fingerprint

    renderer = Renderer(student.render, student.tokenizer)
    lesson = load_distill_data(config, teacher, student, renderer)
    precision = resolve_precision(
        config.running.precision, torch.device(resolve_device(config.running.device))
    )
    beside = examples_fingerprint(config.examples) if config.examples else ""
    job = job_of_config(config, lesson.logs, teacher.sha256, student.sha256, beside)
    learnt = f"{len(lesson.dialogues)} dialogues to learn, {sum(lesson.sizes)} tokens"
    print(f"{learnt}, and {len(lesson.labelled)} labelled windows", flush=True)
    run = Distillation(config, student, teacher, renderer, precision, lesson, job)
    if not run.steps():
        raise ConfigError("E_OPTION", "--tokens or --epochs leaves nothing to learn from")
    return run


def _show_plan(run: Distillation) -> None:
    """Print what it would take; a few steps are computed and thrown away."""
    from dialint.finetune.compression.distillation import labelled_rows

    steps, config, shape = run.steps(), run.config, run.student.model.backbone.config
    beside = labelled_rows(run.lesson.labelled, config.running.seed, config.row_tokens)

    def step(number: int) -> int:
        row = steps[number % len(steps)]
        run.loss(row, beside[0] if beside else ()).backward()  # type: ignore[no-untyped-call]
        return sum(run.lesson.sizes[place] for _, place in row)

    work = Workload(
        tokens=config.row_tokens,
        window=run.student.render.context_tokens,
        hidden=shape.hidden_size,
        layers=shape.num_hidden_layers,
        heads=shape.num_attention_heads,
        value_bytes=2 if run.precision == "bf16" else 4,
        checkpointing=recomputes_activations(config.running, run.student.model),
    )
    sizes = model_sizes(run.student.model)
    print_memory(sizes, estimate_memory(sizes, config.running.optimizer, work))
    device = next(run.student.model.parameters()).device.type
    print_time(len(steps), measure_pace(step), estimate_cost(config.running, device))


def _write(run: Distillation, figures: dict[str, Any], seconds: float) -> None:
    """The student's folder, its manifest last; checkpoints go."""
    from dialint.finetune.compression.teachers import ScannerTeacher
    from dialint.finetune.scanner.data import examples_fingerprint
    from dialint.finetune.scanner.trained import write_scanner
    from dialint.finetune.train import checkpoint

    config, teacher = run.config, run.teacher
    taught_by = teacher.trained.examples if isinstance(teacher, ScannerTeacher) else None
    scanner = replace(
        run.student, examples=examples_fingerprint(config.examples) if config.examples else taught_by
    )
    lineage = {
        "teacher": {"name": config.teacher.name, "sha256": teacher.sha256},
        "dialogues": run.lesson.logs,
        "seconds": round(seconds),
        "figures": figures,
        "commit": git_commit(),
        "versions": package_versions(*LIBRARIES),
    }
    write_scanner(config.out, scanner, config, lineage)
    checkpoint.remove_all(config.out)
