"""Teachers of distillation: a larger scanner, or a file of a judge's answers.

A teacher scores each judged turn, as logits; -inf where it has no score. Teachers do not depend on the
student's tokens or windows: `dialint.finetune.compression.soft_targets` aligns the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from pydantic import Field

from dialint.detector.errors import ConfigError, DialogueFailed
from dialint.detector.example_files import read_records
from dialint.detector.records import Dialogue, Probability, Record
from dialint.detector.scanner import Scanner, TurnScores
from dialint.detector.taxonomy import load_taxonomy
from dialint.finetune.scanner.trained import TrainedScanner

MIN_PROBABILITY = 1e-4
"""A judge's probability is clipped to at least this far from 0 and 1, so that its logit is finite."""


class Teacher(Protocol):
    """Scores dialogues whose personal data are masked."""

    @property
    def codes(self) -> tuple[str, ...]: ...

    @property
    def sha256(self) -> str:
        """Changes with the scores."""
        ...

    @property
    def taxonomy(self) -> str | None:
        """Version of the taxonomy that the codes are of; None where no record has it."""
        ...

    def score(self, dialogues: Sequence[Dialogue]) -> list[Sequence[TurnScores]]:
        """The scored turns of each dialogue; for a code of dialogue scope the highest score of a dialogue
        counts."""
        ...


@dataclass(frozen=True)
class ScannerTeacher:
    """A scanner: all turns, codes and evidence tokens."""

    trained: TrainedScanner
    scanner: Scanner

    @property
    def codes(self) -> tuple[str, ...]:
        return self.trained.codes

    @property
    def sha256(self) -> str:
        return self.trained.sha256

    @property
    def taxonomy(self) -> str | None:
        return self.trained.taxonomy

    def score(self, dialogues: Sequence[Dialogue]) -> list[Sequence[TurnScores]]:
        results = self.scanner.scan(dialogues)
        return [() if isinstance(result, DialogueFailed) else result for result in results]


class Answer(Record):
    """A line of a file of answers: how probably this turn has this error."""

    dialogue_id: str
    turn: int = Field(ge=0)
    code: str
    probability: Probability


@dataclass
class AnswersTeacher:
    """A file of answers, one JSON object a line: ``{"dialogue_id": "d1", "turn": 3, "code": "C1",
    "probability": 0.8}``. The student is not trained on turns and codes without an answer, nor on evidence
    tokens. An answer for a code of dialogue scope may stand at any turn. `answers` maps dialogue, turn and
    code to the probability."""

    codes: tuple[str, ...]
    sha256: str
    answers: dict[str, dict[int, dict[str, float]]] = field(repr=False)

    @property
    def taxonomy(self) -> str | None:
        return load_taxonomy().version

    def score(self, dialogues: Sequence[Dialogue]) -> list[Sequence[TurnScores]]:
        no_spans = np.zeros((0, len(self.codes)), np.float32)
        return [
            [
                TurnScores(turn.index, self._logits(by_turn[turn.index]), (), no_spans)
                for turn in dialogue.turns
                if turn.index in by_turn
            ]
            for dialogue in dialogues
            for by_turn in (self.answers.get(dialogue.id, {}),)
        ]

    def _logits(self, probabilities: dict[str, float]) -> np.ndarray:
        """Logits of shape (codes,); -inf for codes without an answer."""
        logits = np.full(len(self.codes), -np.inf, np.float32)
        for column, code in enumerate(self.codes):
            if code in probabilities:
                p = min(max(probabilities[code], MIN_PROBABILITY), 1 - MIN_PROBABILITY)
                logits[column] = math.log(p / (1 - p))
        return logits

    def validate_dialogues(self, dialogues: Iterable[Dialogue], path: Path) -> None:
        """
        Raises:
            ConfigError: E_ANSWERS, an answer names a dialogue or turn that is not in the logs.
        """
        turns = {dialogue.id: {turn.index for turn in dialogue.turns} for dialogue in dialogues}
        for dialogue_id, by_turn in self.answers.items():
            if dialogue_id not in turns or by_turn.keys() - turns[dialogue_id]:
                raise ConfigError(
                    "E_ANSWERS", f"{path}: dialogue {dialogue_id}, or a turn of it, is in no log"
                )


def read_answers(path: Path, sha256: str) -> AnswersTeacher:
    """Read a file of answers; of several answers for the same turn and code the last counts.

    Raises:
        InputRefused: E_ANSWERS, a line is not an answer.
        ConfigError: E_CODE, a code that is not in the taxonomy; E_ANSWERS, the file holds no answer.
    """
    answers: dict[str, dict[int, dict[str, float]]] = {}
    codes: set[str] = set()
    for answer in read_records(path, Answer, "E_ANSWERS"):
        by_turn = answers.setdefault(answer.dialogue_id, {})
        by_turn.setdefault(answer.turn, {})[answer.code] = answer.probability
        codes.add(answer.code)
    taxonomy = load_taxonomy().codes
    if codes - set(taxonomy):
        raise ConfigError("E_CODE", f"{path}: unknown codes {sorted(codes - set(taxonomy))}")
    if not codes:
        raise ConfigError("E_ANSWERS", f"{path}: holds no answer")
    return AnswersTeacher(tuple(code for code in taxonomy if code in codes), sha256, answers)
