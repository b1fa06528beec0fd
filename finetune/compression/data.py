"""Training data of distillation: the dialogues of logs, masked as they are scored, and labelled examples
beside.

Dialogues of the examples' evaluation sets are left out. All dialogues stay in memory as text, the teacher's
scores of them do not.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dialint.detector.artifacts import MANIFEST, fingerprint, read_manifest
from dialint.detector.errors import DialogueFailed, InputRefused
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.manifests import Folder
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import Dialogue
from dialint.detector.render import Renderer
from dialint.eval.results import read_examples, source_of
from dialint.finetune.compression.teachers import AnswersTeacher, Teacher
from dialint.finetune.scanner.data import Target, build_targets

if TYPE_CHECKING:
    from dialint.finetune.compression.options import DistillConfig
    from dialint.finetune.scanner.trained import TrainedScanner

HELDOUT = 100
"""Held-out dialogues, at most; a twentieth of all if there are fewer than 2,000."""
MAX_ROWS = 4
"""Rows that a dialogue may fill; longer ones are left out, as a step holds whole dialogues."""


@dataclass(frozen=True)
class DistillData:
    """Data of a distillation: masked `dialogues` with their `sizes` in the student's tokens, windows of
    labelled examples, held-out dialogues; and the fingerprint of the logs."""

    dialogues: Sequence[Dialogue]
    sizes: Sequence[int]
    labelled: Sequence[Target]
    heldout: Sequence[Dialogue]
    logs: str


def load_distill_data(
    config: DistillConfig, teacher: Teacher, student: TrainedScanner, renderer: Renderer
) -> DistillData:
    """Read the logs and examples of `config`.

    Raises:
        InputRefused: the logs hold nothing to learn from, or are refused whole.
        ConfigError: E_ANSWERS, a judge's answer is of no dialogue of the logs.
    """
    sources = open_logs(config.dialogues)
    logs = fingerprint([inspect(source, config.read) for source in sources])
    loaded = [item.dialogue for item in read(sources, config.read, Counts()) if isinstance(item, Loaded)]
    if isinstance(teacher, AnswersTeacher):
        teacher.validate_dialogues(loaded, config.teacher)
        loaded = [dialogue for dialogue in loaded if dialogue.id in teacher.answers]
    masked = [mask_dialogue(dialogue)[0] for dialogue in _drop_evaluated(loaded, config.examples)]
    sized = [
        (dialogue, size) for dialogue in masked if (size := _size(renderer, dialogue, config.row_tokens))
    ]
    sized.sort(key=lambda item: hashlib.sha256(item[0].id.encode()).digest())
    if len(sized) < 2:
        raise InputRefused(
            "E_NO_RECORDS", "the logs hold too few dialogues with an agent's turn to learn from"
        )
    n_heldout = min(HELDOUT, max(1, len(sized) // 20))
    dialogues, sizes = zip(*sized[n_heldout:], strict=True)
    heldout = [dialogue for dialogue, _ in sized[:n_heldout]]
    return DistillData(dialogues, sizes, _build_labelled(config, student, renderer), heldout, logs)


def _drop_evaluated(dialogues: list[Dialogue], examples: Path | None) -> list[Dialogue]:
    """The dialogues that are in no evaluation set of the examples."""
    if examples is None:
        return dialogues
    names = [entry["name"] for entry in read_manifest(examples / MANIFEST, expected=Folder)["files"]]
    sets = [name for name in names if name.endswith(".jsonl") and name != "train.jsonl"]
    evaluated = {source_of(example) for name in sets for example in read_examples(examples / name)}
    remaining = [dialogue for dialogue in dialogues if dialogue.id.partition("~")[0] not in evaluated]
    if n_dropped := len(dialogues) - len(remaining):
        print(f"{n_dropped} dialogues left out: they are in evaluation sets of the examples", file=sys.stderr)
    return remaining


def _size(renderer: Renderer, dialogue: Dialogue, row_tokens: int) -> int:
    """The dialogue's number of tokens; 0 if it has no turn to score or is too long."""
    try:
        size = sum(map(len, renderer.render(dialogue)))
    except DialogueFailed:
        return 0
    return size if size <= MAX_ROWS * row_tokens else 0


def _build_labelled(config: DistillConfig, student: TrainedScanner, renderer: Renderer) -> list[Target]:
    if config.examples is None or not config.label_weight:
        return []
    read = read_examples(config.examples / "train.jsonl")
    return list(build_targets(read, renderer, student.codes, student.dialogue_codes))
