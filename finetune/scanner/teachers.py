"""Teachers of distillation: a larger scanner or a file of a judge's answers, on the
dialogues of logs.

A teacher scores each judged turn, as logits; -inf where it has no score. It does not depend on the student's
tokens or windows: `dialint.finetune.scanner.losses` aligns the two. Dialogues of the examples'
evaluation sets are left out. All dialogues stay in memory as text, the teacher's scores of them do not.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import Field

from dialint.detector.artifacts import MANIFEST, fingerprint, read_manifest, sha256_file
from dialint.detector.errors import ConfigError, DialogueFailed, InputRefused
from dialint.detector.example_files import read_examples, read_records
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.manifests import Folder
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import Dialogue, Probability, Record
from dialint.detector.render import Renderer
from dialint.detector.scanner import Scanner, TurnScores
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.results import source_of
from dialint.finetune.scanner.trained import TrainedScanner

MIN_PROBABILITY = 1e-4
"""A judge's probability is clipped to at least this far from 0 and 1, so that its logit is finite."""
HELDOUT = 100
"""Held-out dialogues, at most; a twentieth of all if there are fewer than 2,000."""
MAX_ROWS = 4
"""Rows that a dialogue may fill; longer ones are left out, as a step holds whole dialogues."""

Answers = dict[str, dict[int, dict[str, float]]]
"""Probabilities by dialogue, turn and code."""


@dataclass(frozen=True)
class Teacher:
    """`score` returns the scored turns of masked dialogues. `sha256` changes with the scores, `taxonomy` is
    the version that the codes are of, `examples` the fingerprint of what it was trained on; `answers` are
    those of a file."""

    codes: tuple[str, ...]
    sha256: str
    taxonomy: str | None
    examples: str | None
    score: Callable[[Sequence[Dialogue]], list[Sequence[TurnScores]]]
    answers: Answers | None = None


def scanner_teacher(trained: TrainedScanner, scanner: Scanner) -> Teacher:
    """A scanner: all turns, codes and evidence tokens, also of codes that a dialogue has once."""
    scanner = replace(scanner, dialogue_codes=tuple(False for _ in trained.codes))

    def score(dialogues: Sequence[Dialogue]) -> list[Sequence[TurnScores]]:
        results = scanner.scan(dialogues)
        return [() if isinstance(result, DialogueFailed) else result for result in results]

    return Teacher(trained.codes, trained.sha256, trained.taxonomy, trained.examples, score)


class JudgeAnswer(Record):
    """A line of a file of answers: how probably this turn has this error."""

    dialogue_id: str
    turn: int = Field(ge=0)
    code: str
    probability: Probability


def answers_teacher(path: Path) -> Teacher:
    """A file of answers, one JSON object a line: ``{"dialogue_id": "d1", "turn": 3, "code": "C1",
    "probability": 0.8}``; of several for the same turn and code the last counts. The student is not trained
    on turns and codes without an answer, nor on evidence tokens.

    Raises:
        InputRefused: E_ANSWERS, a line is not an answer.
        ConfigError: E_CODE, a code that is not in the taxonomy; E_ANSWERS, the file holds no answer.
    """
    answers: Answers = {}
    named: set[str] = set()
    for answer in read_records(path, JudgeAnswer, "E_ANSWERS"):
        by_turn = answers.setdefault(answer.dialogue_id, {})
        by_turn.setdefault(answer.turn, {})[answer.code] = answer.probability
        named.add(answer.code)
    taxonomy = load_taxonomy()
    if named - taxonomy.codes.keys():
        raise ConfigError("E_CODE", f"{path}: unknown codes {sorted(named - taxonomy.codes.keys())}")
    if not named:
        raise ConfigError("E_ANSWERS", f"{path}: holds no answer")
    codes = tuple(code for code in taxonomy.codes if code in named)

    def logits(probabilities: dict[str, float]) -> np.ndarray:
        clipped = [min(max(probabilities.get(c, 0.5), MIN_PROBABILITY), 1 - MIN_PROBABILITY) for c in codes]
        return np.array(
            [
                math.log(p / (1 - p)) if c in probabilities else -np.inf
                for c, p in zip(codes, clipped, strict=True)
            ],
            np.float32,
        )

    def score(dialogues: Sequence[Dialogue]) -> list[Sequence[TurnScores]]:
        no_spans = np.zeros((0, len(codes)), np.float32)
        return [
            [
                TurnScores(turn.index, logits(by_turn[turn.index]), (), no_spans)
                for turn in dialogue.turns
                if turn.index in by_turn
            ]
            for dialogue in dialogues
            for by_turn in (answers.get(dialogue.id, {}),)
        ]

    return Teacher(codes, sha256_file(path), taxonomy.version, None, score, answers)


@dataclass(frozen=True)
class DistillData:
    """Masked `dialogues` to train on with their `sizes` in the student's tokens, held-out dialogues, and the
    fingerprint of the logs."""

    dialogues: Sequence[Dialogue]
    sizes: Sequence[int]
    heldout: Sequence[Dialogue]
    logs: str


def read_dialogues(
    logs: Sequence[str],
    reading: ReadConfig,
    teacher: Teacher,
    examples: Path | None,
    renderer: Renderer,
    row_tokens: int,
) -> DistillData:
    """Read the logs, less the dialogues of the examples' evaluation sets and those without an answer.

    Raises:
        InputRefused: the logs hold nothing to learn from, or are refused whole.
        ConfigError: E_ANSWERS, a judge's answer is of no dialogue of the logs.
    """
    sources = open_logs(logs)
    inspected = fingerprint([inspect(source, reading) for source in sources])
    loaded = [item.dialogue for item in read(sources, reading, Counts()) if isinstance(item, Loaded)]
    if teacher.answers is not None:
        turns = {dialogue.id: {turn.index for turn in dialogue.turns} for dialogue in loaded}
        for dialogue_id, by_turn in teacher.answers.items():
            if dialogue_id not in turns or by_turn.keys() - turns[dialogue_id]:
                raise ConfigError("E_ANSWERS", f"dialogue {dialogue_id}, or a turn of it, is in no log")
        loaded = [dialogue for dialogue in loaded if dialogue.id in teacher.answers]
    masked = (mask_dialogue(dialogue)[0] for dialogue in _drop_evaluated(loaded, examples))
    sized = [(dialogue, size) for dialogue in masked if (size := _size(renderer, dialogue, row_tokens))]
    sized.sort(key=lambda item: hashlib.sha256(item[0].id.encode()).digest())
    if len(sized) < 2:
        raise InputRefused(
            "E_NO_RECORDS", "the logs hold too few dialogues with an agent's turn to learn from"
        )
    n_heldout = min(HELDOUT, max(1, len(sized) // 20))
    dialogues, sizes = zip(*sized[n_heldout:], strict=True)
    return DistillData(dialogues, sizes, [dialogue for dialogue, _ in sized[:n_heldout]], inspected)


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
