"""Teachers of distillation: a larger scanner, or a file of a judge's answers.

A teacher says of each judged turn what it thinks, as logits; -inf stands where it says nothing. Teachers
know nothing of the student's tokens or windows: that is `dialint.finetune.compression.soft_targets`.
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

SUREST = 1e-4
"""A judge's probability counts as at least this far from 0 and 1: nobody is surer."""


class Teacher(Protocol):
    """Says what it thinks of dialogues whose personal data are masked."""

    @property
    def codes(self) -> tuple[str, ...]: ...

    @property
    def sha256(self) -> str:
        """Changes with what it says."""
        ...

    def says(self, dialogues: Sequence[Dialogue]) -> list[Sequence[TurnScores]]:
        """The turns of each dialogue that it has something to say of; a code of dialogue scope counts by
        its highest score."""
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

    def says(self, dialogues: Sequence[Dialogue]) -> list[Sequence[TurnScores]]:
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
    "probability": 0.8}``. Whatever was not asked is not taught; evidence tokens are not either. Of a code of
    dialogue scope any turn may be named."""

    codes: tuple[str, ...]
    sha256: str
    answers: dict[str, dict[int, dict[str, float]]] = field(repr=False)

    def says(self, dialogues: Sequence[Dialogue]) -> list[Sequence[TurnScores]]:
        return [self._of(dialogue) for dialogue in dialogues]

    def _of(self, dialogue: Dialogue) -> Sequence[TurnScores]:
        said = self.answers.get(dialogue.id, {})
        here = [turn.index for turn in dialogue.turns if turn.index in said]
        return [TurnScores(turn, self._logits(said[turn]), (), self._no_spans) for turn in here]

    def _logits(self, said: dict[str, float]) -> np.ndarray:
        return np.array([_logit(said[code]) if code in said else -np.inf for code in self.codes], np.float32)

    @property
    def _no_spans(self) -> np.ndarray:
        return np.zeros((0, len(self.codes)), np.float32)

    def refuse_strangers(self, dialogues: Iterable[Dialogue], path: Path) -> None:
        """
        Raises:
            ConfigError: E_ANSWERS, an answer is of a dialogue or turn that the logs have not.
        """
        turns = {dialogue.id: {turn.index for turn in dialogue.turns} for dialogue in dialogues}
        for name, said in self.answers.items():
            if name not in turns or said.keys() - turns[name]:
                raise ConfigError("E_ANSWERS", f"{path}: dialogue {name}, or a turn of it, is in no log")


def read_answers(path: Path, sha256: str) -> AnswersTeacher:
    """The teacher that a file of answers is; of two answers to one question the last counts.

    Raises:
        InputRefused: E_ANSWERS, a line that is none.
        ConfigError: E_CODE, a code that is not in the taxonomy; E_ANSWERS, no answer at all.
    """
    answers: dict[str, dict[int, dict[str, float]]] = {}
    named: set[str] = set()
    for answer in read_records(path, Answer, "E_ANSWERS"):
        turns = answers.setdefault(answer.dialogue_id, {})
        turns.setdefault(answer.turn, {})[answer.code] = answer.probability
        named.add(answer.code)
    known = load_taxonomy().codes
    if named - set(known):
        raise ConfigError("E_CODE", f"{path}: unknown codes {sorted(named - set(known))}")
    if not named:
        raise ConfigError("E_ANSWERS", f"{path}: holds no answer")
    return AnswersTeacher(tuple(code for code in known if code in named), sha256, answers)


def _logit(probability: float) -> float:
    held = min(max(probability, SUREST), 1 - SUREST)
    return math.log(held / (1 - held))
