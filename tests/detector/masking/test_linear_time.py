"""Masking and recognition take time linear in the text, whatever it is; checks: `test_linear_checks`.

With a wide margin: four times the text may cost eight times as much, where a quadratic algorithm costs sixteen
times.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import yaml
from linear_time import growth
from marked_dialogues import in_turn

from dialint.detector.errors import InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.readers.format_detection import detect_format
from dialint.detector.ingest.sources import open_logs
from dialint.detector.masking import mask_dialogue

LENGTH = 12_000
TURNS = 300

TEXTS = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))["repeated"]

DIALOGUES: dict[str, Callable[[int], str]] = {
    "another name in each turn": lambda i: (
        f"my name is Anna{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}"
    ),
    "the same name in each turn": lambda i: "Hi Anna, I am Ben",
    "another address in each turn": lambda i: f"mail a{i}@b.co or call 555-{1000 + i}",
    "questions and answers": lambda i: "And your name?" if i % 2 else "Zebulon",
    "a name of the first turn": lambda i: "So Kowalska it is, Anna" if i else "my name is Anna Kowalska",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TEXTS, *DIALOGUES])
def test_four_times_the_text_or_turns_cost_four_times_as_much(name: str) -> None:
    def make(n: int) -> Callable[[], object]:
        if name in DIALOGUES:
            return partial(mask_dialogue, in_turn(*(DIALOGUES[name](i) for i in range(n))))
        unit = TEXTS[name]
        return partial(mask_dialogue, in_turn(*[unit * (n // len(unit)) + " zz"] * 2))

    assert growth(make, TURNS if name in DIALOGUES else LENGTH // 4) < 8


@pytest.mark.parametrize("name", ["digits", "colons", "brackets", "spaces", "letters", "titles"])
def test_the_format_of_a_long_line_is_recognised_in_linear_time(name: str, tmp_path: Path) -> None:
    def make(n: int) -> Callable[[], object]:
        text = TEXTS[name] * (n // len(TEXTS[name]))
        paths = [tmp_path / f"plain-{n}.jsonl", tmp_path / f"record-{n}.jsonl"]
        paths[0].write_text(text, encoding="utf-8")
        paths[1].write_text(json.dumps({"id": text, "turns": [text]}), encoding="utf-8")

        def detect() -> None:
            for path in paths:
                with suppress(InputRefused):
                    detect_format(open_logs([str(path)])[0], ReadConfig())

        return detect

    assert growth(make, 4 * LENGTH) < 8
