"""Files of examples: sets by their names, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.example_files import find_set, read_examples, require_set
from dialint.detector.records import Dialogue, Example, Label, Turn


def test_errors_are_the_labels_more_likely_than_not() -> None:
    labels = tuple(
        Label(dialogue_id="d", turn=0, code=code, probability=p, method="m")
        for code, p in {"C1": 0.51, "C2": 0.5, "C3": 1.0}.items()
    )
    dialogue = Dialogue(id="d", turns=(Turn(index=0, role="agent", text="a"),))
    example = Example(dialogue=dialogue, labels=labels, split="test")
    assert [label.code for label in example.errors] == ["C1", "C3"]


def test_a_set_is_found_by_its_name(tmp_path: Path) -> None:
    assert find_set(tmp_path, "dev") is None
    with pytest.raises(ConfigError, match="holds no set dev"):
        require_set(tmp_path, "dev")
    (tmp_path / "dev.jsonl").touch()
    assert require_set(tmp_path, "dev") == tmp_path / "dev.jsonl"


def test_a_bad_file_is_refused_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"dialogue": 1}\n')
    for name, words in {"a.jsonl": "line 1", "b.jsonl": "No such"}.items():
        with pytest.raises(InputRefused, match=words):
            list(read_examples(tmp_path / name))
