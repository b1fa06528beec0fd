"""Scanners side by side: figures by hand, a scanner against itself."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiny

from dialint.detector.errors import DialogueFailed
from dialint.detector.records import Dialogue, Example, Label, Turn
from dialint.detector.scanner import TurnScores
from dialint.detector.statistics import bootstrap_counts

ROOT = Path(__file__).parents[3]
_spec = importlib.util.spec_from_file_location("compare_scanners", ROOT / "runs/studies/compare_scanners.py")
assert _spec is not None
assert _spec.loader is not None
study = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(study)

CODES = SimpleNamespace(codes=("T1", "R1", "V2"), dialogue_codes=("R1",))


def example(name: str, *wrong: tuple[int, str]) -> Example:
    turns = tuple(Turn(index=n, role="agent" if n % 2 else "customer", text=f"{name} {n}") for n in range(4))
    labels = tuple(
        Label(dialogue_id=name, turn=turn, code=code, probability=1.0, method="inject:x", start=0, end=1)
        for turn, code in wrong
    )
    return Example(dialogue=Dialogue(id=name, turns=turns), labels=labels, split="dev")


class Known:
    """A scanner of known scores, by dialogue and agent turn."""

    def __init__(self, scores: dict[str, Any]) -> None:
        self.scores = scores

    def scan(self, dialogues: Sequence[Dialogue]) -> list[Any]:
        return [
            own
            if isinstance(own := self.scores[each.id], DialogueFailed)
            else tuple(TurnScores(turn, np.array(row), (), np.zeros((0, 3))) for turn, row in own.items())
            for each in dialogues
        ]


EXAMPLES = [example("a", (1, "T1"), (3, "R1")), example("b", (3, "T1")), example("c")]
SCORES = {
    "a": {1: [0.9, 0.1, 0.0], 3: [0.8, 0.2, 0.0]},
    "b": {1: [0.1, 0.0, 0.0], 3: [0.5, 0.7, 0.0]},
    "c": {1: [0.2, 0.1, 0.0], 3: [0.3, 0.1, 0.0]},
}


def test_average_precision_by_hand() -> None:
    """T1 is found first and third; R1, by its dialogue's highest score, second; nobody made a V2."""
    known: Any = Known(SCORES)
    found = study.macro(CODES, known, EXAMPLES, bootstrap_counts(3, 0))  # type: ignore[arg-type]
    assert found[0] == pytest.approx(((1 + 2 / 3) / 2 + 1 / 2) / 2)


def test_a_dialogue_that_cannot_be_scored_is_told() -> None:
    known: Any = Known({**SCORES, "b": DialogueFailed("E_SCORE", "too long")})
    with pytest.raises(DialogueFailed):
        study.macro(CODES, known, EXAMPLES, bootstrap_counts(3, 0))  # type: ignore[arg-type]


def test_a_scanner_is_as_good_as_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = tiny.write_release(tmp_path / "release")
    lines = [example(f"d{n}", (1, "T1")).model_dump_json() for n in range(6)]
    (tmp_path / "dev.jsonl").write_text("\n".join(lines) + "\n")
    study.compare(tmp_path / "dev.jsonl", release, release, limit=4, rounds=20, timed=True)
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith("less release 0.0 (0.0 to 0.0)")
    assert "times as fast" in told[-1]
