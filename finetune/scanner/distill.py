"""Distills a small scanner from a large one, or from a judge, on dialogues without labels.

    dialint train distill --teacher build/release --dialogues logs/*.jsonl --layers 3 --out build/small
    dialint train distill --teacher answers.jsonl --dialogues log.jsonl --base models/minilm --out build/small

The teacher is a release, the folder of a trained scanner, or a file of a judge's answers
(`dialint.finetune.scanner.teachers`). Logs are read and masked as for scoring. The teacher scores a row anew
in each step: its scores of a whole corpus would fill the memory. Everything random follows from the seed and
the step's number. Writes a folder like that of ``dialint train sft scan``, for ``dialint train pack``; a
stopped run resumes from its last checkpoint.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from dialint.detector.artifacts import data_fingerprint, disk_errors, make_output_folder, require_new
from dialint.detector.engines.base_models import describe_base, resolve_base
from dialint.detector.environment import require_single_process
from dialint.detector.errors import ConfigError
from dialint.finetune.scanner.options import DistillConfig
from dialint.finetune.train import checkpoint
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.lineage import TRAINING, job_of_config
from dialint.finetune.train.memory import TrainingSetup, peak_memory, print_plan

if TYPE_CHECKING:
    from dialint.finetune.scanner.data import Target
    from dialint.finetune.scanner.distill_trainer import DistillTrainer
    from dialint.finetune.scanner.teachers import Teacher
    from dialint.finetune.scanner.trained import TrainedScanner


def distill(config: DistillConfig) -> None:
    """Train a small scanner on a teacher's scores of unlabelled dialogues.

    Raises:
        ConfigError: a file or a library is missing, or teacher and student do not fit.
        OutputRefused: `out` holds a scanner already.
    """
    import torch

    from dialint.detector.engines.equivalence_check import check_equivalence
    from dialint.finetune.scanner.backbone import ENCODER_TOKENS
    from dialint.finetune.scanner.trained import write_scanner

    require_new(config.out, TRAINING, "a trained scanner")
    require_single_process("train distill")
    config.running.validate()
    if not config.teacher.exists():
        raise ConfigError("E_OPTION", f"--teacher {config.teacher}: there is no such file or folder")
    if config.running.dry_run:
        folder = resolve_base(config.base).folder if config.base else config.teacher
        all_weights, context = AdapterOptions(adapter="none"), config.context_tokens or ENCODER_TOKENS
        rows = math.ceil(config.row_tokens / context)
        setup = TrainingSetup(folder, None, all_weights, config.running, rows, context)
        print_plan(replace(setup, layers=config.layers))
        return
    torch.set_num_threads(config.running.threads)
    teacher, student = load_models(config)
    check_equivalence(student.model, student.render.context_tokens)
    trainer = build_trainer(config, teacher, student)
    with disk_errors(config.out):
        make_output_folder(config.out)
    loop = trainer.build_loop()
    if not loop.run():
        return
    examples = data_fingerprint(config.examples) if config.examples else teacher.examples
    lineage = {
        "teacher": {"name": config.teacher.name, "sha256": teacher.sha256},
        "dialogues": trainer.data.logs,
        "seconds": round(loop.state.seconds),
        "peak_memory_mb": round(peak_memory() / 1e6),
        "figures": loop.final_figures,
    }
    student = replace(student, examples=examples, taxonomy=teacher.taxonomy)
    write_scanner(config.out, student, config, lineage)
    checkpoint.remove_except(config.out)


def load_models(config: DistillConfig) -> tuple[Teacher, TrainedScanner]:
    """Teacher and student, the student on its device.

    Raises:
        ConfigError: nothing to start from, a base that does not load, or a scanner of other codes.
    """
    from dialint.detector.engines.local import resolve_device
    from dialint.finetune.scanner.backbone import load_base
    from dialint.finetune.scanner.teachers import answers_teacher, scanner_teacher
    from dialint.finetune.scanner.trained import (
        evenly_spaced,
        init_student,
        is_scanner,
        read_scanner,
        select_layers,
    )
    from dialint.finetune.train.memory import enable_gradient_checkpointing, recomputes_activations

    running, teacher_scanner = config.running, None
    if config.teacher.is_dir():
        teacher_scanner = read_scanner(config.teacher)
        scanner = teacher_scanner.scanner(config.row_tokens, running.precision, running.device)
        teacher = scanner_teacher(teacher_scanner, scanner)
    else:
        teacher = answers_teacher(config.teacher)
    if config.base is not None:
        base = resolve_base(config.base)
        if is_scanner(base.folder):
            student = read_scanner(base.folder)
        else:
            scan_config = config.scan_config(base.folder)
            student = init_student(scan_config, load_base(scan_config), teacher.codes, describe_base(base))
    elif teacher_scanner is not None and config.layers is not None:
        student = teacher_scanner
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


def build_trainer(config: DistillConfig, teacher: Teacher, student: TrainedScanner) -> DistillTrainer:
    """Read the data and build the trainer.

    Raises:
        ConfigError: E_OPTION, nothing to learn from; as `teachers.read_dialogues`.
    """
    import torch

    from dialint.detector.engines.local import resolve_device, resolve_precision
    from dialint.detector.example_files import read_examples
    from dialint.detector.render import Renderer
    from dialint.finetune.scanner.data import build_targets
    from dialint.finetune.scanner.distill_trainer import DistillTrainer
    from dialint.finetune.scanner.teachers import read_dialogues

    renderer = Renderer(student.render, student.tokenizer)
    data = read_dialogues(
        config.dialogues, config.read, teacher, config.examples, renderer, config.row_tokens
    )
    labelled: list[Target] = []
    if config.examples is not None and config.label_weight:
        examples = read_examples(config.examples / "train.jsonl")
        labelled = list(build_targets(examples, renderer, student.codes))
    device = torch.device(resolve_device(config.running.device))
    trained_on = data_fingerprint(config.examples) if config.examples else ""
    job = job_of_config(config, data.logs, teacher.sha256, student.sha256, trained_on)
    dialogues = f"{len(data.dialogues)} dialogues to train on, {sum(data.sizes)} tokens"
    print(f"{dialogues}, and {len(labelled)} labelled windows", flush=True)
    precision = resolve_precision(config.running.precision, device)
    return DistillTrainer(config, student, teacher, renderer.render, precision, data, labelled, job)
