"""Distills a small scanner from a large one, or from a judge, on dialogues without labels.

    dialint train distill --teacher build/release --dialogues logs/*.jsonl --layers 3 --out build/small
    dialint train distill --teacher answers.jsonl --dialogues log.jsonl --base models/minilm --out build/small

The teacher is a release, the folder of a trained scanner, or a file of a judge's answers, one JSON object a
line: ``{"dialogue_id": "d1", "turn": 3, "code": "C1", "probability": 0.8}``. Logs are read and masked as for
scoring. Writes a folder like that of ``dialint train sft scan``, for ``dialint train pack``; a stopped run
resumes from its last checkpoint. ``dialint eval run`` evaluates the student.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from dialint.detector.artifacts import (
    disk_errors,
    make_output_folder,
    package_versions,
    require_new,
    sha256_file,
)
from dialint.detector.engines.base_models import describe_base, resolve_base
from dialint.detector.errors import ConfigError
from dialint.detector.extras import require_single_process
from dialint.finetune.compression.options import DistillConfig
from dialint.finetune.train import checkpoint
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
from dialint.finetune.train.lineage import LIBRARIES, TRAINING, git_commit, job_of_config

if TYPE_CHECKING:
    from dialint.finetune.compression.teachers import Teacher
    from dialint.finetune.compression.trainer import DistillTrainer
    from dialint.finetune.scanner.trained import TrainedScanner


def distill(config: DistillConfig) -> None:
    """Train a small scanner on a teacher's scores of unlabelled dialogues."""
    import torch

    from dialint.detector.engines.equivalence_check import check_equivalence
    from dialint.finetune.compression.teachers import ScannerTeacher
    from dialint.finetune.scanner.data import examples_fingerprint
    from dialint.finetune.scanner.trained import write_scanner

    _validate(config)
    torch.set_num_threads(config.running.threads)
    started = time.monotonic()
    teacher, student = load_models(config)
    check_equivalence(student.model, student.render.context_tokens)
    trainer = build_trainer(config, teacher, student)
    cost = estimate_cost(config.running, next(student.model.parameters()).device.type)
    if config.running.dry_run:
        _print_estimate(trainer, cost)
        return
    with disk_errors(config.out):
        make_output_folder(config.out)
    loop = trainer.build_loop(cost)
    if not loop.run():
        return
    teachers_examples = teacher.trained.examples if isinstance(teacher, ScannerTeacher) else None
    examples = examples_fingerprint(config.examples) if config.examples else teachers_examples
    lineage = {
        "teacher": {"name": config.teacher.name, "sha256": teacher.sha256},
        "dialogues": trainer.data.logs,
        "seconds": round(time.monotonic() - started),
        "figures": {**loop.final_figures, "cost": cost.to_dict(loop.state.seconds)},
        "commit": git_commit(),
        "versions": package_versions(*LIBRARIES),
    }
    student = replace(student, examples=examples, taxonomy=teacher.taxonomy)
    write_scanner(config.out, student, config, lineage)
    checkpoint.remove_all(config.out)


def _validate(config: DistillConfig) -> None:
    """
    Raises:
        ConfigError: a file or a library is missing.
        OutputRefused: `out` holds a scanner already.
    """
    require_new(config.out, TRAINING, "a trained scanner")
    require_single_process("train distill")
    config.running.validate()
    if not config.teacher.exists():
        raise ConfigError("E_OPTION", f"--teacher {config.teacher}: there is no such file or folder")


def load_models(config: DistillConfig) -> tuple[Teacher, TrainedScanner]:
    """Teacher and student, the student on its device."""
    from dialint.detector.engines.local import resolve_device
    from dialint.finetune.compression.students import build_student, reinitialize
    from dialint.finetune.compression.teachers import ScannerTeacher, read_answers
    from dialint.finetune.scanner.trained import is_scanner, read_scanner
    from dialint.finetune.train.estimate import enable_gradient_checkpointing

    teacher: Teacher
    teacher_scanner = None
    if config.teacher.is_dir():
        teacher_scanner = read_scanner(config.teacher)
        running = config.running
        scanner = teacher_scanner.scanner(config.row_tokens, running.precision, running.device)
        teacher = ScannerTeacher(teacher_scanner, scanner)
    else:
        teacher = read_answers(config.teacher, sha256_file(config.teacher))
    base = None if config.base is None else resolve_base(config.base)
    folder = None if base is None else base.folder
    student = build_student(folder, teacher_scanner, teacher.codes, config.context_tokens, config.layers)
    if base is not None and not is_scanner(base.folder):
        student = replace(student, base=describe_base(base))
    if config.from_scratch:
        student = reinitialize(student, config.running.seed)
    model = student.model.requires_grad_(True).to(resolve_device(config.running.device))
    if recomputes_activations(config.running, model):
        enable_gradient_checkpointing(model.backbone)
    return teacher, replace(student, model=model)


def build_trainer(config: DistillConfig, teacher: Teacher, student: TrainedScanner) -> DistillTrainer:
    """Read the data and build the trainer."""
    import torch

    from dialint.detector.engines.local import resolve_device, resolve_precision
    from dialint.detector.render import Renderer
    from dialint.finetune.compression.data import load_distill_data
    from dialint.finetune.compression.trainer import DistillTrainer
    from dialint.finetune.scanner.data import examples_fingerprint

    renderer = Renderer(student.render, student.tokenizer)
    data = load_distill_data(config, teacher, student, renderer)
    precision = resolve_precision(
        config.running.precision, torch.device(resolve_device(config.running.device))
    )
    examples = examples_fingerprint(config.examples) if config.examples else ""
    job = job_of_config(config, data.logs, teacher.sha256, student.sha256, examples)
    dialogues = f"{len(data.dialogues)} dialogues to train on, {sum(data.sizes)} tokens"
    print(f"{dialogues}, and {len(data.labelled)} labelled windows", flush=True)
    trainer = DistillTrainer(config, student, teacher, renderer, precision, data, job)
    if not trainer.plan_steps():
        raise ConfigError("E_OPTION", "--tokens or --epochs leaves nothing to learn from")
    return trainer


def _print_estimate(trainer: DistillTrainer, cost: Cost) -> None:
    """Print what the training would take; a few of its steps are run for it and discarded."""
    from dialint.finetune.compression.trainer import labelled_rows

    steps, config, shape = trainer.plan_steps(), trainer.config, trainer.student.model.backbone.config
    labelled = labelled_rows(trainer.data.labelled, config.running.seed, config.row_tokens)

    def step(number: int) -> int:
        row = steps[number % len(steps)]
        trainer.loss(row, labelled[0] if labelled else ()).backward()  # type: ignore[no-untyped-call]
        return sum(trainer.data.sizes[index] for _, index in row)

    work = Workload(
        tokens=config.row_tokens,
        window=trainer.student.render.context_tokens,
        hidden=shape.hidden_size,
        layers=shape.num_hidden_layers,
        heads=shape.num_attention_heads,
        value_bytes=2 if trainer.precision == "bf16" else 4,
        checkpointing=recomputes_activations(config.running, trainer.student.model),
    )
    sizes = model_sizes(trainer.student.model)
    print_memory(sizes, estimate_memory(sizes, config.running.optimizer, work))
    print_time(len(steps), measure_step_time(step), cost)
